/**
 * Calls that a dead driver had entered. A `write` is never entered again: its reconciler may look at the world, else
 * its outcome is unknown (L4). `read` and `idempotent` ones may run again under the same key.
 */
import { limit } from "../limit.ts";
import type { ToolSettled } from "../log/event.ts";
import { type KeepBytes, tell } from "../tool/output.ts";
import type { PendingCall } from "../tool/pending.ts";
import { checkInTime, type RunnableCall } from "../tool/prepare.ts";
import { wholeOf } from "../tool/returned.ts";
import { codedOutput, settleMissing } from "../tool/settle.ts";
import { elsewhereOutput, isHere, siteOf } from "../tool/site.ts";
import type { Reconciled } from "../tool/tool.ts";
import type { Driver } from "./driver.ts";

type Entry = NonNullable<PendingCall["entered"]>;

/** What becomes of the turn: where it is closed, no call is entered again, whatever its effect. */
export type TurnFate = "goes-on" | "closes";

/** Looks after every doubtful call in turn and stages what is found. Says what it waits for: it may take a while. */
export async function settleDoubtfulCalls(
  driver: Driver,
  calls: readonly PendingCall[],
  fate: TurnFate,
): Promise<void> {
  const { ledger, store } = driver;
  for (const call of calls) {
    if (!call.entered || mayRunAgain(call, fate)) continue;
    const settled = await settleDoubtful(call, call.entered, driver, (bytes) => store.putBlob(bytes));
    if (settled) ledger.stage(settled);
  }
}

/** By the effect as it was when the body was entered; today's registry may say otherwise. */
function mayRunAgain({ entered, runs = 0 }: PendingCall, fate: TurnFate): boolean {
  // One that took its process down each time would do so for ever.
  return fate === "goes-on" && entered?.effect !== "write" && runs < limit.runsPerCall;
}

async function settleDoubtful(
  call: PendingCall,
  entered: Entry,
  driver: Driver,
  keep: KeepBytes,
): Promise<ToolSettled | undefined> {
  const { agent, effects, abort, machine, feed } = driver;
  const { id, tool } = call.part;
  const checked = await checkInTime(call.part, agent.tools, effects, abort.signal);
  const site = checked.ok ? siteOf(checked, entered.key) : undefined;
  if (entered.site && !isHere(entered.site, site, machine)) {
    const text = `${tool} was running on ${entered.site.host}: what became of it cannot be seen from here`;
    feed.push({ type: "warning", text });
    return { type: "tool.settled", call: id, output: elsewhereOutput(entered.site), by: "recovery" };
  }
  // A log of before sites were recorded tells nothing of where it was.
  const askable = checked.ok && checked.prepared.tool.reconcile && (site === undefined || entered.site !== undefined);
  if (askable)
    feed.push({ type: "warning", text: `${tool} was running when its process died: looking for its result` });
  const verdict = askable ? await reconciled(checked, call, entered, driver) : undefined;
  switch (verdict?.verdict) {
    case "done": {
      const most = checked.ok ? checked.prepared.outputChars : 0;
      const grant = (chars: number) => Math.min(chars, most);
      const telling = { call: call.part.id, keep, grant, show: (images: number) => images };
      return result(call, await tell(wholeOf(verdict.output), telling));
    }
    case "not-done":
      return result(
        call,
        codedOutput(
          "TOOL_NOT_STARTED",
          "The runtime stopped before this call took effect. Make it again if it is still wanted.",
        ),
      );
    default:
      return settleMissing([call])[0];
  }
}

/** Undefined: a reconciler that is not there, fails, is no longer waited for, or takes longer than its tool may, knows nothing. */
async function reconciled(
  { prepared, input }: RunnableCall,
  { part }: PendingCall,
  entered: Entry,
  { session, effects, abort: { signal: abort } }: Driver,
): Promise<Reconciled | undefined> {
  const { tool, timeoutMs } = prepared;
  if (!tool.reconcile || abort.aborted) return undefined;
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const stop = new AbortController();
  const giveUp = () => {
    stop.abort();
    resolve(undefined);
  };
  // Also where the body itself may take for ever: it has ended, and only a look at the world is asked for.
  const cancel = effects.timers.after(timeoutMs || limit.toolTimeoutMs, giveUp);
  abort.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([
      tool.reconcile({
        session,
        callId: part.id,
        idempotencyKey: entered.key,
        input,
        enteredAt: entered.at,
        signal: stop.signal,
      }),
      late,
    ]);
  } catch {
    return undefined;
  } finally {
    cancel();
    abort.removeEventListener("abort", giveUp);
  }
}

function result({ part }: PendingCall, output: ToolSettled["output"]): ToolSettled {
  return { type: "tool.settled", call: part.id, output, by: "reconcile" };
}
