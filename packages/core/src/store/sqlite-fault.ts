/**
 * From what SQLite and the file system throw to what a caller can act on.
 */
import { PawlError } from "../error.ts";

/** Primary result codes: https://sqlite.org/rescode.html */
const sqlite = { busy: 5, locked: 6, readonly: 8, ioError: 10, corrupt: 11, full: 13, cantOpen: 14, notDatabase: 26 };
/**
 * What SQLite says where a write did not go through and the disk did not say "full": a limit on the size of files, a
 * quota, or a disk that fails. Extended codes IOERR_WRITE, IOERR_FSYNC, IOERR_TRUNCATE, IOERR_SHMSIZE.
 */
const writeErrors: ReadonlySet<number> = new Set([778, 1034, 1546, 4874]);

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether another process kept the lock for as long as we were willing to wait. */
export function isBusy(error: unknown): boolean {
  return ((error as { errcode?: number } | undefined)?.errcode ?? 0) % 256 === sqlite.busy;
}

/** Whether the file or its folder may not be written, where reading may still do. */
export function isReadOnlyFault(error: unknown): boolean {
  const code = ((error as { errcode?: number } | undefined)?.errcode ?? 0) & 0xff;
  return code === sqlite.readonly || code === sqlite.cantOpen;
}

/** `path` is the file that was worked on. A {@link PawlError} stays what it is. */
export function storeFault(error: unknown, path: string): PawlError {
  if (error instanceof PawlError) return error;
  const { errcode, code } = (error ?? {}) as { errcode?: number; code?: string };
  const options = { cause: error };
  if (code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG") return full(path, options);
  if (errcode !== undefined && writeErrors.has(errcode)) return refusedWrite(path, error);
  switch (errcode === undefined ? undefined : errcode & 0xff) {
    case sqlite.full:
      return full(path, options);
    case sqlite.busy:
    case sqlite.locked:
      return new PawlError(
        "STORE_UNAVAILABLE",
        `${path} is locked by another process that does not finish; end it and try again`,
        options,
      );
    case sqlite.corrupt:
      return new PawlError(
        "CORRUPT",
        `${path} is damaged (${text(error)}); copy it away before anything else, then restore a backup`,
        options,
      );
    case sqlite.notDatabase:
      return new PawlError(
        "CORRUPT",
        `${path} is not a database (${text(error)}); move it away or choose another folder`,
        options,
      );
    case sqlite.readonly:
    case sqlite.cantOpen:
      return new PawlError(
        "STORE_UNAVAILABLE",
        `cannot write ${path} (${text(error)}); check its folder, owner and permissions`,
        options,
      );
    default:
      return new PawlError(
        "STORE_UNAVAILABLE",
        `cannot use ${path} (${text(error)}); check the disk and the folder's permissions`,
        options,
      );
  }
}

function full(path: string, options: { cause: unknown }): PawlError {
  return new PawlError(
    "STORE_FULL",
    `no space left for ${path}: nothing was written; make room and try again`,
    options,
  );
}

/** The same code as a full disk: nothing was written, and it may be tried again once there is room. */
function refusedWrite(path: string, cause: unknown): PawlError {
  return new PawlError(
    "STORE_FULL",
    `${path} could not be written (${text(cause)}): a limit on file sizes, a quota, or a failing disk; ` +
      "nothing was written, make room and try again",
    { cause },
  );
}
