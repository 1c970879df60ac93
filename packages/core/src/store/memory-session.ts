/**
 * A session as the memory store holds it, and reading along its lineage; which batches fit it.
 *
 * Owns: where a record of a fork, or of a session with gaps, lies. Does not own: the other rules of the contract (memory).
 */
import type { LogRecord } from "../log/envelope.ts";
import { conflict, fenced, noPost, unread } from "./refusal.ts";
import type { AppendBatch, Head, LeaseInfo, MailboxEntry, Partial, Snapshot } from "./store.ts";

export interface Session {
  readonly id: string;
  readonly createdAt: number;
  readonly parent: Session | undefined;
  /** The seq before the first own record. */
  readonly cut: number;
  /** Ascending; a restored session may have gaps. */
  readonly records: LogRecord[];
  updatedAt: number;
  epoch: number;
  head: Head;
  lease: Lease | undefined;
  /** Every post id ever accepted. */
  readonly posts: Set<string>;
  readonly mailbox: Map<string, MailboxEntry>;
  partial: Partial | undefined;
  readonly snapshots: Map<string, Snapshot>;
}

export interface Lease extends LeaseInfo {
  ttlMs: number;
}

/**
 * Nothing is shared with callers: what they change afterwards is theirs. One stretch of memory for all their payloads:
 * setting one up costs several times what it costs to fill it.
 */
export function copies(records: readonly LogRecord[]): LogRecord[] {
  let bytes = 0;
  for (const { payload } of records) if (payload instanceof Uint8Array) bytes += payload.byteLength;
  const memory = new ArrayBuffer(bytes);
  let at = 0;
  return records.map((record) => {
    const { payload } = record;
    if (!(payload instanceof Uint8Array))
      return { ...record, payload: { ...payload, left: new Uint8Array(payload.left) } };
    const own = new Uint8Array(memory, at, payload.byteLength);
    own.set(payload);
    at += payload.byteLength;
    return { ...record, payload: own };
  });
}

export function headSeq({ cut, records }: Pick<Session, "cut" | "records">): number {
  return records.at(-1)?.seq ?? cut;
}

/** Fails where the batch is refused. */
export function demandAppendable({ id, epoch, lease, mailbox, ...session }: Session, batch: AppendBatch): void {
  const { expectedSeq, expectedPosts = mailbox.size, consume = [] } = batch;
  if (lease?.epoch !== batch.epoch) throw fenced(id, batch.epoch, epoch);
  const seq = headSeq(session);
  if (expectedSeq !== seq) throw conflict(id, expectedSeq, seq);
  if (expectedPosts !== mailbox.size) throw unread(id, expectedPosts, mailbox.size);
  const unknown = consume.find((post) => !mailbox.has(post));
  if (unknown !== undefined) throw noPost(id, unknown);
}

/**
 * Those with something to do, as they take turns: who was written to longest ago comes first, but before all an open turn. What
 * was written in a future that is none counts as long past.
 */
export function inTurn(sessions: Iterable<Session>, now: number): Session[] {
  const rank = ({ head, updatedAt }: Session) => [head.openTurn === undefined ? 1 : 0, updatedAt > now ? 0 : updatedAt];
  return [...sessions]
    .filter(({ head, mailbox }) => head.openTurn !== undefined || mailbox.size > 0)
    .map((session) => ({ session, rank: rank(session) }))
    .sort(({ rank: [a = 0, b = 0] }, { rank: [c = 0, d = 0] }) => a - c || b - d)
    .map(({ session }) => session);
}

/** Whether `session` is one of the sessions that `reader` reads. */
export function reads(reader: Session, session: Session): boolean {
  return reader === session || (reader.parent !== undefined && reads(reader.parent, session));
}

/**
 * Records with seq of `first` or more, up to `last`, `most` of them at most, along the lineage: each ancestor up to the
 * lowest cut below it.
 */
export function slice(session: Session, first: number, last: number, most: number): LogRecord[] {
  const pieces: LogRecord[][] = [];
  let to = last;
  for (let at: Session | undefined = session; at && first <= to; at = at.parent) {
    const from = place(at, first);
    pieces.unshift(at.records.slice(from, Math.min(from + most, place(at, to + 1))));
    to = Math.min(to, at.cut);
  }
  return copies(pieces.flat().slice(0, most));
}

/** The index of the first own record with this seq or a greater one. */
function place({ records, cut }: Session, seq: number): number {
  // Without gaps it is where it belongs; only a restored session may have lost some before it.
  let index = Math.min(Math.max(0, seq - cut - 1), records.length);
  while (index > 0 && (records[index - 1]?.seq ?? 0) >= seq) index -= 1;
  return index;
}
