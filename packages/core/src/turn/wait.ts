/** The wait before an attempt. */
import { joinSignals } from "../attempt/joined-signal.ts";
import { pause } from "../attempt/pause.ts";
import type { Decision } from "../log/value.ts";
import type { Driver } from "./driver.ts";
import { remainingWait } from "./state.ts";

/** Records the decision first, then waits for what is left of the time that it names. */
export async function waitAfter(driver: Driver, decision: Decision | undefined): Promise<void> {
  if (!decision) return;
  const { ledger, effects, abort, nudge } = driver;
  await ledger.commit();
  const enough = new AbortController();
  const forget = nudge.during(() => enough.abort());
  const over = joinSignals(abort.signal, enough.signal);
  await pause(effects.timers, remainingWait(decision, effects.clock.now()), over.signal).finally(() => {
    forget();
    over.release();
  });
}
