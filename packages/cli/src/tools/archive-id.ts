/**
 * Which folder of commands this is, so that no other is taken for it: a claim proves something only where the supervisor would have
 * found it.
 *
 * Invariants:
 * 1. The id is of the folder, not of its path, and stays for as long as the folder does.
 * 2. A copy is another folder: the file that holds the id names its own inode, which a copy cannot have. It gets an id of its own.
 *
 * Not told apart: a machine that was cloned with its disk under the same name. Where inodes do not last (some user-space file systems),
 * each look finds another folder: then nothing is proved, which is the smaller harm.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

interface Written {
  id: string;
  inode: string;
}

/** Another process may be at it, too; each round ends with what one of them has written. */
const rounds = 5;

/** Makes it where there is none. Throws where the folder cannot be written. */
export function archiveId(dir: string): string {
  const file = join(dir, "archive.json");
  for (let round = 1; ; round += 1) {
    const { written, copied } = read(file);
    if (written && !copied) return written.id;
    if (round === rounds) throw new Error(`${file} is replaced over and over`);
    write(dir, file, copied);
  }
}

function read(file: string): { written?: Written; copied: boolean } {
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch {
    return { copied: false };
  }
  try {
    const written = JSON.parse(readFileSync(handle, "utf8")) as Partial<Written>;
    const whole = typeof written.id === "string" && written.inode === inodeOf(handle);
    return { ...(whole && { written: written as Written }), copied: !whole };
  } catch {
    // Cut short by a power cut: whatever was entered under it is not known any more.
    return { copied: true };
  } finally {
    closeSync(handle);
  }
}

/** Whole or not at all; where there is none yet, the first one stays. */
function write(dir: string, file: string, replaces: boolean): void {
  const id = randomUUID();
  const draft = join(dir, `archive-${id}.tmp`);
  const handle = openSync(draft, "wx", 0o600);
  try {
    writeSync(handle, JSON.stringify({ id, inode: inodeOf(handle) } satisfies Written));
    fsyncSync(handle);
    if (replaces || !linked(draft, file)) renameSync(draft, file);
  } finally {
    closeSync(handle);
    rmSync(draft, { force: true });
  }
}

/** False where there are no links: then the last one stays, and what was entered under another is not known. */
function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EEXIST";
  }
}

function inodeOf(handle: number): string {
  return String(fstatSync(handle, { bigint: true }).ino);
}
