/** A wait that somebody may end. */
import type { Timers } from "../effects.ts";

/** Resolves after `ms`, or as soon as `signal` aborts; it never rejects. */
export function pause(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => resolve();
  const cancel = timers.after(ms, end);
  signal.addEventListener("abort", end, { once: true });
  return promise.finally(() => {
    cancel();
    signal.removeEventListener("abort", end);
  });
}
