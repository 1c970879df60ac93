/** From what a person says, or leaves out, to an AI SDK model: which one, where it is asked, with whose key. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Agent, PawlError } from "@pawl/core";
import { userFolder } from "./config/place.ts";
import type { ProviderConfig } from "./config/schema.ts";
import { type Endpoint, endpoints, type Model, speak } from "./models/endpoint.ts";
import { findPackage, packageModel, packagePlaces } from "./models/package.ts";
import { localServer, modelsAt, problemOf, talking } from "./models/server.ts";

export interface ModelOptions {
  /** `PROVIDER:ID`. Absent: what the environment has a key for. */
  model?: string;
  baseUrl?: string;
  /** The name of the environment variable that holds the key. */
  apiKeyEnv?: string;
  /** A server on this machine: its address, or `true` for the well-known ones. */
  local?: string | true;
}

/** What a configuration adds. */
export interface ModelSurroundings {
  env?: NodeJS.ProcessEnv;
  /** By the name before the colon. */
  providers?: { readonly [name: string]: ProviderConfig };
  /** Folders of a project whose packages may be loaded. */
  packageFolders?: readonly string[];
}

export type ChosenModel = Pick<Agent, "providerOptions" | "images"> & {
  model: LanguageModelV4;
  /** As `--model` would say it. */
  word: string;
  /** Where it is asked. */
  url: string;
  /** The variable that its key is looked for in. */
  keyEnv: string;
  /** What must not be shown. */
  key?: string;
  /** Why this one, where nobody has named it. */
  why?: string;
};

/** Fails with INVALID_INPUT, with what was seen and what to do. */
export async function chooseModel(options: ModelOptions, surroundings: ModelSurroundings = {}): Promise<ChosenModel> {
  const { env = process.env } = surroundings;
  if (options.local !== undefined) return localModel(options);
  const baseUrl = checkedUrl(options.baseUrl, "--base-url");
  if (options.model !== undefined) return namedModel(options.model, { ...options, ...present(baseUrl) }, surroundings);
  if (baseUrl !== undefined) return servedModel(baseUrl, options, surroundings);
  const found = Object.entries(endpoints).find(([, { model, keyEnv }]) => model !== undefined && env[keyEnv]);
  if (found) {
    const [name, { model, keyEnv }] = found;
    const chosen = await namedModel(`${name}:${model}`, options, surroundings);
    return { ...chosen, why: `${keyEnv} is set; another one with --model or in the configuration` };
  }
  const keys = Object.values(endpoints).flatMap(({ keyEnv, model }) => (model === undefined ? [] : [keyEnv]));
  throw new PawlError(
    "INVALID_INPUT",
    `no model: set one of ${keys.join(", ")}; or use a server on this machine with --local; or name one with --model PROVIDER:ID, in a chat /model PROVIDER:ID. ` +
      "To see Pawl at work without any: pawl demo",
  );
}

async function namedModel(word: string, options: ModelOptions, surroundings: ModelSurroundings): Promise<ChosenModel> {
  const { env = process.env, providers = {}, packageFolders = [] } = surroundings;
  const { baseUrl, apiKeyEnv } = options;
  const colon = word.indexOf(":");
  const name = word.slice(0, Math.max(colon, 0));
  const id = word.slice(colon + 1);
  if (name === "" || id === "") {
    throw new PawlError(
      "INVALID_INPUT",
      `--model ${JSON.stringify(word)}: write PROVIDER:ID, where PROVIDER is one of ${Object.keys(endpoints).join(", ")}, or an AI SDK package; for example openai:gpt-5`,
    );
  }
  const own = Object.hasOwn(providers, name) ? providers[name] : undefined;
  const known = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined;
  if (own?.package === undefined && (own || known)) {
    const endpoint = endpointOf(name, own, known, baseUrl);
    const key = keyOf(endpoint, baseUrl ?? own?.baseUrl, apiKeyEnv, env);
    const model = await speak(name, endpoint.protocol, id, endpoint.baseUrl, key);
    return { ...model, word, url: endpoint.baseUrl, keyEnv: apiKeyEnv ?? endpoint.keyEnv, key };
  }
  const found = findPackage(packageNames(name, own), packagePlaces(packageFolders));
  if (!found) throw unknownProvider(word, packageNames(name, own)[0] ?? name);
  const keyEnv = apiKeyEnv ?? own?.keyEnv;
  const key = keyEnv === undefined ? undefined : env[keyEnv];
  if (keyEnv !== undefined && !key)
    throw noKeyIn(keyEnv, apiKeyEnv === undefined ? `providers.${name}.keyEnv` : "--api-key-env");
  const url = baseUrl ?? own?.baseUrl;
  const settings = { ...own?.options, ...(url === undefined ? {} : { baseURL: url }), ...(key ? { apiKey: key } : {}) };
  const model = await packageModel(found, id, settings);
  return {
    model,
    word,
    url: url ?? found.name,
    keyEnv: keyEnv ?? `the variable that ${found.name} reads`,
    ...(key ? { key } : {}),
  };
}

function endpointOf(
  name: string,
  own: ProviderConfig | undefined,
  known: Endpoint | undefined,
  baseUrl: string | undefined,
): Endpoint {
  const url = baseUrl ?? own?.baseUrl?.replace(/\/+$/, "") ?? known?.baseUrl;
  if (url === undefined)
    throw new PawlError(
      "INVALID_INPUT",
      `the provider ${name} of the configuration has neither a baseUrl nor a package; add one`,
    );
  return {
    protocol: own?.protocol ?? known?.protocol ?? "openai-chat",
    baseUrl: url,
    keyEnv: own?.keyEnv ?? known?.keyEnv ?? `${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}_API_KEY`,
  };
}

/** A word without a scope first means the AI SDK's own package of that name. */
function packageNames(name: string, own: ProviderConfig | undefined): string[] {
  if (own?.package !== undefined) return [own.package];
  if (!/^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/.test(name)) return [];
  return name.startsWith("@") ? [name] : [`@ai-sdk/${name}`, name];
}

function unknownProvider(word: string, name: string): PawlError {
  return new PawlError(
    "INVALID_INPUT",
    `--model ${JSON.stringify(word)}: there is no such provider; built in are ${Object.keys(endpoints).join(", ")}. ` +
      `An AI SDK package is found once it is installed: npm install --prefix ${userFolder()} ${name}`,
  );
}

/** `--local`: the only or the first model of a server on this machine, or the one that was named. */
async function localModel({ local, model, baseUrl }: ModelOptions): Promise<ChosenModel> {
  const given =
    typeof local === "string" ? withVersion(checkedUrl(local, "--local") ?? "") : checkedUrl(baseUrl, "--base-url");
  const server = await localServer(given);
  const able = talking(server.models);
  const wanted = model?.replace(/^openai-chat:/, "");
  const id = wanted ?? able[0] ?? "";
  if (wanted !== undefined && !server.models.includes(wanted))
    throw new PawlError(
      "INVALID_INPUT",
      `--model ${JSON.stringify(model)}: ${server.name} at ${server.url} has ${server.models.slice(0, 8).join(", ")}; name one of them`,
    );
  const why = able.length === 1 ? "its only model" : `the first of ${able.length}; another one with --model`;
  return {
    ...(await ownServer(server.url, id, "none")),
    ...(wanted === undefined ? { why: `${server.name} at ${server.url} has it: ${why}` } : {}),
  };
}

/** `--base-url` alone: the server says what it has. */
async function servedModel(
  url: string,
  { apiKeyEnv }: ModelOptions,
  { env = process.env }: ModelSurroundings,
): Promise<ChosenModel> {
  const key = keyOf(
    { protocol: "openai-chat", baseUrl: url, keyEnv: "OPENAI_API_KEY" },
    url,
    apiKeyEnv,
    apiKeyEnv === undefined ? {} : env,
  );
  try {
    const [id] = talking(await modelsAt(url, { authorization: `Bearer ${key}` }));
    if (id !== undefined)
      return { ...(await ownServer(url, id, key)), why: `it is the first of ${url}; another one with --model` };
  } catch (error) {
    throw new PawlError(
      "INVALID_INPUT",
      `--base-url ${url} does not say which models it has (${problemOf(error)}); name one with --model openai-chat:ID`,
      { cause: error },
    );
  }
  throw new PawlError(
    "INVALID_INPUT",
    `--base-url ${url} has no model; load one there, or name one with --model openai-chat:ID`,
  );
}

async function ownServer(url: string, id: string, key: string): Promise<ChosenModel> {
  const model: Model = await speak("openai-chat", "openai-chat", id, url, key);
  return { ...model, word: `openai-chat:${id}`, url, keyEnv: "OPENAI_API_KEY", ...(key === "none" ? {} : { key }) };
}

const present = (baseUrl: string | undefined): { baseUrl?: string } => (baseUrl === undefined ? {} : { baseUrl });

function checkedUrl(text: string | undefined, option: string): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url?.protocol === "http:" || url?.protocol === "https:") return text.replace(/\/+$/, "");
  // `--local "fix the test"`: the prompt was taken for the address.
  const hint = option === "--local" && /\s/.test(text) ? "; put the prompt before --local" : "";
  throw new PawlError(
    "INVALID_INPUT",
    `${option} ${JSON.stringify(text)} is no URL; write something like http://127.0.0.1:11434/v1${hint}`,
  );
}

/** An address without a path is that of the machine. */
function withVersion(url: string): string {
  return new URL(url).pathname === "/" ? `${url}/v1` : url;
}

/** A server of one's own often wants no key; the provider's own address always does. */
function keyOf(
  endpoint: Endpoint,
  baseUrl: string | undefined,
  named: string | undefined,
  env: NodeJS.ProcessEnv,
): string {
  const key = env[named ?? endpoint.keyEnv];
  if (key) return key;
  if (named !== undefined) throw noKeyIn(named, "--api-key-env");
  if (baseUrl !== undefined) return "none";
  throw new PawlError(
    "INVALID_INPUT",
    `no API key: set ${endpoint.keyEnv}, name another variable with --api-key-env, or use a server of your own with --base-url or --local; without any: pawl demo`,
  );
}

function noKeyIn(name: string, option: string): PawlError {
  return new PawlError("INVALID_INPUT", `${option} ${name}: that variable is not set; export it with the key`);
}
