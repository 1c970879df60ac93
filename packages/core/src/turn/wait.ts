/** The wait before an attempt. */
import type { Decision } from "../log/value.ts";
import type { Driver } from "./driver.ts";
import { remainingWait } from "./state.ts";

/** Records the decision first, then waits for what is left of the time that it names. */
export async function waitAfter(driver: Driver, decision: Decision | undefined): Promise<void> {
  if (!decision) return;
  await driver.ledger.commit();
  await pause(driver, remainingWait(decision, driver.effects.clock.now()));
}

/** Waits, unless the turn is aborted or somebody says that it was long enough. */
function pause({ effects, abort, nudge }: Driver, ms: number): Promise<void> {
  if (ms <= 0 || abort.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = effects.timers.after(ms, resolve);
  const end = () => {
    cancel();
    resolve();
  };
  const { signal } = abort;
  signal.addEventListener("abort", end, { once: true });
  const forget = nudge.during(end);
  return promise.finally(() => {
    signal.removeEventListener("abort", end);
    forget();
  });
}
