/** Where an undo goes back to: a place in the log, and the snapshot that the files had there. Pure. */
import { type LogEntry, PawlError } from "@pawl/core";
import { type TurnSpan, turnsOf } from "../fork-point.ts";

export interface UndoPoint {
  /** The last record that stays. */
  seq: number;
  /** The number of the turn that is left, or left in its middle, from 1. */
  turn: number;
  turnId: string;
  /** The number of its step whose effects, and those of all later ones, are taken back; 1: of the whole turn. */
  step: number;
  /** What the files are to be again; undefined: nothing has changed them since. */
  snapshot: string | undefined;
  /** The machine whose files the snapshot holds, where the log tells. */
  host: string | undefined;
  /** Turns that begin after it. */
  later: number;
}

interface Step {
  id: string;
  number: number;
  /** Index of its turn. */
  turn: number;
  before: number;
  snapshot?: string;
  /** Where its first effect was. */
  host?: string;
  /** Something that may have changed files was entered. */
  effects: boolean;
}

/** `which`: a turn's number (3) or id, a step of it (3.2), or a step's id. Default: the last turn with effects. Fails with INVALID_INPUT. */
export function undoPoint(session: string, entries: readonly LogEntry[], which?: string): UndoPoint {
  const turns = turnsOf(entries);
  const steps = stepsOf(entries, turns);
  const step = which === undefined ? lastWithEffects(session, steps) : named(session, steps, turns, which);
  const turn = turns[step.turn];
  if (!turn) throw new PawlError("BUG", `step ${step.id} is in no turn`);
  const first = steps.find((each) => each.turn === step.turn) === step;
  const changing = steps.slice(steps.indexOf(step)).find(({ effects, snapshot }) => effects || snapshot !== undefined);
  if (changing && changing.snapshot === undefined) throw withoutSnapshot(session, steps, changing);
  return {
    seq: first ? turn.before : step.before,
    turn: step.turn + 1,
    turnId: turn.id,
    step: step.number,
    snapshot: changing?.snapshot,
    host: changing?.host,
    later: turns.length - 1 - step.turn,
  };
}

function stepsOf(entries: readonly LogEntry[], turns: readonly TurnSpan[]): Step[] {
  const steps: Step[] = [];
  let before = 0;
  for (const { seq, event } of entries) {
    const last = steps.at(-1);
    if (event.type === "step.started") {
      const turn = turns.findIndex(({ id }) => id === event.turn);
      steps.push({ id: event.step, number: event.number, turn, before, effects: false });
    }
    if (event.type === "snapshot.recorded" && last?.id === event.step) last.snapshot ??= event.snapshot;
    if (event.type === "tool.entered" && event.effect !== "read" && last) {
      last.effects = true;
      if (event.site) last.host ??= event.site.host;
    }
    before = seq;
  }
  return steps.filter(({ turn }) => turn >= 0);
}

/** The first step of the last turn in which something may have changed. */
function lastWithEffects(session: string, steps: readonly Step[]): Step {
  const last = steps.findLast(({ effects, snapshot }) => effects || snapshot !== undefined);
  const first = steps.find(({ turn }) => turn === last?.turn);
  if (first) return first;
  throw new PawlError(
    "INVALID_INPUT",
    `session ${session} has changed no files: there is nothing to undo; \`pawl rewind ${session}\` takes back its last turn`,
  );
}

function named(session: string, steps: readonly Step[], turns: readonly TurnSpan[], which: string): Step {
  const [, turn, number = "1"] = /^(\d+)(?:\.(\d+))?$/.exec(which) ?? [];
  const index = turn === undefined ? turns.findIndex(({ id }) => id === which) : Number(turn) - 1;
  const found = steps.find(
    (step) => step.id === which || (index >= 0 && step.turn === index && step.number === Number(number)),
  );
  if (found) return found;
  const last = steps.at(-1);
  const seen = last ? `${turns.length} turns, the last step is ${last.turn + 1}.${last.number}` : "no turn yet";
  throw new PawlError(
    "INVALID_INPUT",
    `${JSON.stringify(which)} is no step of session ${session} (${seen}); name a turn (2), a step of it (2.3) or a step's id`,
  );
}

function withoutSnapshot(session: string, steps: readonly Step[], { turn, number }: Step): PawlError {
  const later = steps.findLast(({ snapshot }) => snapshot !== undefined);
  const other = later ? `; later steps can be undone: pawl undo ${session} ${later.turn + 1}.${later.number}` : "";
  return new PawlError(
    "INVALID_INPUT",
    `no snapshot was taken before step ${turn + 1}.${number} of session ${session} (\`pawl show ${session}\` may say why), so the files as they were are not known${other}`,
  );
}
