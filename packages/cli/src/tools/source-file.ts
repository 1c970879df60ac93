/** Opening a file to look at it: only regular files, never through a link, never waiting for a pipe's other end. */
import { constants } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { fileFailure } from "./replacement.ts";
import { visibleLine } from "./text.ts";
import { errorCode, type Place, type Workspace } from "./workspace.ts";

/** Names close to the missing one that a message offers. */
const namesOffered = 5;

/** Runs `use` on the opened file. `asked` is the path as the model spelled it. */
export async function withSourceFile<T>(
  workspace: Workspace,
  place: Place,
  use: (file: FileHandle, size: number) => Promise<T>,
): Promise<T> {
  const file = await openSource(workspace, place);
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) throw new Error(`${place.shown} is a folder: use ls to see what is in it`);
    if (!stats.isFile())
      throw new Error(`${place.shown} is a pipe, socket or device, not a file: look at it with bash if you must`);
    return await use(file, stats.size);
  } finally {
    await file.close();
  }
}

async function openSource(workspace: Workspace, place: Place): Promise<FileHandle> {
  try {
    // The path is real already, so a link in its place is one that was swapped in since.
    return await open(place.real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === "ENOENT") throw new Error(await missingMessage(workspace, place), { cause: error });
    throw fileFailure("reading", place.shown, error);
  }
}

/** What to say about a path that is not there: which folder is missing, or the names that come closest. */
export async function missingMessage(workspace: Workspace, place: Place): Promise<string> {
  const parent = dirname(place.real);
  const names = await readdir(parent).catch(() => undefined);
  if (names === undefined)
    return `${place.shown} does not exist, and neither does its folder: find the right one with glob or ls`;
  const close = closestNames(basename(place.real), names);
  const folder = workspace.show(parent);
  if (close.length === 0)
    return `${place.shown} does not exist: list ${folder === "." ? "the workspace" : folder} with ls, or search with glob`;
  const prefix = folder === "." ? "" : `${folder}/`;
  return `${place.shown} does not exist. Close names: ${close.map((name) => visibleLine(prefix + name)).join(", ")}`;
}

function closestNames(wanted: string, names: string[]): string[] {
  const target = wanted.toLowerCase();
  return names
    .map((name) => ({ name, score: likeness(target, name.toLowerCase()) }))
    .filter(({ score }) => score >= 0.4)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .slice(0, namesOffered)
    .map(({ name }) => name);
}

/** Shared pairs of neighbouring characters, 0 to 1 (Dice). Cheap, and kind to swapped and missing letters. */
export function likeness(a: string, b: string): number {
  if (a === b) return 1;
  const pairs = new Map<string, number>();
  for (let i = 0; i + 1 < a.length; i++) pairs.set(a.slice(i, i + 2), (pairs.get(a.slice(i, i + 2)) ?? 0) + 1);
  let shared = 0;
  for (let i = 0; i + 1 < b.length; i++) {
    const left = pairs.get(b.slice(i, i + 2)) ?? 0;
    if (left === 0) continue;
    pairs.set(b.slice(i, i + 2), left - 1);
    shared += 1;
  }
  return (2 * shared) / Math.max(1, a.length + b.length - 2);
}
