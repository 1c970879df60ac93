/**
 * The recovery table: `decide(exposure, failure, policy, budget, {now, jitter})`.
 *
 * Owns: what recovery does about a failed attempt. Does not own: classifying the failure, waiting, recording. Pure.
 * Invariants:
 * 1. Exposure, failure kind and budget decide; no parameter says who noticed (L5).
 * 2. Our own abort, and a row that says stop, are never retried, whatever policy or error say.
 * 3. Every retry is counted against a budget that survives crashes (L6).
 */
import { unreachable } from "../error.ts";
import type { Action, Decision, Exposure, Failure } from "../log/value.ts";
import { type ExposureRow, exposureRow } from "./exposure.ts";
import { backoffMs, type Preset, type RecoveryPolicy } from "./policy.ts";

/** What the step and the turn have used up so far, this attempt included. */
export interface Spent {
  attemptsOfStep: number;
  attemptsOfTurn: number;
  sealsOfStep: number;
  /** Compactions already tried for an overflow in this step. */
  compactionsOfStep: number;
  /** Whether replayed provider state was already stripped in this step. */
  stripped: boolean;
}

export interface Moment {
  /** UTC, ms. */
  now: number;
  /** In [0, 1). */
  jitter: number;
}

export function decide(
  exposure: Exposure,
  failure: Failure,
  policy: RecoveryPolicy,
  spent: Spent,
  moment: Moment,
): Decision {
  const stop = (reason: string, until?: number): Decision => ({
    action: "stop",
    delayMs: 0,
    at: moment.now,
    reason,
    ...(until === undefined ? {} : { until }),
  });
  if (failure.kind === "aborted") return stop("the turn was aborted");
  const row = exposureRow(exposure);
  const entered = row === "reads-entered" || row === "irrevocable";
  if (failure.kind === "overflow" && !entered) {
    if (spent.compactionsOfStep > 0) return stop("the request is too large, and was already compacted once");
    return {
      action: "compact",
      delayMs: 0,
      at: moment.now,
      reason: "the request is too large: compact once, then retry",
    };
  }
  if (failure.kind === "provider-state" && !entered) {
    if (spent.stripped) return stop("the provider refuses the request even without replayed state");
    return {
      action: "strip",
      delayMs: 0,
      at: moment.now,
      reason: "the provider refuses replayed state: send without it, once",
    };
  }
  if (!mayRetry(failure, policy)) return stop(`${failure.kind} is not retryable`);
  const action = actionOf(row, exposure, policy.preset);
  if (action === "stop") return stop(stopReason(row, policy.preset));
  if (spent.attemptsOfStep >= policy.attemptsPerStep)
    return stop(`${spent.attemptsOfStep} attempts of this step failed`);
  if (spent.attemptsOfTurn >= policy.attemptsPerTurn)
    return stop(`${spent.attemptsOfTurn} attempts of this turn are used up`);
  if (action === "seal" && spent.sealsOfStep >= policy.sealsPerStep) {
    return stop(`the model's reasoning broke off ${spent.sealsOfStep + 1} times in this step`);
  }
  const own = backoffMs(policy.backoff, spent.attemptsOfStep, moment.jitter);
  const asked = failure.retryAfterMs ?? 0;
  if (asked > policy.retryAfterCapMs) {
    return stop(`the provider asks for ${Math.ceil(asked / 1000)} s of patience`, moment.now + asked);
  }
  return { action, delayMs: Math.max(own, asked), at: moment.now, reason: retryReason(action) };
}

function mayRetry(failure: Failure, policy: RecoveryPolicy): boolean {
  const override = policy.retry[failure.kind];
  return override === undefined ? failure.retryable : override === "retry";
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
