/**
 * What becomes of a job whose post was not accepted. Pure.
 *
 * Invariant: what another try may change is tried again; what it cannot change goes to the dead letters at once. The worse
 * failure is an input that is thrown away because the database was restarting, so whatever is not known is tried again.
 */
import { isPawlError } from "@pawl/core";

export type Fate = "retry" | "dead-letter";

export function fateOf(error: unknown): Fate {
  if (!isPawlError(error)) return "retry";
  switch (error.code) {
    case "INVALID_INPUT":
    case "INVALID_EVENT":
    case "SESSION_NOT_FOUND":
    case "SESSION_EXISTS":
    case "WITHDRAWN":
    case "NOT_SUPPORTED":
      return "dead-letter";
    case "SESSION_BUSY":
    case "SESSION_READ_ONLY":
    case "FENCED":
    case "CONFLICT":
    case "UNREAD":
    case "NO_SNAPSHOT":
    case "CORRUPT":
    case "STORE_UNAVAILABLE":
    case "STORE_FULL":
    case "STORE_CLOSED":
    case "BUG":
      return "retry";
  }
}
