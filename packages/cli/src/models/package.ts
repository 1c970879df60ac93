/**
 * An AI SDK provider package by its name: found where it is installed, loaded, its factory recognized.
 *
 * Owns: which folders are looked into, and in which order. Does not own: who may name a package (a person, or a file they trust).
 * Loading a package runs its code: a project's folder is among the places only if that folder is trusted.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { PawlError } from "@pawl/core";
import { userFolder } from "../config/place.ts";
import { edge } from "./endpoint.ts";

export interface PackageSettings {
  baseURL?: string;
  apiKey?: string;
  /** Others, as the package wants them. */
  [name: string]: unknown;
}

/** Folders with `node_modules`: of a trusted project, of the user, of Pawl itself. */
export function packagePlaces(trustedProject: readonly string[]): string[] {
  const own: string[] = [];
  for (let folder = import.meta.dirname; dirname(folder) !== folder; folder = dirname(folder)) own.push(folder);
  return [...trustedProject.toReversed(), userFolder(), ...own];
}

/** Where it is installed. */
export function findPackage(
  names: readonly string[],
  places: readonly string[],
): { name: string; folder: string } | undefined {
  for (const place of places) {
    for (const name of names) {
      const folder = join(place, "node_modules", name);
      if (existsSync(join(folder, "package.json"))) return { name, folder };
    }
  }
  return undefined;
}

/** Fails with INVALID_INPUT for a package that is no provider, or an old one. */
export async function packageModel(
  { name, folder }: { name: string; folder: string },
  id: string,
  settings: PackageSettings,
): Promise<LanguageModelV4> {
  const fail = (what: string, cause?: unknown): never => {
    throw new PawlError("INVALID_INPUT", `the package ${name} (${folder}) ${what}`, { cause });
  };
  let module: { [name: string]: unknown };
  try {
    module = (await import(pathToFileURL(join(folder, entryOf(folder))).href)) as typeof module;
  } catch (error) {
    return fail(`cannot be loaded: ${messageOf(error)}; install it again`, error);
  }
  const factories = factoriesOf(module, name);
  if (factories.length === 0) return fail("is no AI SDK provider: it exports no create… function; name another one");
  let problem: string | undefined;
  for (const create of factories) {
    try {
      const provider = create({ ...settings, fetch: edge }) as Provider;
      const model = provider.languageModel?.(id) ?? (provider as unknown as (id: string) => LanguageModelV4)(id);
      if (typeof model?.doStream !== "function") continue;
      const { specificationVersion: made } = model;
      if (made === "v4") return model;
      // It says most, whatever other functions of the package do.
      return fail(`is made for another AI SDK (specification ${JSON.stringify(made)}, needed is "v4"); update it`);
    } catch (error) {
      if (error instanceof PawlError) throw error;
      problem ??= `refuses its settings: ${messageOf(error)}`;
    }
  }
  return fail(problem ?? "gives no language model; is it a provider of the AI SDK?");
}

interface Provider {
  languageModel?(id: string): LanguageModelV4;
}

/** `createGoogleGenerativeAI` of `@ai-sdk/google` before others. */
function factoriesOf(module: { [name: string]: unknown }, name: string): ((settings: object) => unknown)[] {
  const wanted = `create${name.split("/").at(-1) ?? ""}`.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const rank = (key: string) => (key.toLowerCase() === wanted ? 0 : key.toLowerCase().startsWith(wanted) ? 1 : 2);
  return Object.keys(module)
    .filter((key) => /^create[A-Z]/.test(key) && typeof module[key] === "function")
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
    .map((key) => module[key] as (settings: object) => unknown);
}

/** The file that an `import` of the package means. Node resolves it only from a file beside it, and there is none. */
function entryOf(folder: string): string {
  const { exports, module, main } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    exports?: unknown;
    module?: unknown;
    main?: unknown;
  };
  const face = isRecord(exports) && "." in exports ? exports["."] : exports;
  const found = conditional(face) ?? module ?? main;
  return typeof found === "string" ? found : "index.js";
}

const conditions = new Set(["node", "import", "module-sync", "default"]);

function conditional(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.map(conditional).find((one) => one !== undefined);
  if (!isRecord(target)) return undefined;
  for (const [condition, inner] of Object.entries(target)) {
    const found = conditions.has(condition) ? conditional(inner) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function isRecord(value: unknown): value is { [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
}
