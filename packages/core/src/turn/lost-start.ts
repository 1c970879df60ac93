/**
 * What a hole in a damaged log has swallowed of what goes on behind it: a turn, a step.
 *
 * Owns: which starts are lost, told by what only ever stands in them. Does not own: closing them (close). Pure. Invariants:
 * 1. What stands behind a hole is closed like any other, though its start is lost (L7).
 * 2. An id that nothing behind the hole tells is left open: no record can name it.
 */
import type { LogEvent } from "../log/event.ts";
import type { TurnState } from "./state.ts";

/** Stands for an id that only the hole had. */
export const lostId = "";

/** The starts that must have been in the hole, where `event` is the next one. */
export function lostStarts({ turn }: Pick<TurnState, "turn">, event: LogEvent): LogEvent[] {
  switch (event.type) {
    case "step.started":
      return turn?.id === event.turn ? [] : [turnStart(event.turn)];
    case "attempt.started":
      return turn?.step?.id === event.step ? [] : stepStarts(turn, event.step);
    case "message.committed":
      return turn?.step ? [] : stepStarts(turn, lostId);
    default:
      return [];
  }
}

function stepStarts(turn: TurnState["turn"], step: string): LogEvent[] {
  const { id = lostId, steps = 0 } = turn ?? {};
  return [...(turn ? [] : [turnStart(id)]), { type: "step.started", step, turn: id, number: steps + 1 }];
}

function turnStart(turn: string): LogEvent {
  return { type: "turn.started", turn, inputs: [] };
}
