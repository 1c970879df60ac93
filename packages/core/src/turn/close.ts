/**
 * How an open turn is closed whole: attempt, calls, step, turn, in that order, in one batch (L7). The same for a crash,
 * for a step failure and in a fork. Executes nothing. Pure.
 */
import { noExposure } from "../attempt/exposure.ts";
import type { LogEvent, MessagePart, ToolSettled } from "../log/event.ts";
import type { Exposure, Failure, Outcome } from "../log/value.ts";
import { unsettled } from "../tool/pending.ts";
import { settleMissing } from "../tool/settle.ts";
import type { TurnState } from "./state.ts";

export interface Closing {
  outcome: Outcome;
  /** The original failure: on the step and on the turn. */
  failure?: Failure;
  /** Results that bodies gave and no batch held yet. They go before synthetic ones are made. */
  results?: readonly ToolSettled[];
  /** What the partial journal proves of an open attempt. */
  fragment?: { parts: MessagePart[]; exposure: Exposure };
}

export function closeTurn({ turn }: TurnState, closing: Closing): LogEvent[] {
  if (!turn) return [];
  const { outcome, failure, fragment } = closing;
  const failed = failure ? { failure } : {};
  const events: LogEvent[] = [];
  const { step } = turn;
  if (step?.attempt) {
    events.push({
      type: "attempt.ended",
      attempt: step.attempt.attempt,
      end: "interrupted",
      exposure: fragment?.exposure ?? noExposure(),
      usage: { measure: "unknown" },
      durationMs: 0,
      ...failed,
      ...(fragment && fragment.parts.length > 0 ? { fragment: fragment.parts } : {}),
    });
  }
  if (step) {
    events.push(...settled(unsettled(step.calls), closing.results ?? []));
    events.push({ type: "step.ended", step: step.id, ...failed });
  }
  events.push({ type: "turn.ended", turn: turn.id, outcome, ...failed });
  return events;
}

function settled(calls: ReturnType<typeof unsettled>, results: readonly ToolSettled[]): ToolSettled[] {
  return calls.flatMap((call) => results.find((result) => result.call === call.part.id) ?? settleMissing([call]));
}
