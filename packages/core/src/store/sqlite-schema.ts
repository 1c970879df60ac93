/**
 * The database file: its tables, its format version, how it is opened.
 *
 * Owns: DDL, pragmas. Does not own: what is written when. Invariants:
 * 1. A file of a newer format, or of another program, is refused before anything in it changes.
 * 2. `record` is clustered by session and seq, so that the tail of a session is one range of one tree. It has a plain
 *    integer key, session above, seq in the low 32 bits: rows of a WITHOUT ROWID table spill to extra pages from 1 KB,
 *    which messages reach.
 * 3. `fresh` holds records in order of arrival until they are settled into `record`: when many sessions append at once,
 *    a commit then writes a few full pages instead of the last page of every session. A record is in one of the two;
 *    readers read both.
 */
import { DatabaseSync } from "node:sqlite";
import { PawlError } from "../error.ts";

/** The format this build reads and writes, in `PRAGMA user_version`. */
const format = 1;
/** "Pawl" in ASCII, in `PRAGMA application_id`. */
const applicationId = 0x5061776c;
/** How long to wait for another process's transaction. Theirs take milliseconds; a slow disk may need seconds. */
const busyMs = 5_000;
/** Processes that create the same file at once get in each other's way a few times; see useWal. */
const walTries = 50;

/**
 * `record.kind` names a row of `kind`; -kind marks an erased payload. `session.deleted`: 0 lives, 1 hidden, 2 erased as
 * far as no living child reads it. `post` remembers ids for ever, `mail` holds those not consumed.
 */
const ddl = `
CREATE TABLE session (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, epoch INTEGER NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, head TEXT NOT NULL, open_turn INTEGER NOT NULL,
  parent INTEGER, cut INTEGER NOT NULL, deleted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX session_recent ON session (updated_at, id) WHERE deleted = 0;
CREATE INDEX session_open ON session (key) WHERE open_turn = 1 AND deleted = 0;
CREATE INDEX session_child ON session (parent) WHERE parent IS NOT NULL;
CREATE INDEX session_hidden ON session (key) WHERE deleted = 1;
CREATE TABLE kind (
  key INTEGER PRIMARY KEY, type TEXT NOT NULL, version INTEGER NOT NULL, ignorable INTEGER NOT NULL,
  UNIQUE (type, version, ignorable)
) STRICT;
CREATE TABLE record (
  at INTEGER PRIMARY KEY, kind INTEGER NOT NULL, epoch INTEGER NOT NULL, time INTEGER NOT NULL,
  checksum BLOB NOT NULL, payload BLOB NOT NULL
) STRICT;
CREATE TABLE fresh (
  place INTEGER PRIMARY KEY, at INTEGER NOT NULL UNIQUE, kind INTEGER NOT NULL, epoch INTEGER NOT NULL,
  time INTEGER NOT NULL, checksum BLOB NOT NULL, payload BLOB NOT NULL
) STRICT;
CREATE TABLE lease (
  session INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, holder TEXT NOT NULL, expires_at INTEGER NOT NULL
) STRICT;
CREATE TABLE post (
  session INTEGER NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE mail (
  place INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
  body TEXT NOT NULL, posted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX mail_session ON mail (session, place);
CREATE TABLE name (name TEXT PRIMARY KEY, session INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX name_session ON name (session);
CREATE TABLE partial (
  session INTEGER NOT NULL, n INTEGER NOT NULL, epoch INTEGER NOT NULL, attempt TEXT NOT NULL, chunk TEXT NOT NULL,
  PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshot (
  session INTEGER NOT NULL, reducer TEXT NOT NULL, version INTEGER NOT NULL, seq INTEGER NOT NULL,
  checksum TEXT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (session, reducer)
) STRICT;
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${format};
`;

export function openDatabase(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: busyMs });
  try {
    checkFormat(db, path);
    useWal(db);
    // FAST: what is deleted is overwritten where its page is written anyway.
    db.exec(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = FAST; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000",
    );
    db.exec("BEGIN IMMEDIATE");
    if (checkFormat(db, path) === 0) db.exec(ddl);
    db.exec("COMMIT");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function pragma(db: DatabaseSync, name: string): unknown {
  return db.prepare(`PRAGMA ${name}`).get()?.[name];
}

function checkFormat(db: DatabaseSync, path: string): number {
  const version = Number(pragma(db, "user_version"));
  const empty = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (empty && version === 0) return 0;
  if (pragma(db, "application_id") !== applicationId) {
    throw new PawlError("STORE_UNAVAILABLE", `${path} is a database of another program; choose another folder`);
  }
  if (version > format) {
    throw new PawlError(
      "STORE_UNAVAILABLE",
      `${path} has format ${version}, this build reads up to ${format}: a newer Pawl wrote it; update Pawl`,
    );
  }
  return version;
}

/**
 * SQLite does not wait for others when it changes the journal mode: it says busy at once. Waiting for the write lock,
 * which it does wait for, and trying again ends as soon as the other process is through.
 */
function useWal(db: DatabaseSync): void {
  for (let tries = 1; ; tries += 1) {
    try {
      db.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (tries === walTries) throw error;
      db.exec("BEGIN IMMEDIATE; ROLLBACK");
    }
  }
}
