/** What is looked at after each process of a round, beyond the laws: pure, over the log and what the process has left. */
import assert from "node:assert/strict";
import type { LogEntry, ToolOutput } from "@pawl/core";
import type { Finished } from "./kill-world.ts";

const lineOf = ({ seq, time, event }: LogEntry) => JSON.stringify({ seq, time, ...event });

export interface Kept {
  before: readonly LogEntry[];
  log: readonly LogEntry[];
  printed: readonly string[];
}

/** L3 from outside: what was there stays as it was, and what was printed is there. */
export function checkKept({ before, log, printed }: Kept): void {
  const lines = log.map(lineOf);
  assert.deepEqual(lines.slice(0, before.length), before.map(lineOf), "a record changed");
  const known = new Set(lines);
  for (const line of printed) assert.ok(known.has(line), `printed, and not in the log: ${line}`);
}

/** A process that ended by itself: its code, its last line and the log say the same. */
export function checkExit({ code, signal, lines, stderr }: Finished, log: readonly LogEntry[]): void {
  assert.equal(signal, null, "nobody has killed it");
  const summary = JSON.parse(lines.at(-1) ?? "null") as {
    ok: boolean;
    outcome: string | null;
    turn: string | null;
    error: { exit: number } | null;
  };
  assert.equal(summary.ok, code === 0, stderr);
  assert.equal(summary.error?.exit ?? 0, code, "the exit code is the last line's");
  const end = log.find(({ event }) => event.type === "turn.ended" && event.turn === summary.turn)?.event;
  assert.equal(end?.type === "turn.ended" ? end.outcome.type : null, summary.outcome, "the outcome is the log's");
}

/** Each call, by the word that its command leaves behind. */
export function checkTools(log: readonly LogEntry[], counted: readonly string[]): void {
  const settled = new Map<string, ToolOutput>();
  const entered = new Set<string>();
  for (const { event } of log) {
    if (event.type === "tool.settled") settled.set(event.call, event.output);
    if (event.type === "tool.entered") entered.add(event.call);
  }
  let known = 0;
  for (const { event } of log) {
    if (event.type !== "message.committed") continue;
    for (const part of event.parts) {
      const word = part.type === "tool-call" ? /echo (\S+) >>/.exec(part.input)?.[1] : undefined;
      if (part.type !== "tool-call" || word === undefined) continue;
      const times = counted.filter((each) => each === word).length;
      known += times;
      const output = settled.get(part.id);
      const says = JSON.stringify(output?.content ?? "");
      assert.ok(times <= 1, `${word} ran ${times} times`);
      if (!entered.has(part.id) || says.includes("TOOL_NOT_STARTED")) assert.equal(times, 0, `${word}: ${says}`);
      if (output && !output.isError && !says.includes("TOOL_")) assert.equal(times, 1, `${word} has a result: ${says}`);
    }
  }
  assert.equal(known, counted.length, `effects without a committed call: ${counted.join(" ")}`);
}

/** What was going on, from what the log says last. `from`: how much of it was there before this process. */
export function phaseOf(log: readonly LogEntry[], from: number): string {
  const last = log.at(-1)?.event;
  if (!last || log.length === from) return from === 0 ? "starting" : "starting again";
  switch (last.type) {
    case "session.created":
    case "input.accepted":
    case "turn.started":
    case "step.started":
      return "opening";
    case "attempt.started":
      return last.purpose === "compaction" ? "summing up" : "in an answer";
    case "attempt.ended":
      return "waiting to try again";
    case "message.committed":
      return "before a tool";
    case "tool.entered":
      return "in a tool";
    case "tool.settled":
      return "between tools";
    case "context.compacted":
      return "after a compaction";
    case "turn.ended":
      return "after the end";
    default:
      return last.type;
  }
}
