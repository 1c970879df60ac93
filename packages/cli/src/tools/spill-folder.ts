/** Where outputs go that are too long to be told: one file a call, in a folder that the read tools may look into. */
import { constants, mkdirSync, mkdtempSync } from "node:fs";
import { copyFile, link } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorCode } from "./workspace.ts";

export class SpillFolder {
  readonly #wanted: string | undefined;
  readonly #onOpen: (folder: string) => void;
  #folder: string | undefined;

  /** Without `folder`, a fresh one among the temporary files. `onOpen` hears of it when the first file is needed. */
  constructor(folder: string | undefined, onOpen: (folder: string) => void) {
    this.#wanted = folder;
    this.#onOpen = onOpen;
  }

  /** Keeps the file `source` under a name made from `name`. The two share their bytes where the file system can do that. */
  async keep(source: string, name: string): Promise<string> {
    const folder = this.#open();
    const safe = name.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 100);
    for (let number = 1; ; number++) {
      const path = join(folder, number === 1 ? `${safe}.txt` : `${safe}-${number}.txt`);
      try {
        await linkOrCopy(source, path);
        return path;
      } catch (error) {
        // Exclusive: a call id may come again in another session, and its output is not ours to replace.
        if (errorCode(error) !== "EEXIST" || number >= 1_000) throw error;
      }
    }
  }

  #open(): string {
    if (this.#folder === undefined) {
      if (this.#wanted === undefined) this.#folder = mkdtempSync(join(tmpdir(), "pawl-output-"));
      else mkdirSync(this.#wanted, { recursive: true, mode: 0o700 });
      this.#folder ??= this.#wanted ?? "";
      this.#onOpen(this.#folder);
    }
    return this.#folder;
  }
}

async function linkOrCopy(source: string, path: string): Promise<void> {
  try {
    await link(source, path);
  } catch (error) {
    if (["EEXIST", "ENOENT"].includes(errorCode(error))) throw error;
    // Another disk, or one without links.
    await copyFile(source, path, constants.COPYFILE_EXCL);
  }
}
