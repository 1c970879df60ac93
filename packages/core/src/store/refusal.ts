/**
 * The refusals of a store, in one wording for all stores: code, the value seen, what to do.
 */
import { PawlError } from "../error.ts";
import type { ForkPoint } from "./store.ts";

export function noSession(session: string): PawlError {
  return new PawlError(
    "SESSION_NOT_FOUND",
    `session ${JSON.stringify(session)} does not exist; \`pawl sessions\` lists those that do`,
  );
}

export function sessionExists(session: string): PawlError {
  return new PawlError(
    "SESSION_EXISTS",
    `session ${session} exists, or did before it was deleted; ids are never reused, choose another`,
  );
}

export function noParent(parent: ForkPoint, head: number): PawlError {
  return new PawlError(
    "SESSION_NOT_FOUND",
    `cannot fork at ${parent.seq}: session ${parent.session} ends at ${head}; fork at or before that`,
  );
}

/** `lease` is the epoch of the lease that is out, if one is: after a release nobody may append. */
export function fenced(session: string, epoch: number, newest: number): PawlError {
  const why =
    epoch === newest
      ? `nobody holds epoch ${epoch}: the lease was given back or never taken; acquire it again`
      : `epoch ${epoch} is stale, the newest is ${newest}: another driver took over; stop driving and reopen`;
  return new PawlError("FENCED", `session ${session}: ${why}`);
}

export function conflict(session: string, expected: number, head: number): PawlError {
  return new PawlError(
    "CONFLICT",
    `session ${session}: expected the log to end at ${expected}, it ends at ${head}; read the rest and try again`,
  );
}

export function postsWait(session: string, count: number): PawlError {
  return new PawlError(
    "CONFLICT",
    `session ${session}: ${waiting(count)} to be acted on; let it be driven, or withdraw them first`,
  );
}

export function unread(session: string, read: number, count: number): PawlError {
  return new PawlError(
    "UNREAD",
    `session ${session}: ${waiting(count)}, the writer has read ${read}; read the mailbox and try again`,
  );
}

function waiting(count: number): string {
  return count === 1 ? "a post waits" : `${count} posts wait`;
}

export function noPost(session: string, post: string): PawlError {
  return new PawlError(
    "INVALID_INPUT",
    `session ${session}: post ${JSON.stringify(post)} is not in the mailbox, it cannot be consumed`,
  );
}

export function notOwn(session: string, seq: number, cut: number): PawlError {
  const why =
    seq <= cut ? "it belongs to the session that this one was forked from, erase it there" : "it is not there";
  return new PawlError("INVALID_INPUT", `session ${session}: cannot erase record ${seq}: ${why}`);
}

export function otherPayload(session: string, seq: number, erased: string): PawlError {
  return new PawlError(
    "CONFLICT",
    `session ${session}: the payload of record ${seq} does not have the hash ${erased}; read it again, run \`pawl doctor\``,
  );
}

export function noDraft(): PawlError {
  return new PawlError(
    "CONFLICT",
    "the session that was being taken in is gone: it was cleaned up meanwhile; try again",
  );
}

export function storeReadOnly(path: string): PawlError {
  return new PawlError(
    "STORE_UNAVAILABLE",
    `${path} could only be opened for reading; make its folder writable, or name another store, to drive a session`,
  );
}

export function storeClosed(): PawlError {
  return new PawlError("STORE_CLOSED", "the store was closed; open it again");
}
