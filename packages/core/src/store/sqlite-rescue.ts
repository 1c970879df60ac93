/**
 * What SQLite can still read of a damaged file, row by row, into a fresh one.
 *
 * Owns: reading past broken pages. Does not own: what rows mean (a record that came over torn fails its checksum and is
 * a hole, as anywhere). Invariants:
 * 1. The damaged file is never written. It is moved aside once the fresh one is complete, and stays.
 * 2. Nothing is made up: what cannot be read is counted and named.
 * 3. A live driver of the file is a refusal: it would go on writing into what was moved aside.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { PawlError } from "../error.ts";
import { holderOf } from "./json-column.ts";
import { isDamage } from "./sqlite-checkup.ts";
import { formatOf } from "./sqlite-migration.ts";
import { openDatabase } from "./sqlite-open.ts";
import type { Holder } from "./store.ts";

type Row = Record<string, SQLOutputValue>;

/** Keys beyond the last that was found: so many misses in a row are the end. */
const probesPastEnd = 1_000;

export interface Rescued {
  /** Where the damaged file lies now. */
  aside: string;
  /** Rows per table. */
  rows: { [table: string]: number };
  /** Sessions whose own row is lost, by id, as far as an index still names them. */
  lostSessions: string[];
  /** Records that the sessions' rows promise and that are not there. */
  lostRecords: number;
}

/** Fails with CORRUPT where not even the schema can be read, SESSION_BUSY where somebody drives a session in it. */
export function rescueDatabase(path: string, isAlive: (holder: Holder) => boolean | undefined): Rescued {
  const draft = `${path}.${process.pid}.rescue`;
  removeFile(draft);
  const from = openDamaged(path);
  try {
    refuseLiveDriver(from, isAlive);
    const { db: to } = openDatabase({ path: draft });
    const found = copyAll(from, to);
    to.close();
    from.close();
    const aside = freeName(`${path}.damaged`);
    renameSync(path, aside);
    for (const tail of ["-wal", "-shm"]) if (existsSync(path + tail)) renameSync(path + tail, aside + tail);
    renameSync(draft, path);
    return { aside, ...found };
  } finally {
    if (from.isOpen) from.close();
    removeFile(draft);
  }
}

function openDamaged(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    // Without the schema there is no table to ask for.
    db.prepare("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'record'").get();
    db.prepare("SELECT key FROM session WHERE key = 0").get();
    return db;
  } catch (cause) {
    db.close();
    throw new PawlError("CORRUPT", `nothing of ${path} can be read (${(cause as Error).message}); restore a backup`, {
      cause,
    });
  }
}

function refuseLiveDriver(db: DatabaseSync, isAlive: (holder: Holder) => boolean | undefined): void {
  for (const row of rowsOf(db, "lease", "session")) {
    const holder = holderOf(String(row["holder"]));
    if (isAlive(holder) !== true) continue;
    throw new PawlError("SESSION_BUSY", `process ${holder.pid} drives a session of this store; end it, then repair`);
  }
}

function copyAll(from: DatabaseSync, to: DatabaseSync): Omit<Rescued, "aside"> {
  const rows: Rescued["rows"] = {};
  let lostRecords = 0;
  to.exec("BEGIN IMMEDIATE");
  const sessions = rowsOf(from, "session", "key");
  const lostSessions = namesInIndex(from).filter((id) => !sessions.some((row) => row["id"] === id));
  rows["kind"] = insert(to, "kind", rowsOf(from, "kind", "key"));
  const fresh = new Map(rowsOf(from, "fresh", "place").map((row) => [String(row["at"]), row]));
  rows["record"] = 0;
  for (const session of sessions) {
    const [first, last] = [Number(session["cut"]) + 1, Number(session["seq"])];
    const found = recordsOf(from, Number(session["key"]), first, last, fresh);
    rows["record"] += insert(to, "record", found);
    if (session["deleted"] === 0) lostRecords += Math.max(0, last - first + 1 - found.length);
  }
  rows["session"] = insert(to, "session", sessions);
  // Leases and snapshots are rebuilt; a partial journal is a courtesy that a damaged file no longer owes.
  const kept = { post: "session", mail: "place", name: "name", ...(formatOf(from) > 1 && { origin: "session" }) };
  for (const [table, key] of Object.entries(kept)) {
    rows[table] = insert(to, table, rowsOf(from, table, key));
  }
  to.exec("COMMIT");
  return { rows, lostSessions, lostRecords };
}

/** In one go as far as it goes, then one by one: a broken page takes its own rows along, not those behind it. */
function recordsOf(db: DatabaseSync, key: number, first: number, last: number, fresh: Map<string, Row>): Row[] {
  const found: Row[] = [];
  const one = db.prepare("SELECT * FROM record WHERE at = ?");
  one.setReadBigInts(true);
  const base = BigInt(key) << 32n;
  let seq = first;
  tolerant(() => {
    const range = db.prepare("SELECT *, at & 4294967295 AS seq FROM record WHERE at BETWEEN ? AND ? ORDER BY at");
    range.setReadBigInts(true);
    for (const { seq: at, ...row } of range.iterate(base | BigInt(first), base | BigInt(last))) {
      found.push(row);
      seq = Number(at) + 1;
    }
    seq = last + 1;
  });
  for (; seq <= last; seq += 1) {
    const row = tolerant(() => one.get(base | BigInt(seq)));
    if (row) found.push(row);
  }
  for (let at = first; fresh.size > 0 && at <= last; at += 1) {
    const row = fresh.get(String(base | BigInt(at)));
    if (!row) continue;
    const { place: _, ...record } = row;
    found.push(record);
  }
  return found;
}

/** Rows of a small table; where its scan breaks, by key from there on, if its key is a number. */
function rowsOf(db: DatabaseSync, table: string, key: string): Row[] {
  const rows: Row[] = [];
  const whole = tolerant(() => {
    for (const row of db.prepare(`SELECT * FROM ${table} ORDER BY ${key}`).iterate()) rows.push(row);
    return true;
  });
  if (whole || (rows.length > 0 && typeof rows[0]?.[key] !== "number")) return rows;
  const one = tolerant(() => db.prepare(`SELECT * FROM ${table} WHERE ${key} = ?`));
  if (!one) return rows;
  for (let at = Number(rows.at(-1)?.[key] ?? 0) + 1, misses = 0; misses < probesPastEnd; at += 1) {
    const row = tolerant(() => one.get(at));
    misses = row ? 0 : misses + 1;
    if (row) rows.push(row);
  }
  return rows;
}

function namesInIndex(db: DatabaseSync): string[] {
  return rowsFrom(db, "SELECT id FROM session INDEXED BY session_recent WHERE deleted = 0").map((row) =>
    String(row["id"]),
  );
}

function rowsFrom(db: DatabaseSync, sql: string): Row[] {
  const rows: Row[] = [];
  tolerant(() => {
    for (const row of db.prepare(sql).iterate()) rows.push(row);
  });
  return rows;
}

function insert(db: DatabaseSync, table: string, rows: Row[]): number {
  let count = 0;
  for (const row of rows) {
    const columns = Object.keys(row);
    const sql = `INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
    // A torn row may break a rule of its table: then it is no row.
    count += Number(tolerant(() => db.prepare(sql).run(...Object.values(row)), isBroken)?.changes ?? 0);
  }
  return count;
}

/** SQLite's CONSTRAINT, MISMATCH. */
function isBroken(error: unknown): boolean {
  const code = ((error as { errcode?: number } | undefined)?.errcode ?? 0) & 0xff;
  return code === 19 || code === 20;
}

function tolerant<T>(work: () => T, passes: (error: unknown) => boolean = isDamage): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!passes(error)) throw error;
    return undefined;
  }
}

function freeName(path: string): string {
  for (let n = 1; ; n += 1) if (!existsSync(`${path}-${n}`)) return `${path}-${n}`;
}

function removeFile(path: string): void {
  for (const tail of ["", "-wal", "-shm"]) rmSync(path + tail, { force: true });
}
