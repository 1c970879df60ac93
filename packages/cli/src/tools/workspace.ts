/**
 * The folder that the agent works in, and the one place that says which paths its file tools may touch.
 *
 * Owns: resolution to real paths, containment, lock keys. Does not own: commands, which the shell lets go anywhere; a
 * fence around those is a sandbox. Invariants:
 * 1. A resolved path is real: no link is left in it, also where its end does not exist yet. What is opened is what was judged.
 * 2. A path outside of the root (or, for reading, of a folder given free for reading) is refused, however it is spelled.
 * 3. All spellings of one file give one lock key.
 */
import { realpathSync, statSync } from "node:fs";
import { lstat, readlink, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { type Lock, PawlError, type Site } from "@pawl/core";
import { quoted } from "./text.ts";

export type Access = "read" | "write";

export interface Place {
  /** Absolute, without links. */
  real: string;
  /** As the model is told: relative to the root, `.` for the root itself. */
  shown: string;
}

/** As the kernel: a chain longer than this is a loop. */
export const linksPerPath = 40;

/** Listing tools look at a whole tree: they wait for whoever writes, and not for each other. */
export const wholeTree: Lock = { key: "*", mode: "read" };

export class Workspace {
  readonly root: string;
  readonly #readable: string[] = [];

  constructor(cwd: string) {
    this.root = realFolder(cwd);
  }

  /** Lets the read tools into one more folder, for example the one that long outputs are spilled to. */
  giveForReading(folder: string): void {
    this.#readable.push(realpathSync(folder));
  }

  /** Where `path` really leads. Refuses what this access may not touch; the path need not exist. */
  async resolve(path: string, access: Access): Promise<Place> {
    checkSpelling(path);
    const real = await follow(this.root, path);
    if (!this.#allows(real, access)) {
      throw new PawlError(
        "INVALID_INPUT",
        `${quoted(path)} leads to ${quoted(real)}, outside of the workspace ${this.root}: use a path inside of it`,
      );
    }
    return { real, shown: this.show(real) };
  }

  /** Where a file that is written lies, for whoever looks for it later. Throws where the folder is gone. */
  site(path: string): Site {
    const { ino } = statSync(this.root, { bigint: true });
    return { id: `${ino} ${this.root}`, where: resolve(this.root, path) };
  }

  show(real: string): string {
    return within(this.root, real) ? relative(this.root, real) || "." : real;
  }

  /**
   * The lock of a file: its real path, folded, since file systems that ignore case or Unicode form would otherwise
   * give one file two keys. Elsewhere that costs no more than an order between two names that differ in case only. A
   * refused path locks everything: the refusal may have been lifted by the time the body runs.
   */
  async lock(path: string, mode: Lock["mode"]): Promise<Lock[]> {
    try {
      const { real } = await this.resolve(path, mode);
      return [{ key: real.normalize("NFC").toLowerCase(), mode }];
    } catch {
      return [{ key: "*", mode }];
    }
  }

  #allows(real: string, access: Access): boolean {
    if (within(this.root, real)) return true;
    return access === "read" && this.#readable.some((folder) => within(folder, real));
  }
}

function realFolder(cwd: string): string {
  let real: string;
  try {
    real = realpathSync(cwd);
  } catch (cause) {
    throw new PawlError("INVALID_INPUT", `the workspace ${quoted(cwd)} cannot be opened: name a folder that exists`, {
      cause,
    });
  }
  if (!statSync(real).isDirectory())
    throw new PawlError("INVALID_INPUT", `the workspace ${quoted(cwd)} is not a folder`);
  return real;
}

/** Whether `path` is `folder` or below it. Both real. */
export function within(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function checkSpelling(path: string): void {
  if (path === "")
    throw new PawlError("INVALID_INPUT", "the path is empty: name a file or folder, `.` for the workspace");
  if (path.includes("\0"))
    throw new PawlError("INVALID_INPUT", `the path ${quoted(path)} contains a NUL character: remove it`);
  if (!path.isWellFormed()) {
    throw new PawlError(
      "INVALID_INPUT",
      `the path ${quoted(path)} contains half of a surrogate pair: spell it in valid Unicode`,
    );
  }
  if (path === "~" || path.startsWith("~/")) {
    throw new PawlError(
      "INVALID_INPUT",
      `${quoted(path)}: a leading ~ is not expanded here; use a path relative to the workspace`,
    );
  }
}

/**
 * Walks `path` as the kernel does, one name at a time, so that `..` behind a link means the parent of the link's target, and
 * a link whose target is missing is followed to the place where a write would create it.
 */
async function follow(root: string, path: string): Promise<string> {
  const todo = path.split("/").reverse();
  let here = isAbsolute(path) ? "/" : root;
  let links = 0;
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      here = dirname(here);
      continue;
    }
    const next = join(here, name);
    const target = await linkTarget(next, path);
    if (target === undefined) {
      here = next;
      continue;
    }
    links += 1;
    if (links > linksPerPath)
      throw new PawlError("INVALID_INPUT", `${quoted(path)} is a loop of links: name the file itself`);
    if (isAbsolute(target)) here = "/";
    todo.push(...target.split("/").reverse());
  }
  return trueCase(here);
}

async function linkTarget(path: string, asked: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    const code = errorCode(error);
    // Nothing there yet, or a file where a folder would have to be: the tool that opens it says so better.
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Error(`${quoted(asked)} cannot be looked up (${code}): check its permissions and length`, {
      cause: error,
    });
  }
}

/** On file systems that ignore case, the names as they are on disk. Links are gone already. */
async function trueCase(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(await trueCase(parent), path.slice(parent.length));
  }
}

export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}
