/**
 * What may run together. Pure: a function of calls in call order, their locks and how far each is.
 */
import type { Lock } from "./tool.ts";

/** `asking`: a person is being asked. Like `waiting`, it holds its place before later calls that conflict with it. */
export type CallProgress = "asking" | "waiting" | "running" | "ended";

export interface PlannedCall {
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
 * The calls that may start now: waiting, in conflict with no earlier call that has not ended, within the bound. The
 * first call that has not ended can always start once it waits, so nothing starves.
 */
export function startable<Call extends PlannedCall>(calls: readonly Call[], bound: number): Call[] {
  let free = bound - calls.filter((call) => call.progress === "running").length;
  const chosen: Call[] = [];
  const before: Call[] = [];
  for (const call of calls) {
    if (free <= 0) break;
    if (call.progress === "ended") continue;
    if (call.progress === "waiting" && !before.some((earlier) => conflict(earlier.locks, call.locks))) {
      chosen.push(call);
      free -= 1;
    }
    before.push(call);
  }
  return chosen;
}
