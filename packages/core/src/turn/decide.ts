/**
 * What a driver does next: a pure function of turn state. The same answer live and after a crash, so that recovery is
 * no second program.
 */
import type { Failure, Outcome } from "../log/value.ts";
import { unsettled } from "../tool/pending.ts";
import type { OpenStep, OpenTurn, TurnState } from "./state.ts";

export interface TurnLimits {
  stepsPerTurn: number;
  recovery: { elapsedMsPerTurn?: number; costPerTurn?: number };
}

export type Next =
  /** No turn is open: look into the mailbox. */
  | { do: "idle" }
  | { do: "start-step" }
  /** Make a request, after what is left of `wait`. */
  | { do: "attempt" }
  /** An attempt is open that nobody runs: its driver died. */
  | { do: "close-attempt" }
  | { do: "run-tools" }
  | { do: "end-step" }
  | { do: "end-turn"; outcome: Outcome; failure?: Failure };

/** What came from outside since the turn began. */
export interface Posted {
  /** The turn was told to end: nothing new begins, what is open is closed first. */
  aborted: boolean;
  /** Why, where it was not a person who stopped it. */
  failure?: Failure;
  /** A steer waits: an answer that would have ended the turn is followed by one more step. */
  steered: boolean;
}

export function decideNext({ turn }: TurnState, limits: TurnLimits, posted: Posted): Next {
  if (!turn) return { do: "idle" };
  const next = turn.step ? withinStep(turn.step) : betweenSteps(turn, limits, posted.steered);
  const begins = next.do === "attempt" || next.do === "start-step";
  if (!posted.aborted || !begins) return next;
  return { do: "end-turn", outcome: { type: "aborted" }, ...(posted.failure ? { failure: posted.failure } : {}) };
}

function withinStep(step: OpenStep): Next {
  if (step.attempt) return { do: "close-attempt" };
  if (step.message) return unsettled(step.calls).length > 0 ? { do: "run-tools" } : { do: "end-step" };
  const decision = step.ended?.decision;
  if (!decision) return { do: "attempt" };
  switch (decision.action) {
    case "stop":
    // Until there is a compaction and a strip to do, an attempt that asks for one ends its turn.
    case "compact":
    case "strip":
      return endOf(step);
    case "retry":
    case "seal":
    case "discard":
      return { do: "attempt" };
  }
}

/** The turn ends with its step: one batch, the original failure on both. */
function endOf(step: OpenStep): Next {
  const failure = step.ended?.failure;
  return { do: "end-turn", outcome: outcomeOf(step), ...(failure ? { failure } : {}) };
}

function outcomeOf({ ended }: OpenStep): Outcome {
  const until = ended?.decision?.until;
  if (until !== undefined) return { type: "rate-limited", until };
  const limit = ended?.decision?.limit;
  if (limit !== undefined) return { type: "limit", limit };
  switch (ended?.failure?.kind) {
    case "aborted":
      return { type: "aborted" };
    case "rate-limited":
      return { type: "rate-limited" };
    case "quota":
      return { type: "quota" };
    case "empty":
      return { type: "empty" };
    case "filtered":
      return { type: "filtered" };
    case "overflow":
      return { type: "overflow" };
    case "stream-broken":
      return ended.exposure.text || ended.exposure.toolInput || ended.exposure.calls > 0
        ? { type: "truncated" }
        : { type: "failed" };
    default:
      return { type: "failed" };
  }
}

/** Calls decide whether to go on; the finish reason only vetoes, since some endpoints say `stop` beside calls. */
function betweenSteps(turn: OpenTurn, limits: TurnLimits, steered: boolean): Next {
  const message = turn.lastMessage;
  if (!message) return turn.steps === 0 ? { do: "start-step" } : { do: "end-turn", outcome: { type: "failed" } };
  const { reason } = message.finish;
  if (reason === "content-filter") return { do: "end-turn", outcome: { type: "filtered" } };
  const asked = message.parts.some((part) => part.type === "tool-call" && !part.providerExecuted);
  const used = usedUp(turn, limits);
  if (!used && (asked || steered)) return { do: "start-step" };
  if (used && asked) return { do: "end-turn", outcome: { type: "limit", limit: used } };
  return { do: "end-turn", outcome: { type: reason === "length" ? "truncated" : "completed" } };
}

/** The budget that allows no further step. */
function usedUp(turn: OpenTurn, { stepsPerTurn, recovery }: TurnLimits): "steps" | "time" | "cost" | undefined {
  if (turn.steps >= stepsPerTurn) return "steps";
  if (turn.elapsedMs >= (recovery.elapsedMsPerTurn ?? Number.POSITIVE_INFINITY)) return "time";
  return turn.cost >= (recovery.costPerTurn ?? Number.POSITIVE_INFINITY) ? "cost" : undefined;
}
