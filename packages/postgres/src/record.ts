/**
 * Records between the store and its statements: a few are parameters, each field one; of many the numbers travel as one JSON
 * text, their bytes as one value.
 *
 * Owns: how a record becomes a row and back. Payload bytes are kept as they are; what is left of an erased one lies in
 * their place, hash and seal beside it.
 */
import type { ErasedPayload, LogRecord } from "@pawl/core/store";
import type { Row, Value } from "./database.ts";

/** Above that a statement of its own for each number would not pay. */
const mostFew = 8;
const fewColumns = {
  ...{ time: "bigint", version: "bigint", ignorable: "boolean" },
  ...{ type: "text", checksum: "bytea", payload: "bytea" },
};

/** A statement's worth: as hex on the wire it is twice that, and both ends hold it. */
const sliceBytes = 32 * 1024 * 1024;
const hashHex = 64;

export interface Packed {
  /** Rows of {@link recordColumns}, as JSON. */
  rows: string;
  bytes: Uint8Array;
}

/** Records of one append, of its session and epoch, whose payloads nobody has erased, and at least one. */
export function areFew(records: readonly LogRecord[]): boolean {
  if (records.length === 0 || records.length > mostFew) return false;
  let size = 0;
  for (const { payload } of records) {
    if (!(payload instanceof Uint8Array)) return false;
    size += payload.byteLength;
  }
  return size < sliceBytes;
}

/** Writes `count` records of `epoch` behind seq `behind`, with {@link fewValues} from parameter `from` on. */
export function insertFew(
  source: string,
  { count, epoch, behind, from }: { count: number; epoch: string; behind: string; from: number },
): string {
  const types = Object.values(fewColumns);
  const rows = Array.from({ length: count }, (_, at) => {
    const values = types.map((type, column) => `$${from + at * types.length + column}::${type}`);
    return `(${behind} + ${at + 1}, ${values.join(", ")})`;
  });
  return `INSERT INTO pawl.record (session, epoch, seq, ${Object.keys(fewColumns).join(", ")})
    SELECT s.key, ${epoch}, r.* FROM ${source} s, (VALUES ${rows.join(", ")}) AS r`;
}

/** In the order of `fewColumns`. */
export function fewValues(records: readonly LogRecord[]): Value[] {
  const values: Value[] = [];
  for (const { time, version, ignorable, type, checksum, payload } of records)
    values.push(time, version, ignorable, type, Buffer.from(checksum, "hex"), payload as Uint8Array);
  return values;
}

/** `FROM` of packed records: `$rows` is the text, `$bytes` the bytes. `s.key` is the session they are written to. */
export function insertRecords(from: string, rows: string, bytes: string): string {
  return `INSERT INTO pawl.record (session, seq, epoch, time, version, ignorable, type, origin, checksum, erased, payload)
    SELECT s.key, r.seq, r.epoch, r.time, r.version, r.ignorable, r.type, r.origin, decode(r.checksum, 'hex'),
      decode(r.erased, 'hex'), substring(${bytes}::bytea FROM r.place FOR r.length)
    FROM ${from} s, json_to_recordset(${rows}::text::json) AS r (seq bigint, epoch bigint, time bigint, version bigint,
      ignorable boolean, type text, origin text, checksum text, erased text, place int, length int)`;
}

/** One for each statement; none of no records. */
export function packRecords(session: string, records: readonly LogRecord[]): Packed[] {
  const packed: Packed[] = [];
  for (let from = 0; from < records.length; ) {
    let size = 0;
    let to = from;
    for (; to < records.length && size < sliceBytes; to += 1) size += contentOf(records[to] as LogRecord).byteLength;
    packed.push(pack(session, records.slice(from, to), size));
    from = to;
  }
  return packed;
}

export const noRecords: Packed = { rows: "[]", bytes: new Uint8Array() };

function pack(session: string, records: readonly LogRecord[], size: number): Packed {
  const bytes = new Uint8Array(size);
  let at = 0;
  const rows = records.map((record) => {
    const { seq, epoch, time, version, ignorable, type, checksum, payload } = record;
    const content = contentOf(record);
    bytes.set(content, at);
    const place = at + 1;
    at += content.byteLength;
    return {
      ...{ seq, epoch, time, version, ignorable, type, checksum },
      origin: record.session === session ? null : record.session,
      erased: payload instanceof Uint8Array ? null : marksOf(payload),
      ...{ place, length: content.byteLength },
    };
  });
  return { rows: JSON.stringify(rows), bytes };
}

function contentOf({ payload }: LogRecord): Uint8Array {
  return payload instanceof Uint8Array ? payload : payload.left;
}

/** Hash and seal of an erased payload, as hex. */
export function marksOf({ erased, seal }: ErasedPayload): string {
  return erased + seal;
}

/** For rows of {@link recordColumns}. */
export function recordOf(row: Row): LogRecord {
  const content = plainBytes(row["payload"]);
  const marks = row["erased"] === null ? undefined : Buffer.from(row["erased"] as Uint8Array).toString("hex");
  return {
    session: String(row["session"]),
    seq: Number(row["seq"]),
    epoch: Number(row["epoch"]),
    type: String(row["type"]),
    version: Number(row["version"]),
    ignorable: row["ignorable"] === true,
    time: Number(row["time"]),
    payload: marks ? { erased: marks.slice(0, hashHex), left: content, seal: marks.slice(hashHex) } : content,
    checksum: Buffer.from(row["checksum"] as Uint8Array).toString("hex"),
  };
}

/** Clients give Buffers; the contract says bytes, and a caller that compares may mind. */
export function plainBytes(value: unknown): Uint8Array {
  const { buffer, byteOffset, byteLength } = value as Uint8Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}
