/** `pawl models`: which models can be used now, and what is missing where none can. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { PawlError } from "@pawl/core";
import { loadConfig } from "../config/load.ts";
import { projectFolders, userFolder } from "../config/place.ts";
import type { ProviderConfig } from "../config/schema.ts";
import { workspaceFolder } from "../place.ts";
import { counted, line, toned } from "../style.ts";
import { endpoints, type Protocol } from "./endpoint.ts";
import { findPackage, packagePlaces } from "./package.ts";
import { modelsAt, nearMs, problemOf, wellKnown } from "./server.ts";

export interface ListOptions {
  cwd?: string;
  json?: boolean;
  all?: boolean;
}

interface Row {
  provider: string;
  usable: boolean;
  why: string;
  url?: string;
  models: string[];
}

/** Of one provider, unless all are wanted: some have hundreds. */
const shownModels = 12;
const out = process.stdout;

export async function listModels(provider: string | undefined, { cwd, json, all }: ListOptions): Promise<number> {
  const folder = workspaceFolder(cwd);
  const { values, project } = loadConfig(folder);
  const places = packagePlaces(project.trust === "trusted" ? projectFolders(folder) : []);
  const known = { ...endpoints, ...values.providers };
  const names = [...Object.keys(known), "local"];
  const extra = installed(places).filter((name) => !(name in known));
  if (provider !== undefined && !names.includes(provider) && !extra.includes(provider))
    throw new PawlError(
      "INVALID_INPUT",
      `${JSON.stringify(provider)} is no provider; known are ${[...names, ...extra].join(", ")}`,
    );
  const wanted = (name: string) => provider === undefined || provider === name;
  const asked = [
    ...Object.keys(known)
      .filter(wanted)
      .map((name) => providerRow(name, values.providers[name], places)),
    ...extra.filter(wanted).map((name) => packageRow(name, undefined, places)),
    ...(wanted("local") ? wellKnown.map(localRow) : []),
  ];
  const rows = await Promise.all(asked);
  for (const row of rows) {
    if (json) out.write(`${JSON.stringify(row)}\n`);
    else printRow(row, all || provider !== undefined);
  }
  if (!json && !rows.some(({ usable }) => usable))
    process.stderr.write("No model can be used yet. To see Pawl at work without any: pawl demo\n");
  return 0;
}

function printRow({ provider, usable, why, models }: Row, all: boolean): void {
  out.write(
    `${toned(usable ? "good" : "quiet", `${usable ? "✓" : "·"} ${provider}`, out)}  ${toned("quiet", line(why, 200), out)}\n`,
  );
  for (const id of all ? models : models.slice(0, shownModels))
    out.write(`    ${provider.startsWith("local") ? "openai-chat" : provider}:${line(id, 200)}\n`);
  if (!all && models.length > shownModels)
    out.write(toned("quiet", `    … and ${models.length - shownModels} more: pawl models ${provider}\n`, out));
}

async function providerRow(name: string, own: ProviderConfig | undefined, places: readonly string[]): Promise<Row> {
  if (own?.package !== undefined) return packageRow(name, own, places);
  const known = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined;
  const url = own?.baseUrl?.replace(/\/+$/, "") ?? known?.baseUrl ?? "";
  const keyEnv = own?.keyEnv ?? known?.keyEnv;
  const key = keyEnv === undefined ? undefined : process.env[keyEnv];
  if (!key && own?.baseUrl === undefined)
    return { provider: name, usable: false, why: `${keyEnv} is not set`, url, models: [] };
  const because = key ? `${keyEnv} is set` : "no key";
  try {
    const models = await modelsAt(url, headersOf(own?.protocol ?? known?.protocol ?? "openai-chat", key));
    return {
      provider: name,
      usable: true,
      why: `${because}, ${counted(models.length, "model")} at ${url}`,
      url,
      models,
    };
  } catch (error) {
    // A list is a courtesy: some servers have none and answer all the same.
    return {
      provider: name,
      usable: true,
      why: `${because}; ${url} gives no list: ${problemOf(error)}`,
      url,
      models: [],
    };
  }
}

function headersOf(protocol: Protocol, key: string | undefined): { [name: string]: string } {
  if (!key) return {};
  return protocol === "anthropic"
    ? { "x-api-key": key, "anthropic-version": "2023-06-01" }
    : { authorization: `Bearer ${key}` };
}

async function packageRow(provider: string, own: ProviderConfig | undefined, places: readonly string[]): Promise<Row> {
  const name = own?.package ?? provider;
  const found = findPackage([name], places);
  if (!found)
    return {
      provider,
      usable: false,
      why: `${name} is not installed: npm install --prefix ${userFolder()} ${name}`,
      models: [],
    };
  if (own?.keyEnv !== undefined && !process.env[own.keyEnv])
    return { provider, usable: false, why: `${own.keyEnv} is not set`, models: [] };
  return {
    provider,
    usable: true,
    why: `the package in ${found.folder}; it has no list, name a model as ${provider}:ID`,
    models: [],
  };
}

async function localRow({ name, url }: (typeof wellKnown)[number]): Promise<Row> {
  const provider = `local ${name}`;
  try {
    const models = await modelsAt(url, {}, nearMs);
    return {
      provider,
      usable: models.length > 0,
      why: `${counted(models.length, "model")} at ${url}: --local`,
      url,
      models,
    };
  } catch (error) {
    return { provider, usable: false, why: `${url}: ${problemOf(error)}`, url, models: [] };
  }
}

/** The AI SDK's own that are no providers of language models. */
const others = new Set([
  "provider",
  "provider-utils",
  "openai-compatible",
  "anthropic",
  "openai",
  "gateway",
  "react",
  "vue",
  "svelte",
  "angular",
  "rsc",
  "devtools",
  "mcp",
  "otel",
  "codemod",
]);

/** Provider packages beside ours: whoever installed one may have forgotten how it is named. */
function installed(places: readonly string[]): string[] {
  const names = places.flatMap((place) => {
    const folder = join(place, "node_modules", "@ai-sdk");
    return existsSync(folder) ? readdirSync(folder).filter((name) => !others.has(name) && !name.startsWith(".")) : [];
  });
  return [...new Set(names)].map((name) => `@ai-sdk/${name}`);
}
