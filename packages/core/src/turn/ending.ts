/** The facts with which an attempt ends, and what recovery does about a failed one. The same for every purpose. */
import { decide } from "../attempt/decide.ts";
import type { AttemptResult } from "../attempt/run.ts";
import type { AttemptEnd, AttemptEnded } from "../log/event.ts";
import type { Decision, Failure } from "../log/value.ts";
import type { PreparedAgent } from "./agent.ts";
import type { Driver } from "./driver.ts";
import { openStep } from "./state.ts";

/** A failed attempt ends with the decision on it; `decision`: where the table is not asked. */
export function endFailed(
  driver: Driver,
  attempt: string,
  result: AttemptResult,
  failure: Failure,
  decision?: Decision,
): void {
  const facts = attemptEnded(driver, attempt, "failed", result);
  const decided = decision ?? decideAfter(driver, failure, facts);
  driver.ledger.stage({
    ...facts,
    end: endOf(decided),
    failure,
    decision: decided,
    ...(result.parts.length > 0 ? { fragment: result.parts } : {}),
  });
}

function endOf({ action }: Decision): AttemptEnd {
  if (action === "seal") return "sealed";
  return action === "stop" ? "failed" : "discarded";
}

export function attemptEnded({ agent }: Driver, attempt: string, end: AttemptEnd, result: AttemptResult): AttemptEnded {
  const cost = costOf(agent, result);
  return {
    type: "attempt.ended",
    attempt,
    end,
    exposure: result.exposure,
    usage: result.usage,
    ...(cost === undefined ? {} : { cost }),
    ...(result.firstPartMs === undefined ? {} : { firstPartMs: result.firstPartMs }),
    durationMs: result.durationMs,
    ...(result.notes ? { notes: result.notes } : {}),
  };
}

/** A price list that fails, or names no figure, must not cost the answer it was asked about. */
function costOf(agent: PreparedAgent, { usage }: AttemptResult): number | undefined {
  try {
    const cost = agent.price(usage, agent.header.model);
    return Number.isFinite(cost) ? cost : undefined;
  } catch {
    return undefined;
  }
}

/** Asked while the attempt is open: a compaction that does not fit is not mended by another. */
export function decideAfter(
  { ledger, agent, effects }: Driver,
  failure: Failure,
  { exposure, durationMs, cost = 0 }: Pick<AttemptEnded, "exposure" | "durationMs" | "cost">,
): Decision {
  const { turn } = ledger.state;
  const step = openStep(ledger.state);
  const spent = {
    attemptsOfStep: step.attempts,
    attemptsOfTurn: turn?.attempts ?? 0,
    sealsOfStep: step.seals,
    emptiesOfStep: step.empties + (failure.kind === "empty" ? 1 : 0),
    compactionsOfStep: step.attempt?.purpose === "compaction" ? Number.POSITIVE_INFINITY : step.compactions,
    stripped: step.stripped,
    elapsedMsOfTurn: (turn?.elapsedMs ?? 0) + durationMs,
    costOfTurn: (turn?.cost ?? 0) + cost,
  };
  return decide(exposure, failure, agent.recovery, spent, { now: effects.clock.now(), jitter: effects.random() });
}
