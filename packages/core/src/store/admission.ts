/**
 * What a store lets in: the checks every store runs before it touches anything, so that a refusal leaves no trace and
 * sounds the same everywhere.
 *
 * Owns: the form of what is handed to a store. Does not own: fences and heads (each store, in its transaction), events
 * (log/check).
 */
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import type { LogRecord } from "../log/envelope.ts";
import { isId, seen } from "../log/shape.ts";
import type { AppendBatch, CreateSession, Holder, Post } from "./store.ts";

/** A name is typed by a person and shown in a list; it is never a path. */
const nameChars = 256;
/** A seq and an epoch share one 64-bit key with the session in SQLite; four billion records are beyond any session. */
export const maxSeq = 2 ** 32 - 1;

const postKinds: readonly string[] = [
  "input",
  "steer",
  "edit",
  "withdrawal",
  "answer",
  "abort",
] satisfies Post["kind"][];

function refuse(message: string): never {
  throw new PawlError("INVALID_INPUT", message);
}

export function admitSessionId(session: string): void {
  if (!isId(session)) refuse(`a session id is 1 to ${limit.idChars} characters A-Z a-z 0-9 _ -, is ${seen(session)}`);
}

export function admitCreate({ session, records, parent }: CreateSession): void {
  admitSessionId(session);
  if (parent && !(Number.isSafeInteger(parent.seq) && parent.seq >= 1)) {
    refuse(`session ${session}: a fork's cut is a seq of 1 or more, is ${seen(parent.seq)}`);
  }
  if (parent?.session === session) refuse(`session ${session}: a session cannot be its own parent`);
  if (records.length === 0) refuse(`session ${session}: a session begins with at least one record`);
  admitRecords(session, 0, parent?.seq ?? 0, records);
}

export function admitAppend({ session, epoch, expectedSeq, records, consume }: AppendBatch): void {
  if (!Number.isSafeInteger(expectedSeq) || expectedSeq < 0) {
    refuse(`session ${session}: expectedSeq is a whole number of 0 or more, is ${seen(expectedSeq)}`);
  }
  admitRecords(session, epoch, expectedSeq, records);
  if (consume && new Set(consume).size !== consume.length) {
    refuse(`session ${session}: a batch consumes a post once, got ${seen(consume)}`);
  }
}

function admitRecords(session: string, epoch: number, before: number, records: LogRecord[]): void {
  if (records.length > limit.batchRecords) {
    refuse(`session ${session}: a batch has at most ${limit.batchRecords} records, has ${records.length}; split it`);
  }
  for (const [index, record] of records.entries()) {
    const seq = before + 1 + index;
    const where = `session ${session}, record ${index + 1} of the batch`;
    if (record.seq !== seq || seq > maxSeq) refuse(`${where}: seq must be ${seq}, is ${seen(record.seq)}`);
    if (record.session !== session) refuse(`${where}: it belongs to session ${seen(record.session)}`);
    if (record.epoch !== epoch) refuse(`${where}: epoch must be ${epoch}, is ${seen(record.epoch)}`);
    if (!Number.isSafeInteger(record.time))
      refuse(`${where}: time must be whole milliseconds, is ${seen(record.time)}`);
    if (!Number.isSafeInteger(record.version))
      refuse(`${where}: version must be a whole number, is ${seen(record.version)}`);
    if (!/^[0-9a-f]{32}$/.test(record.checksum)) {
      refuse(`${where}: the checksum must be 32 hex characters, is ${seen(record.checksum)}`);
    }
    admitPayload(where, record.payload);
  }
}

function admitPayload(where: string, payload: LogRecord["payload"]): void {
  if (payload instanceof Uint8Array) {
    if (payload.byteLength > limit.recordBytes) {
      refuse(`${where}: ${payload.byteLength} bytes, at most ${limit.recordBytes}; put large content into a blob`);
    }
  } else if (!/^[0-9a-f]{64}$/.test(payload.erased)) {
    refuse(`${where}: an erased payload is a sha256 of 64 hex characters, is ${seen(payload.erased)}`);
  }
}

/** Returns the body as JSON text. */
export function admitPost(session: string, post: Post): string {
  if (!isId(post.id))
    refuse(`session ${session}: a post's id is 1 to ${limit.idChars} characters A-Z a-z 0-9 _ -, is ${seen(post.id)}`);
  if (!postKinds.includes(post.kind))
    refuse(`post ${post.id}: kind must be one of ${postKinds.join(", ")}, is ${seen(post.kind)}`);
  const body: string | undefined = JSON.stringify(post.body);
  if (body === undefined) refuse(`post ${post.id}: the body must be a JSON value, is ${seen(post.body)}`);
  if (body.length > limit.recordBytes) {
    refuse(`post ${post.id}: ${body.length} characters, at most ${limit.recordBytes}; put large content into a blob`);
  }
  return body;
}

export function admitName(name: string): void {
  if (typeof name !== "string" || name.length === 0 || name.length > nameChars) {
    refuse(`a name is 1 to ${nameChars} characters, is ${seen(name)}`);
  }
}

export function admitLease(holder: Holder, ttlMs: number): void {
  admitTtl(ttlMs);
  if (typeof holder.id !== "string" || holder.id === "") refuse(`a lease holder has an id, got ${seen(holder)}`);
}

export function admitTtl(ttlMs: number): void {
  if (!(Number.isFinite(ttlMs) && ttlMs > 0)) refuse(`a lease lasts more than 0 ms, got ${seen(ttlMs)}`);
}

/** How many entries a page may have, at most. */
export function pageLimit(asked: number | undefined): number {
  if (asked === undefined) return limit.pageRecords;
  if (!Number.isSafeInteger(asked) || asked < 1)
    refuse(`a page's limit is a whole number of 1 or more, is ${seen(asked)}`);
  return asked;
}
