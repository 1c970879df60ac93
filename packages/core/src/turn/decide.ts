/**
 * What a driver does next: a pure function of turn state. The same answer live and after a crash, so that recovery is
 * no second program.
 */
import { noExposure } from "../attempt/exposure.ts";
import type { Failure, Outcome } from "../log/value.ts";
import { unsettled } from "../tool/pending.ts";
import { isUseless, type OpenStep, type OpenTurn, type TurnState } from "./state.ts";

export interface TurnLimits {
  stepsPerTurn: number;
  recovery: { elapsedMsPerTurn?: number; costPerTurn?: number };
}

export type Next =
  /** No turn is open: look into the mailbox. */
  | { do: "idle" }
  | { do: "start-step" }
  /** Make a request, after what is left of the wait that the last decision asked for. */
  | { do: "attempt" }
  /** Make the conversation shorter, after what is left of a wait. */
  | { do: "compact" }
  /** Send opaque provider state no longer. */
  | { do: "strip" }
  /** An attempt is open that nobody runs: its driver died. */
  | { do: "close-attempt" }
  | { do: "run-tools" }
  | { do: "end-step" }
  | { do: "end-turn"; outcome: Outcome; failure?: Failure };

/** What is not in the log: what came from outside since the turn began, and how large the next request would be. */
export interface Circumstances {
  /** The turn was told to end: nothing new begins, what is open is closed first. */
  aborted: boolean;
  /** Why, where it was not a person who stopped it. */
  failure?: Failure;
  /** A steer waits: an answer that would have ended the turn is followed by one more step. */
  steered: boolean;
  /** Whether the next request leaves room in the model's window. */
  room: "enough" | "crowded";
  /** Whether something old is there that a compaction could replace. Costs a look at all messages. */
  compactable(): boolean;
  /** Why no request can fit, however short the conversation. */
  hopeless?: Failure;
}

/** A third try at a summary is no more likely to be shorter than the second, and each costs a whole conversation. */
const compactionFailures = 2;

export function decideNext(state: TurnState, limits: TurnLimits, now: Circumstances): Next {
  const { turn } = state;
  if (!turn) return { do: "idle" };
  const next = turn.step ? withinStep(turn.step, state, now) : betweenSteps(turn, limits, now.steered);
  if (!now.aborted || !begins.has(next.do)) return next;
  return { do: "end-turn", outcome: { type: "aborted" }, ...(now.failure ? { failure: now.failure } : {}) };
}

const begins: ReadonlySet<Next["do"]> = new Set(["attempt", "compact", "start-step"]);

function withinStep(step: OpenStep, state: TurnState, now: Circumstances): Next {
  if (step.attempt) return { do: "close-attempt" };
  if (step.message) return unsettled(step.calls).length > 0 ? { do: "run-tools" } : { do: "end-step" };
  const decision = step.ended?.decision;
  const strips = decision?.action === "strip" || step.summary?.decision?.action === "strip";
  if (strips && !step.stateStripped) return { do: "strip" };
  if (!step.ended && now.hopeless) return { do: "end-turn", outcome: { type: "context-full" }, failure: now.hopeless };
  return compaction(step, state, now) ?? (decision?.action === "stop" ? endOf(step.ended, step) : { do: "attempt" });
}

/** Before the first attempt of a step that is crowded, and whenever a request did not fit. Undefined: go on. */
function compaction(step: OpenStep, { compactionFailures: failures }: TurnState, now: Circumstances): Next | undefined {
  const { ended, summary, compacted } = step;
  const asked = ended?.decision?.action === "compact";
  const due = asked || (!ended && (summary !== undefined || now.room === "crowded"));
  if (compacted || !due) return undefined;
  const stopped = summary?.decision?.action === "stop";
  // Not for want of room: whatever it was (no credit, an hour of patience) ends the turn as it would have the step's own.
  if (stopped && !isUseless(summary)) return endOf(withoutOutput(summary), step);
  if (failures >= compactionFailures) return endFull(ended ?? summary);
  // After one failure a conversation that is crowded may still fit; one that was refused does not.
  if (asked) return now.compactable() ? { do: "compact" } : endFull(ended);
  return stopped || !now.compactable() ? undefined : { do: "compact" };
}

/** Of a summary nobody has seen a word: one that broke off is no cut answer. */
function withoutOutput(summary: NonNullable<OpenStep["summary"]>): OpenStep["ended"] {
  return { ...summary, exposure: noExposure() };
}

function endFull(ended: OpenStep["ended"]): Next {
  const failure = ended?.failure;
  return { do: "end-turn", outcome: { type: "context-full" }, ...(failure ? { failure } : {}) };
}

/** The turn ends with its step: one batch, the original failure on both. */
function endOf(ended: OpenStep["ended"], { compactions }: OpenStep): Next {
  const failure = ended?.failure;
  return { do: "end-turn", outcome: outcomeOf(ended, compactions), ...(failure ? { failure } : {}) };
}

function outcomeOf(ended: OpenStep["ended"], compactions: number): Outcome {
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
      return compactions > 0 ? { type: "context-full" } : { type: "overflow" };
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
