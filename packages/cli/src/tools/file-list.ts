/**
 * The files of a folder that a person would search: without version control, installed packages, and what git ignores.
 *
 * Links are not followed, so nothing outside of the workspace is seen, and no loop is walked.
 */
import { execFile } from "node:child_process";
import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import { promisify } from "node:util";
import { PawlError } from "@pawl/core";
import { escapePath, glob } from "tinyglobby";
import { temporaryPattern } from "./replacement.ts";
import { quoted } from "./text.ts";
import type { Place } from "./workspace.ts";

/** Never searched unless the pattern or the folder names them. */
export const skippedFolders = [".git", "node_modules"];
/** Each ignored folder is a pattern that every name is tried against; those above are still left out, after the walk. */
const prunedFolders = 100;
/** Git answers in milliseconds, or the tree is so large that an unfiltered answer is better than none. */
const gitMs = 10_000;
const gitBytes = 64_000_000;

export interface FileQuery {
  folder: Place;
  /** Relative to the folder; with a leading `!`, the files that it does not match. */
  pattern: string;
  signal: AbortSignal;
}

/** Paths relative to the folder, sorted. */
export async function listFiles({ folder, pattern, signal }: FileQuery): Promise<string[]> {
  const inside = insidePattern(folder, pattern);
  const asked = namesSkipped(folder, inside);
  const ignored = asked ? new Set<string>() : await ignoredByGit(folder.real, signal);
  const pruned = [...ignored].filter((path) => path.endsWith("/")).slice(0, prunedFolders);
  const found = await glob(inside.startsWith("!") ? ["**", inside] : inside, {
    cwd: folder.real,
    dot: true,
    onlyFiles: true,
    followSymbolicLinks: false,
    expandDirectories: false,
    ignore: [
      ...skippedFolders.filter((name) => !asked || name === ".git").map((name) => `**/${name}/**`),
      ...pruned.map((path) => `${escapePath(path)}**`),
      `**/${temporaryPattern}`,
    ],
    signal,
  });
  signal.throwIfAborted();
  const inTree = await foldersWithoutLinks(
    folder.real,
    found.map((path) => dirname(path)),
  );
  const files = found.filter((path) => inTree.has(dirname(path)) && !isIgnored(path, ignored));
  return files.sort(byCode);
}

/** The walk follows no link that it meets, but a pattern may start with one: those of `folders` that are where they seem to be. */
async function foldersWithoutLinks(base: string, folders: string[]): Promise<Set<string>> {
  const kept = new Set<string>();
  for (const folder of new Set(folders)) {
    const path = join(base, folder);
    if ((await realpath(path).catch(() => undefined)) === path) kept.add(folder);
  }
  return kept;
}

/** Whether the folder or the pattern speaks of a place that is left out by default; then nothing is. */
export function namesSkipped(folder: Place, pattern: string): boolean {
  return `${folder.shown}/${pattern}`.split("/").includes("node_modules");
}

function insidePattern(folder: Place, pattern: string): string {
  if (pattern.includes("\0"))
    throw new PawlError("INVALID_INPUT", `the pattern ${quoted(pattern)} contains a NUL character: remove it`);
  const inside =
    isAbsolute(pattern) && pattern.startsWith(`${folder.real}/`) ? relative(folder.real, pattern) : pattern;
  if (inside === "" || isAbsolute(inside) || /(^|[/{,(|])\.\.($|[/},)|])/.test(inside)) {
    throw new PawlError(
      "INVALID_INPUT",
      `the pattern ${quoted(pattern)} must stay in the folder: give a relative pattern such as **/*.ts, and the folder as path`,
    );
  }
  return inside.startsWith("./") ? inside.slice(2) : inside;
}

/** What git ignores below `folder`: files, and whole folders with a `/` at their end. Empty where there is no git. */
async function ignoredByGit(folder: string, signal: AbortSignal): Promise<Set<string>> {
  // A repository can name a program as its file watcher; looking must not run it.
  const git = ["-c", "core.fsmonitor=false", "ls-files"];
  const look = [...git, "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
  // Where git runs us, in a hook say, these would lead to a repository other than the folder's.
  const env = { ...process.env, GIT_DIR: undefined, GIT_WORK_TREE: undefined, GIT_INDEX_FILE: undefined };
  try {
    const { stdout } = await promisify(execFile)("git", look, {
      cwd: folder,
      env,
      signal,
      timeout: gitMs,
      maxBuffer: gitBytes,
    });
    const paths = new Set(stdout.split("\0").filter((path) => path !== ""));
    // The folder itself is ignored: who asks for it by name means what is in it.
    return paths.has("./") ? new Set() : paths;
  } catch {
    return new Set();
  }
}

function isIgnored(path: string, ignored: Set<string>): boolean {
  if (ignored.size === 0) return false;
  if (ignored.has(path)) return true;
  for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) {
    if (ignored.has(path.slice(0, slash + 1))) return true;
  }
  return false;
}

/** By UTF-16 units: the same order on every machine. */
function byCode(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
