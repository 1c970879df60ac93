/**
 * Opening the database file: as a writer where that is possible, as a reader where it is not.
 *
 * Owns: pragmas, the journal mode, creation and migration at opening. Invariants:
 * 1. A file of a newer format, or of another program, is refused before anything in it changes.
 * 2. Where the folder cannot be written, what is there can still be read; and never an older state of it: a write-ahead
 *    log that could not be taken into account is a refusal.
 */
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { PawlError } from "../error.ts";
import { isReadOnlyFault, storeFault } from "./sqlite-fault.ts";
import { completeNew, format, migrate } from "./sqlite-migration.ts";
import { checkFormat, firstFormat } from "./sqlite-schema.ts";
import type { OpenCall, Opened } from "./sqlite-wire.ts";

/** How long to wait for another process's transaction. Theirs take milliseconds; a slow disk may need seconds. */
export const defaultBusyMs = 5_000;
/** Processes that create the same file at once get in each other's way a few times; see useJournal. */
const journalTries = 50;

export interface OpenedDatabase extends Opened {
  db: DatabaseSync;
}

export function openDatabase({
  path,
  journal = "wal",
  busyMs = defaultBusyMs,
}: Partial<OpenCall> & { path: string }): OpenedDatabase {
  try {
    return openForWriting(path, journal, busyMs);
  } catch (error) {
    if (!isReadOnlyFault(error) || !existsSync(path)) throw error;
    return openForReading(path, busyMs, error);
  }
}

function openForWriting(path: string, journal: OpenCall["journal"], busyMs: number): OpenedDatabase {
  const db = new DatabaseSync(path, { timeout: busyMs });
  try {
    const isNew = checkFormat(db, path) === 0;
    useJournal(db, journal);
    // FAST: what is deleted is overwritten where its page is written anyway.
    db.exec(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = FAST; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000",
    );
    if (isNew) make(db, path);
    const copy = migrate(db, path);
    const warnings = copy === undefined ? [] : [`${path} was brought to format ${format}; a copy as it was is ${copy}`];
    return { db, readOnly: false, warnings };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Only a new file needs the write lock: a process that keeps it must not bar those who come to read. */
function make(db: DatabaseSync, path: string): void {
  db.exec("BEGIN IMMEDIATE");
  // Whoever had the lock before may have made it.
  if (checkFormat(db, path) === 0) {
    db.exec(firstFormat);
    completeNew(db);
  }
  db.exec("COMMIT");
}

/**
 * SQLite does not wait for others when it changes the journal mode: it says busy at once. Waiting for the write lock,
 * which it does wait for, and trying again ends as soon as the other process is through.
 */
function useJournal(db: DatabaseSync, journal: OpenCall["journal"]): void {
  for (let tries = 1; ; tries += 1) {
    try {
      db.exec(`PRAGMA journal_mode = ${journal}`);
      return;
    } catch (error) {
      if (tries === journalTries) throw error;
      db.exec("BEGIN IMMEDIATE; ROLLBACK");
    }
  }
}

function openForReading(path: string, busyMs: number, why: unknown): OpenedDatabase {
  const db = tryReading(path, { timeout: busyMs, readOnly: true }) ?? readImmutable(path, why);
  const version = checkFormat(db, path);
  if (version !== format) {
    db.close();
    throw new PawlError(
      "STORE_UNAVAILABLE",
      `${path} has format ${version} and must be brought to ${format}, which needs a folder that can be written`,
      { cause: why },
    );
  }
  return { db, readOnly: true, warnings: [`${path} cannot be written: it is open for reading only`] };
}

function tryReading(path: string | URL, options: { timeout?: number; readOnly: true }): DatabaseSync | undefined {
  const db = new DatabaseSync(path, options);
  try {
    db.prepare("SELECT 1 FROM session LIMIT 1").get();
    return db;
  } catch (error) {
    db.close();
    if (!isReadOnlyFault(error)) throw error;
    return undefined;
  }
}

/** Nobody can change what nobody can write, so it may be read without locks: but only if all of it is in the file. */
function readImmutable(path: string, cause: unknown): DatabaseSync {
  const log = `${path}-wal`;
  if (existsSync(log) && statSync(log).size > 0) {
    throw new PawlError(
      "STORE_UNAVAILABLE",
      `${path} cannot be written, and its last changes are still in ${log}; copy both to a folder that can be written`,
      { cause },
    );
  }
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  const db = tryReading(url, { readOnly: true });
  if (!db) throw storeFault(cause, path);
  return db;
}
