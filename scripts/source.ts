/** The project's own sources, as text: what the tidy and readme tests look at. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");

export interface Source {
  /** From the root, with forward slashes. */
  path: string;
  text: string;
  lines: string[];
  isTest: boolean;
}

const skipped = new Set(["node_modules", "dist", ".git", "coverage", "fixtures"]);

function* walk(folder: string): Generator<string> {
  for (const name of readdirSync(folder).sort()) {
    if (skipped.has(name)) continue;
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* walk(path);
    else yield path;
  }
}

/** Every TypeScript file of the project. */
export function sources(): Source[] {
  return [...walk(root)]
    .filter((path) => path.endsWith(".ts"))
    .map((path) => {
      const text = readFileSync(path, "utf8");
      const name = relative(root, path);
      return { path: name, text, lines: text.split("\n"), isTest: /\/test\/|\.test\.ts$/.test(name) };
    });
}

/** What a file imports, resolved to paths from the root where they are the project's own. */
export function importsOf(source: Source): string[] {
  const found = [...source.text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"|new URL\("([^"]+)"/g)];
  return found.flatMap(([, specifier, url]) => {
    const target = specifier ?? url;
    if (target === undefined) return [];
    if (target.startsWith(".")) return [join(dirname(source.path), target)];
    return [target];
  });
}
