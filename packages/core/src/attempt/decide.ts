/**
 * The recovery table: `decide(exposure, failure, policy, budget, {now, jitter})`.
 *
 * Owns: what recovery does about a failed attempt. Does not own: classifying the failure, waiting, recording. Pure.
 * Invariants:
 * 1. Exposure, failure kind and budget decide; no parameter says who noticed (L5).
 * 2. Our own abort, a failure of the step, and a row that says stop are never retried, whatever policy or error say.
 * 3. Every retry is counted against a budget that survives crashes (L6).
 */
import { unreachable } from "../error.ts";
import { limit } from "../limit.ts";
import type { Action, Decision, Exposure, Failure } from "../log/value.ts";
import { type ExposureRow, exposureRow } from "./exposure.ts";
import { backoffMs, type Preset, type RecoveryPolicy } from "./policy.ts";

/** What the step and the turn have used up so far, this attempt included. */
export interface Spent {
  attemptsOfStep: number;
  attemptsOfTurn: number;
  sealsOfStep: number;
  /** Answers of this step that delivered nothing, this one included; absent where nobody counts. */
  emptiesOfStep?: number;
  /** Compactions already tried for an overflow in this step. */
  compactionsOfStep: number;
  /** Whether replayed provider state was already stripped in this step. */
  stripped: boolean;
  /** Monotonic durations and waits of the turn, ms; absent where nobody counts. */
  elapsedMsOfTurn?: number;
  /** In units of the price list; absent where nobody counts. */
  costOfTurn?: number;
}

export interface Moment {
  /** UTC, ms. */
  now: number;
  /** In [0, 1). */
  jitter: number;
}

/**
 * What recovery does about one failed attempt. The same answer for the same exposure, failure, policy and budget, live
 * and after a crash. `delayMs` is the wait before the next attempt; `until` is set where the provider asks for more.
 */
export function decide(
  exposure: Exposure,
  failure: Failure,
  policy: RecoveryPolicy,
  spent: Spent,
  moment: Moment,
): Decision {
  const row = exposureRow(exposure);
  const repair = repairOf(row, failure, policy, spent);
  if (repair) return { delayMs: 0, at: moment.now, ...repair };
  if (!mayRetry(failure, policy)) return stop(moment, `${failure.kind} is not retryable`);
  const action = actionOf(row, exposure, policy.preset);
  if (action === "stop") return stop(moment, stopReason(row, policy.preset));
  // Said before any budget: that a provider names an hour is more use to a person than that six attempts failed.
  const asked = failure.retryAfterMs ?? 0;
  if (asked > policy.retryAfterCapMs) {
    const until = Math.ceil(moment.now + asked);
    return { ...stop(moment, `the provider asks for ${Math.ceil(asked / 1000)} s of patience`), until };
  }
  const delayMs = Math.max(backoffMs(policy.backoff, spent.attemptsOfStep, moment.jitter), asked);
  return (
    exhausted(action, policy, spent, delayMs, moment) ?? {
      action,
      delayMs,
      at: moment.now,
      reason: retryReason(action),
    }
  );
}

/** Faults of the request itself: mended once, then sent again. */
function repairOf(
  row: ExposureRow,
  failure: Failure,
  policy: RecoveryPolicy,
  spent: Spent,
): Pick<Decision, "action" | "reason"> | undefined {
  if (row === "reads-entered" || row === "irrevocable") return undefined;
  if (failure.said === "stop" || policy.retry[failure.kind] === "stop") return undefined;
  if (failure.kind !== "overflow" && failure.kind !== "provider-state") return undefined;
  if (spent.attemptsOfTurn >= policy.attemptsPerTurn) {
    return { action: "stop", reason: `${spent.attemptsOfTurn} attempts of this turn are used up` };
  }
  if (failure.kind === "overflow") {
    return spent.compactionsOfStep > 0
      ? { action: "stop", reason: "the request is too large, and was already compacted once" }
      : { action: "compact", reason: "the request is too large: compact once, then retry" };
  }
  return spent.stripped
    ? { action: "stop", reason: "the provider refuses the request even without replayed state" }
    : { action: "strip", reason: "the provider refuses replayed state: send without it, once" };
}

function mayRetry(failure: Failure, policy: RecoveryPolicy): boolean {
  switch (failure.kind) {
    case "aborted":
    case "tool-runtime":
    case "store":
      return false;
    default: {
      if (failure.said === "stop") return false;
      const override = policy.retry[failure.kind];
      return override === undefined ? failure.retryable : override === "retry";
    }
  }
}

function actionOf(row: ExposureRow, exposure: Exposure, preset: Preset): Action {
  switch (row) {
    case "nothing":
      return preset === "preserve" && exposure.clientState ? "stop" : "retry";
    case "reasoning":
      if (preset === "preserve" && exposure.clientState) return "stop";
      return preset === "replace" ? "discard" : "seal";
    case "output":
      return preset === "preserve" ? "stop" : "discard";
    case "reads-entered":
      return preset === "default" ? "discard" : "stop";
    case "irrevocable":
      return "stop";
    default:
      return unreachable(row);
  }
}

function exhausted(
  action: Action,
  policy: RecoveryPolicy,
  spent: Spent,
  delayMs: number,
  moment: Moment,
): Decision | undefined {
  const { attemptsOfStep, attemptsOfTurn, sealsOfStep, emptiesOfStep = 0, elapsedMsOfTurn = 0, costOfTurn = 0 } = spent;
  if (attemptsOfStep >= policy.attemptsPerStep) return stop(moment, `${attemptsOfStep} attempts of this step failed`);
  if (attemptsOfTurn >= policy.attemptsPerTurn) {
    return stop(moment, `${attemptsOfTurn} attempts of this turn are used up`);
  }
  if (emptiesOfStep >= limit.emptiesPerStep) return stop(moment, `the model answered nothing ${emptiesOfStep} times`);
  if (action === "seal" && sealsOfStep >= policy.sealsPerStep) {
    return stop(moment, `the model's reasoning broke off ${sealsOfStep + 1} times in this step`);
  }
  if (policy.elapsedMsPerTurn !== undefined && elapsedMsOfTurn + delayMs > policy.elapsedMsPerTurn) {
    const seconds = Math.round(policy.elapsedMsPerTurn / 1000);
    return { ...stop(moment, `the ${seconds} s of this turn are used up`), limit: "time" };
  }
  if (policy.costPerTurn !== undefined && costOfTurn >= policy.costPerTurn) {
    return { ...stop(moment, `this turn has cost ${costOfTurn}, of ${policy.costPerTurn} allowed`), limit: "cost" };
  }
  return undefined;
}

function stop({ now }: Moment, reason: string): Decision {
  return { action: "stop", delayMs: 0, at: now, reason };
}

function stopReason(row: ExposureRow, preset: Preset): string {
  switch (row) {
    case "nothing":
    case "reasoning":
      return `signed state was let out, and the policy \`${preset}\` keeps it`;
    case "output":
      return `output was let out, and the policy \`${preset}\` keeps it`;
    case "reads-entered":
      return `a tool was entered, and the policy \`${preset}\` never retries then`;
    case "irrevocable":
      return "the provider may have changed the world: the outcome is unknown";
    default:
      return unreachable(row);
  }
}

function retryReason(action: Action): string {
  switch (action) {
    case "seal":
      return "only reasoning was let out: it is kept as a fragment, the request is made anew";
    case "discard":
      return "nothing was committed: what was let out is retracted, the request is made anew";
    default:
      return "nothing was let out: the request is made anew";
  }
}
