/**
 * What may run together. Pure: a function of calls in call order, their locks and what has ended.
 */
import type { Lock } from "./tool.ts";

export type CallProgress = "waiting" | "running" | "ended";

export interface PlannedCall {
  id: string;
  locks: readonly Lock[];
  progress: CallProgress;
}

/** Whether two calls must not overlap. */
export function conflict(a: readonly Lock[], b: readonly Lock[]): boolean {
  return a.some((one) =>
    b.some((other) => {
      if (one.mode === "read" && other.mode === "read") return false;
      return one.key === other.key || one.key === "*" || other.key === "*";
    }),
  );
}

/**
 * The calls that may start now: waiting, in conflict with no earlier call that has not ended, within the bound. A
 * waiting call holds its place, so that conflicting calls run in call order.
 */
export function startable(calls: readonly PlannedCall[], bound: number): PlannedCall[] {
  let free = bound - calls.filter((call) => call.progress === "running").length;
  const chosen: PlannedCall[] = [];
  const before: PlannedCall[] = [];
  for (const call of calls) {
    if (call.progress === "ended") continue;
    if (call.progress === "waiting" && free > 0 && !before.some((earlier) => conflict(earlier.locks, call.locks))) {
      chosen.push(call);
      free -= 1;
    }
    before.push(call);
  }
  return chosen;
}
