/**
 * G2: what an install takes on the disk.
 *
 * Measured: the files of `pawl` as it is built for publishing, with every package that it needs, as they lie in this
 * repository's own install. Against: the packages of the providers and the validator alone, which any agent on the AI SDK
 * has. Not measured: what a package manager adds or shares.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { build, published } from "../scripts/build.ts";
import { root } from "../scripts/source.ts";
import type { Figures, Row } from "./row.ts";

const ground = ["@ai-sdk/anthropic", "@ai-sdk/openai", "@ai-sdk/openai-compatible", "zod"];

export const row: Row = {
  ...{ name: "G2", measure: "an install of pawl, on the disk", unit: "MB", scoreUnit: " MB", better: "lower" },
  ...{ target: 40, stretch: 25 },
  baseline: async () => ({ value: megabytes([...closure(ground)]) }),
  ours: async (dir) => installed(join(dir, "dist")),
  score: (_, ours) => ours.value,
  also: (_, ours) => `${ours["packages"]} packages, ${(ours["own"] ?? 0).toFixed(1)} MB of it our own`,
};

interface Manifest {
  dependencies?: Record<string, string>;
}

function installed(dist: string): Figures {
  build(dist);
  const ours = published.map((name) => join(dist, name));
  const needed = closure(ours.flatMap((folder) => Object.keys(manifestOf(folder).dependencies ?? {})));
  const own = megabytes(ours);
  return { value: own + megabytes([...needed]), own, packages: needed.size + ours.length };
}

/** Folders of these packages and of all that they need, each once; our own are built elsewhere. */
function closure(names: readonly string[]): Set<string> {
  const found = new Set<string>();
  const queue = names.map((name) => ({ name, from: root }));
  for (let next = queue.pop(); next; next = queue.pop()) {
    const folder = folderOf(next.name, next.from);
    if (folder === undefined || found.has(folder) || next.name.startsWith("@pawl/")) continue;
    found.add(folder);
    for (const name of Object.keys(manifestOf(folder).dependencies ?? {})) queue.push({ name, from: folder });
  }
  return found;
}

/** As node looks for it: in the package's own folder, else at the top. */
function folderOf(name: string, from: string): string | undefined {
  return [from, root].map((base) => join(base, "node_modules", name)).find((folder) => existsSync(folder));
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

function megabytes(folders: readonly string[]): number {
  return folders.reduce((sum, folder) => sum + bytesOf(folder), 0) / 1e6;
}

function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? sum : sum + bytesOf(path);
    return entry.isFile() ? sum + statSync(path).size : sum;
  }, 0);
}
