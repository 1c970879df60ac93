/**
 * Content-addressed files beside the log: `ab/abcdef...`, named by their sha256.
 *
 * Owns: files of one folder. Invariants:
 * 1. A file under its final name is whole and on disk: it is written under another name, flushed, then renamed.
 * 2. What is handed out has the hash it was asked by.
 */
import { hash } from "node:crypto";
import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PawlError } from "../error.ts";
import { storeFault } from "./sqlite-fault.ts";

/** Tells the drafts of one process apart. */
let written = 0;

export class BlobFolder {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(bytes: Uint8Array): Promise<string> {
    const name = hash("sha256", bytes, "hex");
    const path = this.#path(name);
    try {
      if ((await sizeOf(path)) !== bytes.byteLength) await this.#write(path, bytes);
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

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    const folder = dirname(path);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { draft, file } = await openDraft(path);
    try {
      await file.writeFile(bytes);
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

/** A draft of a dead process of the same id, or of a living one in another container, may be in the way. */
async function openDraft(path: string): Promise<{ draft: string; file: FileHandle }> {
  for (;;) {
    written += 1;
    const draft = `${path}.${process.pid}-${written}.draft`;
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
