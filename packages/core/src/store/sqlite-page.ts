/**
 * A page of records out of the tables.
 *
 * Owns: how much one answer carries, and that it is one moment's. Does not own: which stretches make up a log (sqlite-read).
 * Invariants:
 * 1. A page carries at most {@link pageBytes}, plus one record, and says where to go on.
 * 2. A damaged row is handed on as it is: its checksum tells the reader.
 * 3. Rows come as numbers, their bytes all in one: a blob a row costs more than reading it from the file.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert } from "../error.ts";
import { maxSeq } from "./admission.ts";
import { checksumBytes, type PackedRecords, type Page, type RecordKind } from "./sqlite-wire.ts";

/** What one answer carries at most, plus one record: other sessions' commits wait while it is read and copied. */
const pageBytes = 4 * 1024 * 1024;
/** Rows whose sizes are looked at before their bytes are fetched. */
const rowsTogether = 1_000;

/** A stretch of a lineage: records `first` to `last` were written to this session. */
export interface Segment {
  key: number;
  session: string;
  first: number;
  last: number;
}

type Row = [seq: number, kind: number, epoch: number, time: number, payloadBytes: number];

/** Rows of a stretch, and their bytes all in one. */
interface Source {
  rows: StatementSync;
  bytes: StatementSync;
}

export class Pages {
  readonly #begin: StatementSync;
  readonly #end: StatementSync;
  readonly #anyFresh: StatementSync;
  readonly #settled: Source;
  readonly #both: Source;
  readonly #kind: StatementSync;
  readonly #kinds = new Map<number, RecordKind>();

  constructor(db: DatabaseSync) {
    this.#begin = db.prepare("BEGIN");
    this.#end = db.prepare("COMMIT");
    this.#kind = db.prepare("SELECT type, version, ignorable FROM kind WHERE key = ?");
    this.#anyFresh = db.prepare(`SELECT 1 FROM fresh WHERE ${range} LIMIT 1`);
    this.#settled = sourceOf(db, (columns) => `SELECT ${columns} FROM record WHERE ${range}`);
    this.#both = sourceOf(
      db,
      (columns) => `SELECT ${columns} FROM record WHERE ${range} UNION ALL SELECT ${columns} FROM fresh WHERE ${range}`,
    );
  }

  /** Sizes and bytes are read at one moment: a payload that another process erases has another size. */
  page(lineage: readonly Segment[], first: number, last: number, limit: number): Page {
    this.#begin.run();
    try {
      return this.#page(lineage, first, last, limit);
    } finally {
      this.#end.run();
    }
  }

  #page(lineage: readonly Segment[], first: number, last: number, limit: number): Page {
    const origins = lineage.map((segment) => segment.session);
    const page = new PageWriter(origins, (key) => this.#kindOf(key));
    for (const [origin, segment] of [...lineage.entries()].reverse()) {
      const to = Math.min(last, segment.last);
      let from = Math.max(first, segment.first);
      // Merging two tables costs twice what reading one does, and few sessions have anything in the second.
      const source = this.#anyFresh.get(segment.key, from, to) ? this.#both : this.#settled;
      while (from <= to && page.count < limit) {
        const asked = Math.min(rowsTogether, limit - page.count);
        const rows = source.rows.all(segment.key, from, to, asked) as unknown as Row[];
        const taken = page.add(origin, rows);
        const seq = rows[taken - 1]?.[0];
        if (seq === undefined) break;
        page.addBytes(source.bytes.get(segment.key, from, seq, taken) as unknown as [Uint8Array]);
        const left = last === maxSeq ? limit - page.count : last - seq;
        if (page.full) return { records: page.finish(), ...(left > 0 && { rest: { after: seq, limit: left } }) };
        if (rows.length < asked) break;
        from = seq + 1;
      }
    }
    return { records: page.finish() };
  }

  #kindOf(key: number): RecordKind {
    const known = this.#kinds.get(key);
    if (known) return known;
    const row = this.#kind.get(key);
    // No such row: the file is damaged, the empty type fails the record's checksum.
    if (!row) return { type: "", version: 0, ignorable: false };
    const kind = { type: String(row["type"]), version: Number(row["version"]), ignorable: row["ignorable"] === 1 };
    this.#kinds.set(key, kind);
    return kind;
  }
}

const range = "at BETWEEN ((?1 << 32) | ?2) AND ((?1 << 32) | ?3)";
/** A checksum of another length is damage; shown as zeros it fails, as it must. */
const sum = `iif(length(checksum) = ${checksumBytes}, checksum, zeroblob(${checksumBytes}))`;

function sourceOf(db: DatabaseSync, select: (columns: string) => string): Source {
  const prepare = (result: string, columns: string): StatementSync => {
    // `+ 0`: with a bare parameter as its limit SQLite prepares the statement anew each time.
    const statement = db.prepare(`SELECT ${result} FROM (${select(columns)} ORDER BY at LIMIT ?4 + 0)`);
    statement.setReturnArrays(true);
    return statement;
  };
  return {
    rows: prepare(
      "at & 4294967295, kind, epoch, time, size",
      "at, kind, epoch, time, length(CAST(payload AS BLOB)) AS size",
    ),
    // As TEXT bytes stay what they are; nobody here reads them as such.
    bytes: prepare(
      `CAST(group_concat(CAST(${sum} AS TEXT) || CAST(payload AS TEXT), '') AS BLOB)`,
      "at, checksum, payload",
    ),
  };
}

class PageWriter {
  readonly #packed: PackedRecords;
  readonly #kindOf: (key: number) => RecordKind;
  readonly #kinds = new Map<number, number>();
  readonly #pieces: Uint8Array[] = [];
  #size = 0;
  count = 0;

  constructor(origins: string[], kindOf: (key: number) => RecordKind) {
    this.#packed = { origins, kinds: [], numbers: [], bytes: new Uint8Array() };
    this.#kindOf = kindOf;
  }

  get full(): boolean {
    return this.#size >= pageBytes;
  }

  /** Returns how many of the rows found room. */
  add(origin: number, rows: readonly Row[]): number {
    let taken = 0;
    for (const [seq, kind, epoch, time, bytes] of rows) {
      if (this.full) break;
      this.#packed.numbers.push(origin, this.#kind(Math.abs(kind)), seq, epoch, time, bytes, kind < 0 ? 1 : 0);
      this.#size += checksumBytes + bytes;
      taken += 1;
    }
    this.count += taken;
    return taken;
  }

  addBytes([bytes]: [Uint8Array]): void {
    this.#pieces.push(bytes);
  }

  #kind(key: number): number {
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const index = this.#packed.kinds.push(this.#kindOf(key)) - 1;
    this.#kinds.set(key, index);
    return index;
  }

  finish(): PackedRecords {
    const [only, ...more] = this.#pieces;
    const bytes = only && more.length === 0 ? only : joined(this.#pieces, this.#size);
    assert(bytes.byteLength === this.#size, `a page of ${this.#size} bytes has ${bytes.byteLength}`);
    return { ...this.#packed, bytes };
  }
}

/** In memory of its own, which can be handed over. */
function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes;
}
