/**
 * The atomic replacement of a file: a reader, a crash or a full disk finds the old content or the new one, whole.
 *
 * Invariants:
 * 1. The content goes to a temporary file in the same folder, is flushed, and takes the name by one rename.
 * 2. The temporary file's name comes from the call's key and is created exclusively, once. Who removes it therefore knows that the
 *    rename has not happened and never will: that is how a reconciler fences a body that may still run elsewhere.
 */
import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open, rename, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "./workspace.ts";

/** Names that listings leave out. */
export const temporaryPattern = ".pawl-*.tmp";

export interface Replacement {
  real: string;
  content: string | Uint8Array;
  /** The call's idempotency key. */
  key: string;
  signal: AbortSignal;
  /** Called directly before the rename, when all else is done. A throw leaves the old file. */
  check?(): Promise<void>;
}

export async function replaceFile(replacement: Replacement): Promise<void> {
  const { real, content, key, signal } = replacement;
  const folder = dirname(real);
  await mkdir(folder, { recursive: true });
  const old = await stat(real).catch(() => undefined);
  const temporary = temporaryName(real, key);
  const file = await open(temporary, "wx", old ? old.mode & 0o7777 : 0o666);
  try {
    await fill(file, content, old);
    await replacement.check?.();
    signal.throwIfAborted();
    await rename(temporary, real);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await flushFolder(folder);
}

/** Keeps a replacement from ever happening. True if it was under way; false tells nothing. */
export async function preventReplacement(real: string, key: string): Promise<boolean> {
  try {
    await unlink(temporaryName(real, key));
    return true;
  } catch {
    return false;
  }
}

function temporaryName(real: string, key: string): string {
  // Not made from the file's own name, which may be as long as the file system allows.
  const id = createHash("sha256").update(key).digest("hex").slice(0, 24);
  return join(dirname(real), `.pawl-${id}.tmp`);
}

async function fill(
  file: FileHandle,
  content: string | Uint8Array,
  old: { mode: number; uid: number; gid: number } | undefined,
): Promise<void> {
  try {
    await file.writeFile(content);
    if (old) {
      // Owner first: a change of owner clears the set-id bits. Only root may give a file away.
      await file.chown(old.uid, old.gid).catch(() => undefined);
      await file.chmod(old.mode & 0o7777);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The rename itself must survive a power cut. Some file systems cannot flush a folder; they are as they are. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

/** A failure of the file system in words: what, the code, what to do. */
export function fileFailure(doing: string, shown: string, error: unknown): Error {
  const code = errorCode(error);
  return new Error(
    `${doing} ${shown} failed: ${explanations[code] ?? (error instanceof Error ? error.message : String(error))}`,
    { cause: error },
  );
}

const explanations: { [code: string]: string } = {
  EACCES: "permission denied (EACCES); check the mode of the file and its folder",
  EPERM: "not permitted (EPERM); check the owner and attributes of the file",
  EROFS: "the file system is read-only (EROFS)",
  ENOSPC: "no space left on the disk (ENOSPC); free some, nothing was changed",
  EDQUOT: "the disk quota is used up (EDQUOT); free some, nothing was changed",
  ENOTDIR: "a part of the path is a file, not a folder (ENOTDIR); list the parent with ls",
  EISDIR: "it is a folder (EISDIR); use ls to look into it",
  ENAMETOOLONG: "the name is too long (ENAMETOOLONG); choose a shorter one",
  ENOENT: "it is not there (ENOENT)",
  EEXIST: "the name is taken (EEXIST)",
  EMFILE: "too many open files (EMFILE); try again with fewer calls at once",
};
