/** `SESSION[:TURN]` as a place in a log. */
import { type LogEntry, PawlError, type Runtime } from "@pawl/core";
import { addressOf } from "./address.ts";
import { readable } from "./readable.ts";

export interface Place {
  session: string;
  seq: number;
  /** The number of the last turn before it, from 1; 0: before the first. */
  turn: number;
  /** What was written before the colon. */
  address: string;
  /** What is before it, and what follows. */
  entries: LogEntry[];
}

/**
 * The end of a turn (its id, or its number from 1; 0: before the first), or what `otherwise` says where none is named:
 * the end of the log, or the end of the turn before the last. Of a damaged session, turns before the damage. Fails with
 * INVALID_INPUT.
 */
export async function forkPoint(runtime: Runtime, text: string, otherwise: "end" | "undo" = "end"): Promise<Place> {
  const { address, turn } = await parsed(runtime, text);
  const session = await addressOf(runtime, address);
  const { entries, damage } = await readable(runtime, session);
  if (turn === undefined && damage) throw damage;
  const place = { session, address, entries };
  const turns = turnsOf(entries);
  if (turn === undefined && otherwise === "end") return { ...place, seq: entries.at(-1)?.seq ?? 0, turn: turns.length };
  if (turn === undefined && turns.length === 0)
    throw new PawlError("INVALID_INPUT", `session ${session} has no turn yet: there is nothing to go back from`);
  const number = turn === undefined ? turns.length - 1 : numberOf(turn, turns);
  const seq = number === 0 ? (turns[0]?.before ?? entries.at(-1)?.seq) : turns[number - 1]?.end;
  if (seq !== undefined) return { ...place, seq, turn: number };
  const ended = turns.filter(({ end }) => end !== undefined).length;
  const seen = `session ${session} has ${ended} ended turn${ended === 1 ? "" : "s"}`;
  throw new PawlError("INVALID_INPUT", `${text}: ${seen}; name one by its number or id, or 0 for before the first`);
}

/** A name that a program gave may hold a colon. */
async function parsed({ store }: Runtime, text: string): Promise<{ address: string; turn?: string }> {
  const colon = text.lastIndexOf(":");
  if (colon < 0 || (await store.resolveName(text)) !== undefined) return { address: text };
  return { address: text.slice(0, colon), turn: text.slice(colon + 1) };
}

export interface TurnSpan {
  id: string;
  /** The last seq before the turn and its input. */
  before: number;
  end?: number;
}

export function turnsOf(entries: readonly LogEntry[]): TurnSpan[] {
  const turns: TurnSpan[] = [];
  const accepted = new Map<string, number>();
  for (const { seq, event } of entries) {
    if (event.type === "input.accepted") accepted.set(event.input, seq);
    if (event.type === "turn.started") {
      const first = Math.min(seq, ...event.inputs.map((input) => accepted.get(input) ?? seq));
      turns.push({ id: event.turn, before: first - 1 });
    }
    const last = turns.at(-1);
    if (event.type === "turn.ended" && last) last.end = seq;
  }
  return turns;
}

/** -1 where there is none. */
function numberOf(turn: string, turns: readonly TurnSpan[]): number {
  if (/^\d+$/.test(turn)) return Number(turn);
  const at = turns.findIndex(({ id }) => id === turn);
  return at < 0 ? -1 : at + 1;
}
