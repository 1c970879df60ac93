/**
 * The operations that read: never inside a write transaction, so they see what is committed and nothing else.
 *
 * Owns: lineage, pages, lists in SQL. Invariants:
 * 1. A page carries at most {@link pageBytes} and says where to go on.
 * 2. A damaged row is handed on as it is: its checksum tells the reader.
 */
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { maxSeq } from "./admission.ts";
import { noSession } from "./refusal.ts";
import {
  type Candidate,
  checksumBytes,
  type Operations,
  type PackedRecords,
  type Page,
  type RecordKind,
} from "./sqlite-wire.ts";
import type { LeaseInfo, MailboxEntry, Partial, SessionSummary, Snapshot } from "./store.ts";

type In<K extends keyof Operations> = Operations[K]["in"];
type Row = Record<string, SQLOutputValue>;

/** What one answer carries at most, plus one record: other sessions' commits wait while it is read and copied. */
const pageBytes = 4 * 1024 * 1024;

/** A stretch of a lineage: records `first` to `last` were written to this session. */
interface Segment {
  key: number;
  session: string;
  first: number;
  last: number;
}

export class Reader {
  readonly #sql: ReturnType<typeof prepareReads>;
  readonly #kinds = new Map<number, RecordKind>();

  constructor(db: DatabaseSync) {
    this.#sql = prepareReads(db);
  }

  read({ session, after, limit }: In<"read">): Page {
    return this.#page(this.#lineage(session), after + 1, maxSeq, limit);
  }

  readTail({ session, before, limit }: In<"readTail">): Page {
    const lineage = this.#lineage(session);
    const last = Math.min(lineage[0]?.last ?? 0, before - 1);
    return this.#page(lineage, Math.max(1, last + 1 - limit), last, limit);
  }

  /** The session's own segment first, then its ancestors', each up to the lowest cut below it. */
  #lineage(session: string): Segment[] {
    const segments: Segment[] = [];
    let row = this.#sql.segmentById.get(session);
    if (!row) throw noSession(session);
    for (let to = Number(row["seq"]); row; ) {
      const cut = Number(row["cut"]);
      const key = Number(row["key"]);
      let session = String(row["id"]);
      // Of a restored session, what was written to another one before it was taken in.
      for (const origin of this.#sql.origins.iterate(key, cut)) {
        const last = Number(origin["last"]);
        if (last < to) segments.push({ key, session, first: last + 1, last: to });
        to = Math.min(to, last);
        session = String(origin["id"]);
      }
      segments.push({ key, session, first: cut + 1, last: to });
      to = Math.min(to, cut);
      row = row["parent"] === null ? undefined : this.#sql.segmentByKey.get(row["parent"] ?? null);
    }
    return segments;
  }

  #page(lineage: Segment[], first: number, last: number, limit: number): Page {
    const origins = lineage.map((segment) => segment.session);
    const page = new PageWriter(origins, (key) => this.#kind(key));
    for (const [origin, segment] of [...lineage.entries()].reverse()) {
      const from = Math.max(first, segment.first);
      const to = Math.min(last, segment.last);
      if (from > to || page.count >= limit) continue;
      for (const row of this.#sql.records.iterate(segment.key, from, to, limit - page.count)) {
        const seq = page.add(origin, row as unknown as SQLOutputValue[]);
        if (page.size < pageBytes) continue;
        const left = last === maxSeq ? limit - page.count : last - seq;
        return { records: page.finish(), ...(left > 0 && { rest: { after: seq, limit: left } }) };
      }
    }
    return { records: page.finish() };
  }

  #kind(key: number): RecordKind {
    const known = this.#kinds.get(key);
    if (known) return known;
    const row = this.#sql.kind.get(key);
    // No such row: the file is damaged, the empty type fails the record's checksum.
    if (!row) return { type: "", version: 0, ignorable: false };
    const kind = { type: String(row["type"]), version: Number(row["version"]), ignorable: row["ignorable"] === 1 };
    this.#kinds.set(key, kind);
    return kind;
  }

  get({ session }: In<"get">): SessionSummary | undefined {
    const row = this.#sql.summary.get(session);
    return row && summary(row);
  }

  list({ limit, cursor }: In<"list">): SessionSummary[] {
    const rows = cursor ? this.#sql.listAfter.all(cursor.updatedAt, cursor.session, limit) : this.#sql.list.all(limit);
    return rows.map(summary);
  }

  resolveName({ name }: In<"resolveName">): string | undefined {
    const id = this.#sql.named.get(name)?.["id"];
    return id === undefined ? undefined : String(id);
  }

  mailbox({ session }: In<"mailbox">): MailboxEntry[] {
    return this.#sql.mailbox.all(this.#key(session)).map((row) => ({
      id: String(row["id"]),
      kind: String(row["kind"]) as MailboxEntry["kind"],
      body: JSON.parse(String(row["body"])),
      order: Number(row["place"]),
      postedAt: Number(row["posted_at"]),
    }));
  }

  readPartial({ session }: In<"readPartial">): Partial | undefined {
    const rows = this.#sql.partial.all(this.#key(session));
    const [first] = rows;
    if (!first) return undefined;
    const chunks = rows.map((row) => String(row["chunk"]));
    return { attempt: String(first["attempt"]), epoch: Number(first["epoch"]), chunks };
  }

  loadSnapshot({ session, reducer }: In<"loadSnapshot">): Snapshot | undefined {
    const row = this.#sql.snapshot.get(this.#key(session), reducer);
    if (!row) return undefined;
    return {
      reducer,
      version: Number(row["version"]),
      seq: Number(row["seq"]),
      checksum: String(row["checksum"]),
      bytes: row["bytes"] as Uint8Array,
    };
  }

  work({ afterKey, limit }: In<"work">): Candidate[] {
    return this.#sql.work.all(afterKey, afterKey, limit).map((row) => {
      const lease = leaseOf(row);
      return { key: Number(row["key"]), session: String(row["id"]), ...(lease && { lease }) };
    });
  }

  /** One word per session that differs once something arrived; none if no other process has committed since. */
  marks({ version, sessions }: In<"marks">): Operations["marks"]["out"] {
    const now = Number(this.#sql.dataVersion.get()?.["data_version"]);
    if (now === version) return { version, marks: [] };
    return {
      version: now,
      marks: sessions.map((session) => {
        const row = this.#sql.mark.get(session);
        return row ? `${row["seq"]} ${row["place"]}` : "gone";
      }),
    };
  }

  #key(session: string): number {
    const row = this.#sql.segmentById.get(session);
    if (!row) throw noSession(session);
    return Number(row["key"]);
  }
}

/** Collects rows into {@link PackedRecords}. */
class PageWriter {
  readonly #packed: PackedRecords;
  readonly #kindOf: (key: number) => RecordKind;
  readonly #kinds = new Map<number, number>();
  readonly #pieces: Uint8Array[] = [];
  size = 0;
  count = 0;

  constructor(origins: string[], kindOf: (key: number) => RecordKind) {
    this.#packed = { origins, kinds: [], numbers: [], bytes: new Uint8Array() };
    this.#kindOf = kindOf;
  }

  /** Returns the record's seq. */
  add(origin: number, [seq, kind, epoch, time, checksum, payload]: SQLOutputValue[]): number {
    const content = payload as Uint8Array;
    const sum = checksum as Uint8Array;
    this.#packed.numbers.push(
      origin,
      this.#kind(Math.abs(Number(kind))),
      Number(seq),
      Number(epoch),
      Number(time),
      content.byteLength,
      Number(kind) < 0 ? 1 : 0,
    );
    // A checksum of another length is damage; shown as zeros it fails, as it must.
    this.#pieces.push(sum.byteLength === checksumBytes ? sum : new Uint8Array(checksumBytes), content);
    this.size += checksumBytes + content.byteLength;
    this.count += 1;
    return Number(seq);
  }

  #kind(key: number): number {
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const index = this.#packed.kinds.push(this.#kindOf(key)) - 1;
    this.#kinds.set(key, index);
    return index;
  }

  finish(): PackedRecords {
    const bytes = new Uint8Array(this.size);
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.byteLength;
    }
    return { ...this.#packed, bytes };
  }
}

function summary(row: Row): SessionSummary {
  const lease = leaseOf(row);
  return {
    session: String(row["id"]),
    seq: Number(row["seq"]),
    epoch: Number(row["epoch"]),
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
    head: JSON.parse(String(row["head"])),
    ...(typeof row["parent"] === "string" && { parent: { session: row["parent"], seq: Number(row["cut"]) } }),
    ...(lease && { lease }),
  };
}

function leaseOf(row: Row): LeaseInfo | undefined {
  if (typeof row["holder"] !== "string") return undefined;
  return { epoch: Number(row["lease_epoch"]), holder: JSON.parse(row["holder"]), expiresAt: Number(row["expires_at"]) };
}

const summaryColumns = `s.id, s.seq, s.epoch, s.created_at, s.updated_at, s.head, p.id AS parent, s.cut,
  l.epoch AS lease_epoch, l.holder, l.expires_at
  FROM session s LEFT JOIN session p ON p.key = s.parent LEFT JOIN lease l ON l.session = s.key`;

function prepareReads(db: DatabaseSync) {
  const sql = (text: string): StatementSync => db.prepare(text);
  const columns = "at, kind, epoch, time, checksum, payload";
  const range = "at BETWEEN ((?1 << 32) | ?2) AND ((?1 << 32) | ?3)";
  const records = sql(
    `SELECT at & 4294967295, kind, epoch, time, checksum, payload FROM
     (SELECT ${columns} FROM record WHERE ${range} UNION ALL SELECT ${columns} FROM fresh WHERE ${range} ORDER BY at LIMIT ?4)`,
  );
  records.setReturnArrays(true);
  return {
    records,
    segmentById: sql("SELECT key, id, seq, cut, parent FROM session WHERE id = ? AND deleted = 0"),
    segmentByKey: sql("SELECT key, id, seq, cut, parent FROM session WHERE key = ?"),
    origins: sql("SELECT last, id FROM origin WHERE session = ? AND last > ? ORDER BY last DESC"),
    kind: sql("SELECT type, version, ignorable FROM kind WHERE key = ?"),
    summary: sql(`SELECT ${summaryColumns} WHERE s.id = ? AND s.deleted = 0`),
    list: sql(`SELECT ${summaryColumns} WHERE s.deleted = 0 ORDER BY s.updated_at DESC, s.id DESC LIMIT ?`),
    listAfter: sql(
      `SELECT ${summaryColumns} WHERE s.deleted = 0 AND (s.updated_at, s.id) < (?, ?)
       ORDER BY s.updated_at DESC, s.id DESC LIMIT ?`,
    ),
    named: sql("SELECT s.id FROM name n JOIN session s ON s.key = n.session WHERE n.name = ?"),
    mailbox: sql("SELECT place, id, kind, body, posted_at FROM mail WHERE session = ? ORDER BY place"),
    partial: sql("SELECT epoch, attempt, chunk FROM partial WHERE session = ? ORDER BY n"),
    snapshot: sql("SELECT version, seq, checksum, bytes FROM snapshot WHERE session = ? AND reducer = ?"),
    work: sql(
      `SELECT s.key, s.id, l.epoch AS lease_epoch, l.holder, l.expires_at FROM
       (SELECT key FROM session WHERE open_turn = 1 AND deleted = 0 AND key > ? UNION SELECT session FROM mail WHERE session > ?) w
       JOIN session s ON s.key = w.key LEFT JOIN lease l ON l.session = s.key ORDER BY s.key LIMIT ?`,
    ),
    mark: sql(
      `SELECT s.seq, (SELECT MAX(place) FROM mail m WHERE m.session = s.key) AS place
       FROM session s WHERE s.id = ? AND s.deleted = 0`,
    ),
    dataVersion: sql("PRAGMA data_version"),
  };
}
