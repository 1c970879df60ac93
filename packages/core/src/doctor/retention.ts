/**
 * Which sessions have had their time. Pure.
 *
 * Invariant: what somebody may still be waiting for is kept, however old it is: a post that no turn has claimed, a session
 * that is driven, and, unless the policy says otherwise, one that was interrupted or that has a name. The worse failure is
 * the session that is gone.
 */
import { PawlError } from "../error.ts";
import { seen } from "../log/shape.ts";
import type { SessionSummary } from "../store/store.ts";

export interface RetentionPolicy {
  /** Since the last record, ms. */
  olderThanMs: number;
  /** Sessions that are called something; default `keep`. */
  named?: "keep" | "delete";
  /** Sessions whose last turn is open, with nobody driving it; default `keep`: `resume` would go on there. */
  interrupted?: "keep" | "delete";
}

/** Why a session stays. */
export type Kept = "young" | "driven" | "waiting" | "interrupted" | "named";

export function checkRetention({ olderThanMs }: RetentionPolicy): void {
  if (!(Number.isFinite(olderThanMs) && olderThanMs >= 0))
    throw new PawlError("INVALID_INPUT", `sessions are older than 0 ms or more, got ${seen(olderThanMs)}`);
}

/** `posts`: how many wait in its mailbox. */
export function retentionOf(
  { updatedAt, lease, head, names = [] }: SessionSummary,
  posts: number,
  policy: RetentionPolicy,
  now: number,
): "delete" | Kept {
  const { olderThanMs, named = "keep", interrupted = "keep" } = policy;
  if (now - updatedAt <= olderThanMs) return "young";
  if (lease) return "driven";
  if (posts > 0) return "waiting";
  if (head.openTurn !== undefined && interrupted === "keep") return "interrupted";
  if (names.length > 0 && named === "keep") return "named";
  return "delete";
}
