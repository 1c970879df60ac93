/**
 * How an open turn is closed whole: attempt, calls, step, turn, in that order, in one batch (L7). The same for a crash,
 * for a step failure and in a fork. Executes nothing. Pure.
 */
import { noExposure } from "../attempt/exposure.ts";
import type { LogEvent } from "../log/event.ts";
import type { Failure, Outcome } from "../log/value.ts";
import { pendingOf, unsettled } from "../tool/pending.ts";
import { settleMissing } from "../tool/settle.ts";
import type { Proven } from "./journal.ts";
import { lostId } from "./lost-start.ts";
import type { TurnState } from "./state.ts";

export interface Closing {
  outcome: Outcome;
  /** The original failure: on the step and on the turn. */
  failure?: Failure;
  /** What the partial journal proves of an open attempt. */
  fragment?: Proven;
}

export function closeTurn({ turn }: TurnState, { outcome, failure, fragment }: Closing): LogEvent[] {
  if (!turn) return [];
  const failed = failure ? { failure } : {};
  const events: LogEvent[] = [];
  const { step } = turn;
  if (step?.attempt) {
    events.push({
      type: "attempt.ended",
      attempt: step.attempt.attempt,
      end: "interrupted",
      exposure: { ...(fragment?.exposure ?? noExposure()), readsEntered: step.eager.size },
      usage: { measure: "unknown" },
      durationMs: 0,
      ...failed,
      ...(fragment && fragment.parts.length > 0 ? { fragment: fragment.parts } : {}),
    });
  }
  if (step) {
    events.push(...settleMissing(unsettled(step.calls)));
    // Nobody can tell which one an end without an id would be the end of.
    if (step.id !== lostId) events.push({ type: "step.ended", step: step.id, ...failed });
  }
  if (turn.id !== lostId) events.push({ type: "turn.ended", turn: turn.id, outcome, ...failed });
  return events;
}

/**
 * Of what the log refused, that which has happened and is not there: how the open attempt ended, its message or summary,
 * results of its calls. They are recorded before the turn is closed. What was only announced (an entry, a step) did not happen.
 */
export function unrecordedFacts({ turn }: TurnState, refused: readonly LogEvent[]): LogEvent[] {
  const step = turn?.step;
  let open = step?.attempt?.attempt;
  let committed: string | undefined;
  const waiting = new Set(step ? unsettled(step.calls).map((call) => call.part.id) : []);
  return refused.filter((event) => {
    switch (event.type) {
      case "attempt.ended":
        if (event.attempt !== open) return false;
        open = undefined;
        committed = event.end === "committed" ? event.attempt : undefined;
        return true;
      case "message.committed":
        if (event.attempt !== committed) return false;
        for (const call of pendingOf(event.parts).keys()) waiting.add(call);
        return true;
      case "context.compacted":
        return event.attempt !== undefined && event.attempt === committed;
      case "tool.settled":
        return waiting.delete(event.call);
      default:
        return false;
    }
  });
}
