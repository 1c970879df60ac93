/**
 * What a store lets in: the checks every store runs before it touches anything, so that a refusal leaves no trace and
 * sounds the same everywhere.
 *
 * Owns: the form of what is handed to a store. Does not own: fences and heads (each store, in its transaction), events
 * (log/check).
 */
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import type { ErasedPayload, LogRecord } from "../log/envelope.ts";
import { isId, isWorkspace, json, seen, workspaceWords } from "../log/shape.ts";
import type { AppendBatch, ClaimOptions, CreateSession, Erasure, Head, Holder, Post } from "./store.ts";

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

export function admitCreate({ session, records, parent, head }: CreateSession): void {
  admitSessionId(session);
  admitHead(session, head);
  if (parent && !(Number.isSafeInteger(parent.seq) && parent.seq >= 1)) {
    refuse(`session ${session}: a fork's cut is a seq of 1 or more, is ${seen(parent.seq)}`);
  }
  if (parent?.session === session) refuse(`session ${session}: a session cannot be its own parent`);
  if (records.length === 0) refuse(`session ${session}: a session begins with at least one record`);
  admitRecords(session, 0, parent?.seq ?? 0, records);
}

export function admitAppend(batch: AppendBatch): void {
  const { session, epoch, expectedSeq, records, consume, expectedPosts = 0, head = {} } = batch;
  admitHead(session, head);
  for (const [name, value] of Object.entries({ expectedSeq, expectedPosts })) {
    if (Number.isSafeInteger(value) && value >= 0) continue;
    refuse(`session ${session}: ${name} is a whole number of 0 or more, is ${seen(value)}`);
  }
  admitRecords(session, epoch, expectedSeq, records);
  if (consume && new Set(consume).size !== consume.length) {
    refuse(`session ${session}: a batch consumes a post once, got ${seen(consume)}`);
  }
}

function admitRecords(session: string, epoch: number, before: number, records: LogRecord[]): void {
  admitCount(session, records);
  for (const [index, record] of records.entries()) {
    const seq = before + 1 + index;
    const where = `session ${session}, record ${index + 1} of the batch`;
    if (record.seq !== seq || seq > maxSeq) refuse(`${where}: seq must be ${seq}, is ${seen(record.seq)}`);
    if (record.session !== session) refuse(`${where}: it belongs to session ${seen(record.session)}`);
    if (record.epoch !== epoch) refuse(`${where}: epoch must be ${epoch}, is ${seen(record.epoch)}`);
    admitForm(where, record);
  }
}

/** A batch of a whole session that another store has kept: it may have gaps, other origins and epochs. */
export function admitRestored(session: string, before: number, records: LogRecord[]): void {
  admitCount(session, records);
  let last = before;
  for (const record of records) {
    const where = `session ${session}, record ${seen(record.seq)}`;
    if (!Number.isSafeInteger(record.seq) || record.seq <= last || record.seq > maxSeq)
      refuse(`${where}: seq must be greater than ${last}`);
    last = record.seq;
    admitSessionId(record.session);
    if (!Number.isSafeInteger(record.epoch) || record.epoch < 0 || record.epoch > maxSeq)
      refuse(`${where}: epoch must be a whole number of 0 or more, is ${seen(record.epoch)}`);
    admitForm(where, record);
  }
}

function admitCount(session: string, records: LogRecord[]): void {
  if (records.length > limit.batchRecords) {
    refuse(`session ${session}: a batch has at most ${limit.batchRecords} records, has ${records.length}; split it`);
  }
}

function admitForm(where: string, record: LogRecord): void {
  if (typeof record.type !== "string" || !record.type.isWellFormed())
    refuse(`${where}: type must be well-formed text, is ${seen(record.type)}`);
  if (!Number.isSafeInteger(record.time)) refuse(`${where}: time must be whole milliseconds, is ${seen(record.time)}`);
  if (!Number.isSafeInteger(record.version))
    refuse(`${where}: version must be a whole number, is ${seen(record.version)}`);
  if (!isHex(record.checksum, 32)) {
    refuse(`${where}: the checksum must be 32 hex characters, is ${seen(record.checksum)}`);
  }
  if (record.payload instanceof Uint8Array) admitSize(where, record.payload);
  else admitErased(where, record.payload);
}

export function admitErasure({ session, seq, payload }: Erasure): void {
  if (!Number.isSafeInteger(seq) || seq < 1) refuse(`session ${session}: a seq is 1 or more, is ${seen(seq)}`);
  admitErased(`session ${session}, record ${seq}`, payload);
}

function admitErased(where: string, { erased, left, seal }: ErasedPayload): void {
  if (!isHex(erased, 64)) refuse(`${where}: an erased payload is a sha256 of 64 hex characters, is ${seen(erased)}`);
  if (!isHex(seal, 32)) refuse(`${where}: the seal of what is left must be 32 hex characters, is ${seen(seal)}`);
  if (!(left instanceof Uint8Array)) refuse(`${where}: what is left must be bytes, is ${seen(left)}`);
  admitSize(where, left);
}

function admitSize(where: string, bytes: Uint8Array): void {
  if (bytes.byteLength > limit.recordBytes) {
    refuse(`${where}: ${bytes.byteLength} bytes, at most ${limit.recordBytes}; put large content into a blob`);
  }
}

function isHex(text: unknown, chars: number): boolean {
  return typeof text === "string" && text.length === chars && /^[0-9a-f]*$/.test(text);
}

/** Of what a restored session has consumed. */
export function admitPostIds(session: string, ids: readonly string[]): void {
  for (const id of ids) admitPostId(session, id);
}

function admitPostId(session: string, id: string): void {
  if (!isId(id))
    refuse(`session ${session}: a post's id is 1 to ${limit.idChars} characters A-Z a-z 0-9 _ -, is ${seen(id)}`);
}

/** Returns the body as JSON text. */
export function admitPost(session: string, post: Post): string {
  admitPostId(session, post.id);
  if (!postKinds.includes(post.kind))
    refuse(`post ${post.id}: kind must be one of ${postKinds.join(", ")}, is ${seen(post.kind)}`);
  const problem = json().check(post.body, "the body");
  if (problem !== undefined) refuse(`post ${post.id}: ${problem}`);
  const body = JSON.stringify(post.body);
  const bytes = Buffer.byteLength(body);
  if (bytes > limit.postBytes) {
    refuse(`post ${post.id}: ${bytes} bytes, at most ${limit.postBytes}; put large content into a blob`);
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

export function admitClaim(holder: Holder, { ttlMs, workspaces = [] }: ClaimOptions): void {
  admitLease(holder, ttlMs);
  const odd = workspaces === "any" ? undefined : workspaces.find((workspace) => !isWorkspace(workspace));
  if (odd !== undefined) refuse(workspaceWords(odd));
}

function admitHead(session: string, { workspace }: Head): void {
  if (workspace !== undefined && !isWorkspace(workspace)) refuse(`session ${session}: ${workspaceWords(workspace)}`);
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
