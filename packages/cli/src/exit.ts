/**
 * Exit codes: 0 only for a completed turn, one code per outcome, one per kind of error. Documented in `pawl --help`.
 *
 * Knows the runtime's types alone: `pawl --version` must not load the runtime to name a number.
 */
import type { ErrorCode, OutcomeType } from "@pawl/core";

const ofOutcome: Record<OutcomeType, number> = {
  completed: 0,
  failed: 10,
  interrupted: 11,
  "rate-limited": 12,
  quota: 13,
  truncated: 14,
  empty: 15,
  filtered: 16,
  overflow: 17,
  "context-full": 18,
  limit: 19,
  // As a shell says it of a program that Ctrl-C ended.
  aborted: 130,
};

const ofError: Record<ErrorCode, number> = {
  INVALID_INPUT: 2,
  SESSION_NOT_FOUND: 3,
  SESSION_EXISTS: 3,
  SESSION_BUSY: 4,
  FENCED: 4,
  CONFLICT: 4,
  UNREAD: 4,
  WITHDRAWN: 130,
  STORE_UNAVAILABLE: 5,
  STORE_FULL: 5,
  STORE_CLOSED: 5,
  CORRUPT: 6,
  SESSION_READ_ONLY: 6,
  NOT_SUPPORTED: 2,
  INVALID_EVENT: 1,
  // No command ends with it: it is a turn's failure.
  NO_SNAPSHOT: 1,
  BUG: 1,
};

/** Words that are wrong: an option, a missing key, an empty prompt. */
export const badInput = 2;
/** A law does not hold: `pawl verify`. */
export const lawBroken = 7;
/** `pawl migrate --check`: there is something to do. */
export const migrationDue = 8;
/** Whoever read our output has gone; as a shell says it of SIGPIPE. */
export const readerGone = 141;

export const exitHelp = `
Exit codes:
    0  the turn completed, or what was asked for was shown
    1  a fault of pawl itself
    2  bad input: an option, a missing key, an empty prompt
    3  no such session, or one of that name exists
    4  another process drives the session
    5  the store cannot be used: permission, disk, space, server
    6  a record or the database is damaged, or needs a newer pawl
    7  pawl verify found a law broken
    8  pawl migrate --check: there is something to do
   10  failed           11  interrupted      12  rate-limited     13  quota
   14  truncated        15  empty            16  filtered         17  overflow
   18  context-full     19  limit            130 stopped: Ctrl-C, SIGTERM, a no
  141  the reader of the output has gone`;

export function exitOfOutcome(outcome: OutcomeType): number {
  return ofOutcome[outcome];
}

export function exitOfError(error: unknown): number {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  if (name !== "PawlError" || typeof code !== "string" || !Object.hasOwn(ofError, code)) return 1;
  return ofError[code as ErrorCode];
}
