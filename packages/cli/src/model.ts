/** From `PROVIDER:ID` and its options to an AI SDK model. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Agent, PawlError, watchedFetch } from "@pawl/core";

export interface ModelOptions {
  /** `PROVIDER:ID`. */
  model: string;
  baseUrl?: string;
  /** The name of the environment variable that holds the key. */
  apiKeyEnv?: string;
}

type Model = Pick<Agent, "providerOptions" | "images"> & { model: LanguageModelV4 };

export type ChosenModel = Model & {
  /** Where it is asked. */
  url: string;
  /** The variable that its key is looked for in. */
  keyEnv: string;
};

interface Provider {
  keyEnv: string;
  baseUrl: string;
  create(id: string, baseURL: string, apiKey: string): Model;
}

/** Our edge of the wire: bytes are seen as they come, a whole answer is kept, sloppy tool calls are mended. */
const fetch = watchedFetch(globalThis.fetch);

/**
 * The wire protocols. Provider retries do not exist at this level: the runtime is the one retry owner.
 */
const providers: Record<string, Provider> = {
  "openai-chat": {
    keyEnv: "OPENAI_API_KEY",
    baseUrl: "https://api.openai.com/v1",
    create: (id, baseURL, apiKey) => ({
      model: createOpenAICompatible({ name: "openai-chat", baseURL, apiKey, includeUsage: true, fetch }).languageModel(
        id,
      ),
    }),
  },
  openai: {
    keyEnv: "OPENAI_API_KEY",
    baseUrl: "https://api.openai.com/v1",
    create: (id, baseURL, apiKey) => ({
      model: createOpenAI({ baseURL, apiKey, fetch }).responses(id),
      // The log holds the conversation; state kept on the server could not be retried, forked or moved.
      providerOptions: { openai: { store: false } },
      images: "send",
    }),
  },
  anthropic: {
    keyEnv: "ANTHROPIC_API_KEY",
    baseUrl: "https://api.anthropic.com/v1",
    create: (id, baseURL, apiKey) => ({
      model: createAnthropic({ baseURL, apiKey, fetch }).languageModel(id),
      images: "send",
    }),
  },
};

/** Throws INVALID_INPUT with what was seen and what to do. */
export function chooseModel(
  { model, baseUrl, apiKeyEnv }: ModelOptions,
  env: NodeJS.ProcessEnv = process.env,
): ChosenModel {
  const colon = model.indexOf(":");
  const name = model.slice(0, Math.max(colon, 0));
  const id = model.slice(colon + 1);
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (!provider || id === "") {
    const known = Object.keys(providers).join(", ");
    throw new PawlError(
      "INVALID_INPUT",
      `--model ${JSON.stringify(model)}: write PROVIDER:ID, where PROVIDER is one of ${known}; for example openai:gpt-5`,
    );
  }
  const url = checkedUrl(baseUrl) ?? provider.baseUrl;
  const key = keyOf(provider, baseUrl, apiKeyEnv, env);
  return { ...provider.create(id, url, key), url, keyEnv: apiKeyEnv ?? provider.keyEnv };
}

function checkedUrl(baseUrl: string | undefined): string | undefined {
  if (baseUrl === undefined) return undefined;
  const url = URL.parse(baseUrl);
  if (url?.protocol === "http:" || url?.protocol === "https:") return baseUrl.replace(/\/+$/, "");
  throw new PawlError(
    "INVALID_INPUT",
    `--base-url ${JSON.stringify(baseUrl)} is no URL; write something like http://127.0.0.1:11434/v1`,
  );
}

/** A server of one's own often wants no key; the provider's own address always does. */
function keyOf(
  provider: Provider,
  baseUrl: string | undefined,
  named: string | undefined,
  env: NodeJS.ProcessEnv,
): string {
  const key = env[named ?? provider.keyEnv];
  if (key) return key;
  if (named !== undefined)
    throw new PawlError("INVALID_INPUT", `--api-key-env ${named}: that variable is not set; export it with the key`);
  if (baseUrl !== undefined) return "none";
  throw new PawlError(
    "INVALID_INPUT",
    `no API key: set ${provider.keyEnv}, name another variable with --api-key-env, or use a server of your own with --base-url`,
  );
}
