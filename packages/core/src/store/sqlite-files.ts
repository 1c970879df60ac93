/**
 * The files of an open database, and whether they are still the ones that were opened.
 *
 * A file that is removed or replaced goes on for whoever has it open, and nobody else sees it: what is written there is
 * gone with the process, and another process that makes the file anew shares no lock with us. SQLite does not look.
 */
import { statSync } from "node:fs";
import { PawlError } from "../error.ts";

interface Seen {
  path: string;
  inode: number | undefined;
}

export class OpenFiles {
  readonly #seen: readonly Seen[];

  /** After the first transaction: from then on the log and its index are there until the last process closes. */
  constructor(path: string, journal: string) {
    const paths = journal === "wal" ? [path, `${path}-wal`, `${path}-shm`] : [path];
    this.#seen = paths.map((one) => ({ path: one, inode: inodeOf(one) }));
  }

  /** Microseconds, beside the flush that a commit waits for. */
  assertSame(): void {
    const lost = this.#seen.find(({ path, inode }) => inodeOf(path) !== inode);
    if (!lost) return;
    throw new PawlError(
      "STORE_UNAVAILABLE",
      `${lost.path} was removed or replaced while the store was open; nothing was written. Close the store wherever it ` +
        "is open, which saves what was acknowledged, then open it again",
    );
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}
