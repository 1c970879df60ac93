/** Where a session stands when somebody comes to it: what happened to an open turn, and what can be done. Pure. */
import type { EventOf, LogEntry, SessionSummary } from "@pawl/core";
import { callWords, outcomeWords } from "../words.ts";
import { type Block, told } from "./block.ts";
import type { Offer } from "./desk.ts";

export interface Standing {
  state: "new" | "ended" | "interrupted" | "driven";
  blocks: Block[];
  offer?: Offer;
}

export function standingOf(summary: SessionSummary, entries: readonly LogEntry[], self: number): Standing {
  const { head, lease } = summary;
  if (lease && lease.holder.pid !== self) {
    const { pid, host } = lease.holder;
    return {
      state: "driven",
      blocks: [
        told("warn", `Another process (${pid} on ${host}) drives this session: you are watching.`),
        told("quiet", "What you type is handed to it: Enter steers its turn, Tab waits for the next one."),
      ],
    };
  }
  if (head.openTurn !== undefined) {
    return {
      state: "interrupted",
      offer: "resume",
      blocks: [
        told("warn", "This turn was interrupted: the process that ran it is gone. Nothing that was recorded is lost."),
        ...openWords(entries).map((words) => told("warn", `  ${words}`)),
        told(
          "quiet",
          "Enter goes on inside the turn. Type something new, and the turn is closed first. /fork tries it in a copy.",
        ),
      ],
    };
  }
  const ended = entries.findLast(({ event }) => event.type === "turn.ended")?.event as
    | EventOf<"turn.ended">
    | undefined;
  if (!ended) return { state: "new", blocks: [] };
  if (ended.outcome.type === "completed") return { state: "ended", blocks: [] };
  return {
    state: "ended",
    offer: "continue",
    blocks: [
      told("warn", `The last turn ended: ${outcomeWords(ended.outcome)}.`),
      told("quiet", "Enter follows it without new words. /fork tries it in a copy, /rewind takes it back."),
    ],
  };
}

/** What was under way: each open call, or the open attempt. */
function openWords(entries: readonly LogEntry[]): string[] {
  const start = entries.findLastIndex(({ event }) => event.type === "turn.started");
  const calls = new Map<string, string>();
  const entered = new Map<string, EventOf<"tool.entered">>();
  const asked = new Map<string, string>();
  let attempt: EventOf<"attempt.started"> | undefined;
  for (const { event } of entries.slice(Math.max(0, start))) {
    if (event.type === "attempt.started") attempt = event;
    if (event.type === "attempt.ended") attempt = undefined;
    if (event.type === "message.committed")
      for (const part of event.parts)
        if (part.type === "tool-call") calls.set(part.id, callWords(part.tool, part.input, 100));
    if (event.type === "approval.requested") asked.set(event.approval, event.call);
    if (event.type === "approval.resolved") asked.delete(event.approval);
    if (event.type === "tool.entered") entered.set(event.call, event);
    if (event.type === "tool.settled") {
      entered.delete(event.call);
      calls.delete(event.call);
    }
    if (event.type === "step.ended") calls.clear();
  }
  const words: string[] = [];
  if (attempt)
    words.push(`It was in the middle of an answer (attempt ${attempt.number} of its step): that is asked again.`);
  for (const [id, call] of calls) {
    const enter = entered.get(id);
    if (!enter) words.push([...asked.values()].includes(id) ? `It asked you about: ${call}` : `Not started: ${call}`);
    else if (enter.effect === "read") words.push(`It was reading: ${call}. That is done again.`);
    else
      words.push(
        `It was running: ${call}. What became of it is looked up; if nobody can know, the model is told so. It is not run again.`,
      );
  }
  return words;
}
