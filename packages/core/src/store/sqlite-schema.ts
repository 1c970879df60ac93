/**
 * The database file: its tables in the first format, and whether a file is ours.
 *
 * Owns: DDL. Does not own: later formats (sqlite-migration), how it is opened (sqlite-open), what is written when.
 * Invariants:
 * 1. A file of a newer format, or of another program, is refused before anything in it changes.
 * 2. `record` is clustered by session and seq, so that the tail of a session is one range of one tree. It has a plain
 *    integer key, session above, seq in the low 32 bits: rows of a WITHOUT ROWID table spill to extra pages from 1 KB,
 *    which messages reach.
 * 3. `fresh` holds records in order of arrival until they are settled into `record`: when many sessions append at once,
 *    a commit then writes a few full pages instead of the last page of every session. A record is in one of the two;
 *    readers read both.
 */
import type { DatabaseSync } from "node:sqlite";
import { PawlError } from "../error.ts";
import { format, formatOf } from "./sqlite-migration.ts";

/** "Pawl" in ASCII, in `PRAGMA application_id`. */
const applicationId = 0x5061776c;

/**
 * `record.kind` names a row of `kind`; -kind marks an erased payload. `session.deleted`: 0 lives, 1 hidden, 2 erased as
 * far as no living child reads it, 3 a draft (sqlite-restore). `post` remembers ids for ever, `mail` holds those not consumed.
 */
export const firstFormat = `
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
PRAGMA user_version = 1;
`;

/** The format of a file of ours, 0 for an empty one. Any other file is refused, and named. */
export function checkFormat(db: DatabaseSync, path: string): number {
  const version = formatOf(db);
  const empty = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (empty && version === 0) return 0;
  if (db.prepare("PRAGMA application_id").get()?.["application_id"] !== applicationId) {
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
