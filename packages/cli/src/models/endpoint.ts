/**
 * The wire protocols that Pawl speaks by itself, and the addresses that speak them: by the name before the colon of a model.
 * Provider retries do not exist at this level: the runtime is the one retry owner.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Agent, watchedFetch } from "@pawl/core";
import type { protocols } from "../config/schema.ts";

export type Protocol = (typeof protocols)[number];

export type Model = Pick<Agent, "providerOptions" | "images"> & { model: LanguageModelV4 };

export interface Endpoint {
  protocol: Protocol;
  baseUrl: string;
  keyEnv: string;
  /** What is taken where nothing but the key is known. */
  model?: string;
}

/** The order is that in which a key in the environment counts. */
export const endpoints: { readonly [name: string]: Endpoint } = {
  anthropic: {
    protocol: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    keyEnv: "ANTHROPIC_API_KEY",
    model: "claude-sonnet-4-5",
  },
  openai: { protocol: "openai", baseUrl: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY", model: "gpt-5" },
  "openai-chat": { protocol: "openai-chat", baseUrl: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY" },
  openrouter: {
    protocol: "openai-chat",
    baseUrl: "https://openrouter.ai/api/v1",
    keyEnv: "OPENROUTER_API_KEY",
    model: "anthropic/claude-sonnet-4.5",
  },
  deepseek: {
    protocol: "openai-chat",
    baseUrl: "https://api.deepseek.com/v1",
    keyEnv: "DEEPSEEK_API_KEY",
    model: "deepseek-chat",
  },
  mistral: {
    protocol: "openai-chat",
    baseUrl: "https://api.mistral.ai/v1",
    keyEnv: "MISTRAL_API_KEY",
    model: "mistral-large-latest",
  },
  xai: { protocol: "openai-chat", baseUrl: "https://api.x.ai/v1", keyEnv: "XAI_API_KEY", model: "grok-4" },
  groq: {
    protocol: "openai-chat",
    baseUrl: "https://api.groq.com/openai/v1",
    keyEnv: "GROQ_API_KEY",
    model: "openai/gpt-oss-120b",
  },
};

/** Our edge of the wire: bytes are seen as they come, a whole answer is kept, sloppy tool calls are mended. */
export const edge = watchedFetch(globalThis.fetch);

/** `name` is what the log calls the provider. Only the package that is used is loaded. */
export async function speak(
  name: string,
  protocol: Protocol,
  id: string,
  baseURL: string,
  apiKey: string,
): Promise<Model> {
  switch (protocol) {
    case "openai-chat": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const provider = createOpenAICompatible({ name, baseURL, apiKey, includeUsage: true, fetch: edge });
      return { model: provider.languageModel(id) };
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const named = name === "openai" ? {} : { name };
      return {
        model: createOpenAI({ baseURL, apiKey, fetch: edge, ...named }).responses(id),
        // The log holds the conversation; state kept on the server could not be retried, forked or moved.
        providerOptions: { openai: { store: false } },
        images: "send",
      };
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      const named = name === "anthropic" ? {} : { name };
      return { model: createAnthropic({ baseURL, apiKey, fetch: edge, ...named }).languageModel(id), images: "send" };
    }
  }
}
