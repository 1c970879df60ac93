/**
 * What a driver does next: a pure function of turn state. The same answer live and after a crash, so that recovery is
 * no second program.
 */
import type { Failure, Outcome } from "../log/value.ts";
import { unsettled } from "../tool/pending.ts";
import type { OpenStep, OpenTurn, TurnState } from "./state.ts";

export interface TurnLimits {
  stepsPerTurn: number;
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

/** `aborted`: the turn was told to end; nothing new begins, what is open is closed first. */
export function decideNext({ turn }: TurnState, limits: TurnLimits, aborted: boolean): Next {
  if (!turn) return { do: "idle" };
  const next = turn.step ? withinStep(turn.step) : betweenSteps(turn, limits);
  const begins = next.do === "attempt" || next.do === "start-step";
  return aborted && begins ? { do: "end-turn", outcome: { type: "aborted" } } : next;
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
function betweenSteps(turn: OpenTurn, limits: TurnLimits): Next {
  const message = turn.lastMessage;
  if (!message) return turn.steps === 0 ? { do: "start-step" } : { do: "end-turn", outcome: { type: "failed" } };
  if (message.finish.reason === "content-filter") return { do: "end-turn", outcome: { type: "filtered" } };
  const asked = message.parts.some((part) => part.type === "tool-call" && !part.providerExecuted);
  if (asked) {
    if (turn.steps >= limits.stepsPerTurn) return { do: "end-turn", outcome: { type: "limit", limit: "steps" } };
    return { do: "start-step" };
  }
  return {
    do: "end-turn",
    outcome: message.finish.reason === "length" ? { type: "truncated" } : { type: "completed" },
  };
}
