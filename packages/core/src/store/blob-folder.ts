/**
 * Content-addressed files beside the log: `ab/abcdef...`, named by their sha256.
 *
 * Owns: files of one folder. Invariants:
 * 1. A file under its final name is whole and on disk: it is written under another name, flushed, then renamed.
 * 2. What is handed out has the hash it was asked by.
 * 3. A file's time is when it was last put. Who drops an old one first moves it aside, and back if it was put meanwhile.
 */
import { hash } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PawlError } from "../error.ts";
import { storeFault } from "./sqlite-fault.ts";

/** Tells the drafts of one process apart. */
let written = 0;

export class BlobFolder {
  readonly #root: string;
  readonly #now: () => number;

  constructor(root: string, now: () => number) {
    this.#root = root;
    this.#now = now;
  }

  async put(bytes: Uint8Array): Promise<string> {
    const name = hash("sha256", bytes, "hex");
    const path = this.#path(name);
    try {
      // Touched where it is there: whoever looks for what nobody uses any more sees that somebody does.
      if ((await sizeOf(path)) === bytes.byteLength && (await this.#touch(path))) return name;
      await this.#write(path, bytes);
    } catch (error) {
      throw storeFault(error, path);
    }
    return name;
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    if (!/^[0-9a-f]{64}$/.test(name)) return undefined;
    const path = this.#path(name);
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw storeFault(error, path);
    });
    if (bytes && hash("sha256", bytes, "hex") !== name) {
      throw new PawlError("CORRUPT", `${path} does not hold what its name says; restore it from a backup or remove it`);
    }
    return bytes;
  }

  /** Names of files that were last put before `before`, ascending, after `after`, at most `most`. */
  async old(before: number, after: string, most: number): Promise<string[]> {
    const found: string[] = [];
    for (const folder of (await namesIn(this.#root)).sort()) {
      if (folder < after.slice(0, 2)) continue;
      for (const name of (await namesIn(join(this.#root, folder))).sort()) {
        if (found.length >= most) return found;
        if (/^[0-9a-f]{64}$/.test(name) && name > after && (await isOlder(this.#path(name), before))) found.push(name);
      }
    }
    return found;
  }

  async drop(names: readonly string[], before: number): Promise<number> {
    let dropped = 0;
    for (const name of names) {
      if (/^[0-9a-f]{64}$/.test(name) && (await this.#drop(this.#path(name), before))) dropped += 1;
    }
    return dropped;
  }

  async #drop(path: string, before: number): Promise<boolean> {
    if (!(await isOlder(path, before))) return false;
    const aside = draftOf(path);
    // Somebody else drops it, too.
    if (!(await moved(path, aside))) return false;
    if (await isOlder(aside, before)) {
      await rm(aside, { force: true });
      return true;
    }
    await rename(aside, path);
    return false;
  }

  /** False where it has gone meanwhile. */
  async #touch(path: string): Promise<boolean> {
    const now = this.#now() / 1_000;
    return utimes(path, now, now).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return false;
        // Another user's file: it is whole and stays as old as it is, which is no reason to refuse what is there.
        if (["EPERM", "EACCES", "EROFS"].includes(error.code ?? "")) return true;
        throw error;
      },
    );
  }

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    const folder = dirname(path);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { draft, file } = await openDraft(path);
    try {
      await file.writeFile(bytes);
      const now = this.#now() / 1_000;
      await file.utimes(now, now);
      await file.sync();
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    const directory = await open(folder, "r");
    await directory.sync().finally(() => directory.close());
  }

  #path(name: string): string {
    return join(this.#root, name.slice(0, 2), name);
  }
}

function draftOf(path: string): string {
  written += 1;
  return `${path}.${process.pid}-${written}.draft`;
}

async function isOlder(path: string, before: number): Promise<boolean> {
  const at = (await stat(path).catch(() => undefined))?.mtimeMs;
  return at !== undefined && at < before;
}

/** False where there is nothing to move. */
async function moved(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw error;
  });
}

/** A draft of a dead process of the same id, or of a living one in another container, may be in the way. */
async function openDraft(path: string): Promise<{ draft: string; file: FileHandle }> {
  for (;;) {
    const draft = draftOf(path);
    try {
      return { draft, file: await open(draft, "wx", 0o600) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
