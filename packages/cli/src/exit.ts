/** Exit codes: 0 only for a completed turn, one code per outcome, one per kind of error. Documented in the README. */
import { type ErrorCode, isPawlError, type OutcomeType } from "@pawl/core";

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
  STORE_UNAVAILABLE: 5,
  STORE_FULL: 5,
  STORE_CLOSED: 5,
  CORRUPT: 6,
  SESSION_READ_ONLY: 6,
  NOT_SUPPORTED: 2,
  INVALID_EVENT: 1,
  BUG: 1,
};

/** A law does not hold: `pawl verify`. */
export const lawBroken = 7;

export function exitOfOutcome(outcome: OutcomeType): number {
  return ofOutcome[outcome];
}

export function exitOfError(error: unknown): number {
  return isPawlError(error) ? ofError[error.code] : 1;
}
