/** What there is under many names, without holding up whatever else this process does. */
import { accessSync, constants, lstatSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { bytesOf } from "./git.ts";
import type { Found } from "./listing.ts";

/** So many looks take a few milliseconds. */
const atOnce = 1_000;

const nothing: Found = { kind: "nothing", size: 0, mode: 0, readable: false };

export async function foundAt(
  root: string,
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Found>> {
  const found = new Map<string, Found>();
  const folders = new Map<string, boolean>();
  const base = Buffer.from(`${root}/`);
  for (const [count, path] of paths.entries()) {
    if (count % atOnce === atOnce - 1) await new Promise((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
    found.set(path, isReached(base, dirname(path), folders) ? look(Buffer.concat([base, bytesOf(path)])) : nothing);
  }
  return found;
}

/** Whether every folder on the way is one, and no link: behind a link lies what another name, or nobody, is to keep. */
function isReached(base: Buffer, folder: string, known: Map<string, boolean>): boolean {
  if (folder === ".") return true;
  const said = known.get(folder);
  if (said !== undefined) return said;
  const reached =
    isReached(base, dirname(folder), known) && statOf(Buffer.concat([base, bytesOf(folder)]))?.isDirectory() === true;
  known.set(folder, reached);
  return reached;
}

function look(path: Buffer): Found {
  const stats = statOf(path);
  if (!stats) return nothing;
  const kind = stats.isFile() ? "file" : stats.isSymbolicLink() ? "link" : "other";
  return { kind, size: stats.size, mode: stats.mode & 0o7777, readable: kind !== "file" || isReadable(path) };
}

export function statOf(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function isReadable(path: Buffer): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** A name below a folder, as bytes. */
export function below(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), bytesOf(path)]);
}
