/**
 * What a worker tells of itself while it works: for logs, metrics, readiness.
 *
 * Invariants: each claim is told once, and so is its end (`released`, `handed-over`, `parked` or `lost`), after everything else
 * about it.
 */
import type { Outcome } from "../log/value.ts";
import type { LiveItem } from "../view/live.ts";

export type WorkerEvent =
  /**
   * `takesOver`: the turn that another process has left open. `live`: what is recorded and said while this claim is driven, to
   * whoever subscribes before this call returns.
   */
  | { type: "claimed"; session: string; epoch: number; takesOver?: string; live: AsyncIterable<LiveItem> }
  /** A turn has its end. */
  | { type: "ended"; session: string; turn: string; outcome: Outcome }
  /** Given back with no turn open. */
  | { type: "released"; session: string }
  /** Given back by a drain, its turn open: the next worker goes on there. */
  | { type: "handed-over"; session: string; turn: string }
  /** Kept for a while, since it came to nothing; `error` says why, where something failed. */
  | { type: "parked"; session: string; error?: unknown }
  /** The drive broke off: the lease went to somebody else, or the store away. Whoever claims it next goes on. */
  | { type: "lost"; session: string; error: unknown }
  /** The store did not answer; told once, until it does. */
  | { type: "store-away"; error: unknown }
  | { type: "store-back" };
