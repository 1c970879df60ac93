/**
 * Looking over the database file of a store, and clearing up what dead processes left in it.
 *
 * Owns: findings about the file and its tables. Does not own: what sessions hold (survey), a damaged file (sqlite-rescue).
 * Invariants:
 * 1. Without `repair` nothing is written: the file is opened for reading.
 * 2. What is cleared is nobody's: of a dead holder, of no open turn, of an import that has not moved for an hour.
 */
import { existsSync, statSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { type Finding, good, note, wrong } from "./finding.ts";
import { holderOf } from "./json-column.ts";
import { storeFault } from "./sqlite-fault.ts";
import { format, formatOf } from "./sqlite-migration.ts";
import { openDatabase } from "./sqlite-open.ts";
import type { Holder } from "./store.ts";

/** An import moves on every few milliseconds; one that has not for so long has no process. */
const draftRestMs = 3_600_000;
/** A log of this size means that some reader never ends: SQLite cannot fold it in. */
const largeLogBytes = 64 * 1024 * 1024;

export interface Checkup {
  now: number;
  isAlive(holder: Holder): boolean | undefined;
  repair: boolean;
}

export interface CheckedDatabase {
  findings: Finding[];
  /** SQLite itself finds the file broken; nothing else was looked at. */
  damaged: boolean;
  /** The format is an older one: opening the store would change the file. */
  old: boolean;
}

export function checkDatabase(path: string, checkup: Checkup): CheckedDatabase {
  let db: DatabaseSync | undefined;
  try {
    db = checkup.repair ? openDatabase({ path }).db : openAsIs(path);
    const problems = integrity(db);
    if (problems.length > 0) return broken(path, problems.slice(0, 3).join("; "));
    const old = formatOf(db) < format;
    const tables = old ? [] : [leases(db, checkup), partials(db, checkup), drafts(db, checkup), hidden(db)];
    return {
      damaged: false,
      old,
      findings: [good(`${path}: SQLite finds no damage`), ...facts(db, path), ...tables.flat()],
    };
  } catch (error) {
    if (!isDamage(error)) throw storeFault(error, path);
    return broken(path, (error as Error).message);
  } finally {
    db?.close();
  }
}

function broken(path: string, why: string): CheckedDatabase {
  return { damaged: true, old: false, findings: [wrong(`${path} is damaged: ${why}`)] };
}

function openAsIs(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get();
    return db;
  } catch {
    db.close();
    // A folder that cannot be written, or a file that is broken: this says which.
    return openDatabase({ path }).db;
  }
}

/** Primary codes CORRUPT and NOTADB. */
export function isDamage(error: unknown): boolean {
  const code = ((error as { errcode?: number } | undefined)?.errcode ?? 0) & 0xff;
  return code === 11 || code === 26;
}

function integrity(db: DatabaseSync): string[] {
  const rows = db.prepare("PRAGMA integrity_check(20)").all();
  const lines = rows.map((row) => String(row["integrity_check"]).replaceAll("\n", " "));
  return lines.length === 1 && lines[0] === "ok" ? [] : lines;
}

function facts(db: DatabaseSync, path: string): Finding[] {
  const value = (name: string) => db.prepare(`PRAGMA ${name}`).get()?.[name];
  const version = formatOf(db);
  const bytes = Number(value("page_count")) * Number(value("page_size"));
  const free = Number(value("freelist_count")) * Number(value("page_size"));
  const size = `${sizeWords(bytes)}, ${sizeWords(free)} of it free for new records`;
  const log = `${path}-wal`;
  const logBytes = existsSync(log) ? statSync(log).size : 0;
  const old = { ...note(`format ${version}, older than this build's`), remedy: `bring it to format ${format}` };
  return [
    ...(version < format ? [old] : []),
    good(`format ${version}, journal ${value("journal_mode")}, ${size}`),
    ...(logBytes > largeLogBytes
      ? [note(`the write-ahead log has ${sizeWords(logBytes)}: a process that reads does not end; end it`)]
      : []),
  ];
}

export function sizeWords(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

function leases(db: DatabaseSync, { isAlive, repair }: Checkup): Finding[] {
  const rows = db
    .prepare("SELECT l.session, l.epoch, l.holder, s.id FROM lease l JOIN session s ON s.key = l.session")
    .all();
  return rows.flatMap((row): Finding[] => {
    const holder = holderOf(String(row["holder"]));
    if (isAlive(holder) !== false) return [];
    const what = `session ${row["id"]}: its lease is held by process ${holder.pid}, which is dead`;
    const clear = () => change(db, "DELETE FROM lease WHERE session = ? AND epoch = ?", row["session"], row["epoch"]);
    return [remedied(note(what), "give the lease back", repair, clear)];
  });
}

function partials(db: DatabaseSync, { repair }: Checkup): Finding[] {
  const rows = db
    .prepare(
      `SELECT p.session, COUNT(*) AS chunks, s.id FROM partial p LEFT JOIN session s ON s.key = p.session
       WHERE s.key IS NULL OR s.deleted <> 0 OR s.open_turn = 0 GROUP BY p.session`,
    )
    .all();
  return rows.map((row) => {
    const what = `a partial journal (${row["chunks"]} chunks) of session ${row["id"] ?? row["session"]}, which has no open turn`;
    const clear = () => change(db, "DELETE FROM partial WHERE session = ?", row["session"]);
    return remedied(note(what), "remove it", repair, clear);
  });
}

function drafts(db: DatabaseSync, { now, repair }: Checkup): Finding[] {
  const rows = db
    .prepare("SELECT key, id, seq FROM session WHERE deleted = 3 AND updated_at < ?")
    .all(now - draftRestMs);
  return rows.map((row) => {
    const what = `an import that was never finished (${String(row["id"]).replace(/^~\d+~/, "")}, ${row["seq"]} records)`;
    const clear = () => change(db, "UPDATE session SET deleted = 1 WHERE key = ? AND deleted = 3", row["key"]);
    return remedied(note(what), "remove it", repair, clear);
  });
}

/** What is marked here is erased by the store's own sweep, slice by slice. */
function hidden(db: DatabaseSync): Finding[] {
  const count = Number(db.prepare("SELECT COUNT(*) AS n FROM session WHERE deleted = 1").get()?.["n"]);
  return count === 0 ? [] : [{ ...note(`${count} deleted sessions are not erased yet`), remedy: "erase them" }];
}

function change(db: DatabaseSync, sql: string, ...values: (SQLInputValue | undefined)[]): void {
  db.prepare(sql).run(...values.map((value) => value ?? null));
}

function remedied(finding: Finding, remedy: string, repair: boolean, work: () => void): Finding {
  if (repair) work();
  return { ...finding, remedy, ...(repair && { done: true }) };
}
