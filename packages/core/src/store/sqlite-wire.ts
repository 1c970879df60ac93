/**
 * What the two threads of the SQLite store say to each other.
 *
 * Owns: the operations and their answers, and how records travel. Does not own: what an operation does (sqlite-write,
 * sqlite-read). Invariants:
 * 1. Payloads of one call travel in one buffer: cloning a thousand small ones costs more than writing them.
 * 2. Moments are taken on the main thread, by the store's clock, and travel in the call.
 */
import type { ErrorCode } from "../error.ts";
import type { ErasedPayload, LogRecord } from "../log/envelope.ts";
import type { SummaryRow } from "./sqlite-summary.ts";
import type { ForkPoint, Head, LeaseAnswer, LeaseInfo, MailboxEntry, Partial, Snapshot, Unchanged } from "./store.ts";

/** Records in one buffer. */
export interface PackedRecords {
  /** The sessions they were written to: of a fork, the ancestors too. */
  origins: string[];
  kinds: RecordKind[];
  /** {@link columns} numbers a record. */
  numbers: number[];
  /** Per record: 16 bytes of checksum, then the payload, or an erased one as {@link packErased} gives it. */
  bytes: Uint8Array;
}

/** The part of the envelope that hardly varies: stored once. */
export interface RecordKind {
  type: string;
  version: number;
  ignorable: boolean;
}

/** origin, kind, seq, epoch, time, payload bytes, erased. */
export const columns = 7;
export const checksumBytes = 16;

/** One operation each: what goes in, what comes back. */
export interface Operations {
  open: { in: OpenCall; out: Opened };
  create: {
    in: { session: string; records: PackedRecords; head: Head; parent?: ForkPoint; now: number };
    out: undefined;
  };
  append: { in: AppendCall; out: undefined };
  /** A restored session is written under a name that no session has, then gets its own. Returns its key. */
  restoreBegin: { in: { session: string; now: number }; out: number };
  restoreAdd: { in: { key: number; records: PackedRecords }; out: undefined };
  restoreEnd: { in: RestoreEnd; out: undefined };
  restoreDrop: { in: { key: number }; out: undefined };
  redact: { in: { session: string; epoch: number; seq: number; erased: string; payload: Uint8Array }; out: undefined };
  delete: { in: { session: string; unchanged?: Unchanged }; out: undefined };
  /** Erases one slice of what deleted sessions left; true while more is left. */
  erase: { in: undefined; out: boolean };
  setName: { in: { name: string; session: string | null; expected?: string | null }; out: boolean };
  post: { in: { session: string; id: string; kind: string; body: string; now: number }; out: "accepted" | "duplicate" };
  acquire: { in: AcquireCall; out: LeaseAnswer };
  renew: { in: { session: string; epoch: number; ttlMs: number; now: number }; out: boolean };
  release: { in: { session: string; epoch: number }; out: undefined };
  writePartial: { in: { session: string; epoch: number; attempt: string; chunk: string }; out: undefined };
  saveSnapshot: { in: { session: string; snapshot: Snapshot }; out: undefined };
  read: { in: { session: string; after: number; limit: number }; out: Page };
  readTail: { in: { session: string; before: number; limit: number }; out: Page };
  get: { in: { session: string }; out: SummaryRow | undefined };
  list: { in: { limit: number; cursor?: { updatedAt: number; session: string } }; out: SummaryRow[] };
  resolveName: { in: { name: string }; out: string | undefined };
  mailbox: { in: { session: string }; out: MailboxEntry[] };
  readPartial: { in: { session: string }; out: Partial | undefined };
  loadSnapshot: { in: { session: string; reducer: string }; out: Snapshot | undefined };
  /** In the order in which they are handed out. `wanted`: the workspaces that are there, as a JSON list, with the empty one; null for any. */
  work: { in: { from: number; limit: number; wanted: string | null; now: number }; out: Candidate[] };
  marks: { in: { version: number; sessions: string[] }; out: { version: number; marks: string[] } };
  stats: { in: undefined; out: SqliteStats };
  close: { in: undefined; out: undefined };
}

export type Kind = keyof Operations;

export interface OpenCall {
  path: string;
  /** `delete` where the memory that WAL's readers share does not hold: network file systems. */
  journal: "wal" | "delete";
  busyMs: number;
}

export interface Opened {
  readOnly: boolean;
  /** What an operator should know, a line each. */
  warnings: string[];
}

export interface RestoreEnd {
  key: number;
  session: string;
  seq: number;
  epoch: number;
  head: Head;
  /** Ids that are duplicates from now on. */
  posts: readonly string[];
  now: number;
}

export interface AppendCall {
  session: string;
  epoch: number;
  expectedSeq: number;
  records: PackedRecords;
  head?: Head;
  consume?: string[];
  expectedPosts?: number;
  dropPartial?: string;
  now: number;
}

export interface AcquireCall {
  session: string;
  /** JSON of the holder. */
  holder: string;
  ttlMs: number;
  now: number;
  /** The epoch of a lease whose holder is known to be dead; 0 for none. */
  dead: number;
}

export interface Page {
  records: PackedRecords;
  /** Where to go on, if the answer would have grown too large: nothing was skipped. */
  rest?: { after: number; limit: number };
}

/** A session with an open turn or a waiting post. */
export interface Candidate {
  session: string;
  lease?: LeaseInfo;
}

/** Counters since the store was opened. */
export interface SqliteStats {
  operations: number;
  /** Transactions committed. Many operations share one. */
  commits: number;
  /** Commits that were flushed to disk. */
  flushes: number;
}

export type Call = { [K in Kind]: { id: number; kind: K; in: Operations[K]["in"] } }[Kind];
export type Fault = { code: ErrorCode; message: string };
export type Answer = { id: number; out: unknown } | { id: number; fault: Fault };

export function packRecords(records: readonly LogRecord[]): PackedRecords {
  let size = 0;
  const contents = records.map(({ payload }) => (payload instanceof Uint8Array ? payload : packErased(payload)));
  for (const content of contents) size += checksumBytes + content.byteLength;
  // Not from Buffer's pool: cloning a view copies the whole buffer behind it.
  const bytes = new Uint8Array(size);
  const packed: PackedRecords = { origins: [], kinds: [], numbers: [], bytes };
  let at = 0;
  for (const [index, record] of records.entries()) {
    const { session, type, version, ignorable, seq, epoch, time, checksum, payload } = record;
    let origin = packed.origins.indexOf(session);
    if (origin < 0) origin = packed.origins.push(session) - 1;
    let kind = packed.kinds.findIndex((k) => k.type === type && k.version === version && k.ignorable === ignorable);
    if (kind < 0) kind = packed.kinds.push({ type, version, ignorable }) - 1;
    const content = contents[index] ?? new Uint8Array();
    packed.numbers.push(origin, kind, seq, epoch, time, content.byteLength, payload instanceof Uint8Array ? 0 : 1);
    bytes.set(Buffer.from(checksum, "hex"), at);
    bytes.set(content, at + checksumBytes);
    at += checksumBytes + content.byteLength;
  }
  return packed;
}

export function unpackRecords({ origins, kinds, numbers, bytes }: PackedRecords): LogRecord[] {
  const records: LogRecord[] = [];
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  for (let i = 0; i < numbers.length; i += columns) {
    const { type, version, ignorable } = kinds[numbers[i + 1] ?? 0] ?? { type: "", version: 0, ignorable: false };
    const session = origins[numbers[i] ?? 0] ?? "";
    const [seq, epoch, time] = [numbers[i + 2] ?? 0, numbers[i + 3] ?? 0, numbers[i + 4] ?? 0];
    const start = at + checksumBytes;
    const end = start + (numbers[i + 5] ?? 0);
    const checksum = buffer.toString("hex", at, start);
    const content = bytes.subarray(start, end);
    const payload = numbers[i + 6] ? unpackErased(content) : content;
    records.push({ session, seq, epoch, type, version, ignorable, time, payload, checksum });
    at = end;
  }
  return records;
}

const hashBytes = 32;
const sealBytes = 16;

/** An erased payload as bytes: the hash, the seal, what is left. */
export function packErased({ erased, left, seal }: ErasedPayload): Uint8Array {
  const bytes = new Uint8Array(hashBytes + sealBytes + left.byteLength);
  bytes.set(Buffer.from(erased, "hex"), 0);
  bytes.set(Buffer.from(seal, "hex"), hashBytes);
  bytes.set(left, hashBytes + sealBytes);
  return bytes;
}

/** Of bytes that are too short, something that no seal fits. */
export function unpackErased(bytes: Uint8Array): ErasedPayload {
  const hex = (from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString("hex");
  const start = hashBytes + sealBytes;
  return { erased: hex(0, hashBytes), seal: hex(hashBytes, start), left: bytes.subarray(start) };
}
