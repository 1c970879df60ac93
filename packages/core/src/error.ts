/**
 * Every error that Pawl itself raises. A caller branches on `code`, a person reads `message`: it names the value
 * that was seen and what to do about it. Failures of the world (network, model, tool) are not errors of this class:
 * they are {@link Failure} values in the log.
 */
export type ErrorCode =
  | "INVALID_INPUT" // a caller handed us something outside the contract
  | "INVALID_EVENT" // an event that the validator refuses, on append
  | "SESSION_EXISTS"
  | "SESSION_NOT_FOUND"
  | "SESSION_BUSY" // another live driver holds the lease
  | "SESSION_READ_ONLY" // the log needs a newer version, or is damaged
  | "FENCED" // our epoch is stale: somebody took over
  | "CONFLICT" // expected sequence differs from the log's head
  | "UNREAD" // a post waits that the writer of a batch has not read
  | "WITHDRAWN" // an input was taken back, or handed back after a stop, before a turn claimed it
  | "CORRUPT" // a stored record fails its checksum or does not decode
  | "NO_SNAPSHOT" // the workspace could not be kept, and the agent runs nothing without: in the failure of the turn
  | "STORE_UNAVAILABLE" // cannot open, read or write: permission, disk, missing folder
  | "STORE_FULL" // no space left: nothing was written
  | "STORE_CLOSED"
  | "NOT_SUPPORTED" // the contract's shape is there, this store does not do it
  | "BUG"; // an invariant of ours does not hold

/** The one error class of Pawl. */
export class PawlError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "PawlError";
    this.code = code;
  }
}

/** Whether `error` is a {@link PawlError}, of the given code if one is given. Works across copies of the package. */
export function isPawlError(error: unknown, code?: ErrorCode): error is PawlError {
  try {
    if (!(error instanceof Error) || error.name !== "PawlError") return false;
    return code === undefined || (error as PawlError).code === code;
  } catch {
    // A revoked proxy, a getter that throws: whatever that is, it is not ours.
    return false;
  }
}

/** Asserts an invariant of our own. A failure here is our bug, never the caller's. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new PawlError("BUG", `invariant broken: ${message}`);
}

/** The exhaustiveness check of a switch. */
export function unreachable(value: never): never {
  throw new PawlError("BUG", `unreachable case: ${JSON.stringify(value)}`);
}
