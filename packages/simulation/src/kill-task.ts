/**
 * What the model does in one round: drawn from the seed, a task of some steps over a connection with faults.
 *
 * It answers any request: a death costs an answer, and the task goes on with the next one. Every command leaves a word of its
 * own in the counter file, so that each call can be told from all others there.
 */
import { type Entry, PROTOCOLS, type Protocol, type RecordedRequest, type Step } from "@pawl/model-server";
import type { Random } from "./random.ts";

export interface Task {
  protocol: Protocol;
  /** How many steps it has, for a person. */
  length: number;
  answer(request: RecordedRequest): Entry;
}

/** Holds the instructions and tools, and the notes twice: with more of them it is crowded. */
export const windowTokens = 14_000;
/** How the runtime asks for a summary. */
const summing = "Write a summary that replaces everything above";

export function drawTask(random: Random): Task {
  const entries: Entry[] = [];
  const tools = 3 + random.below(4);
  for (let number = 1; number <= tools; number += 1) {
    if (random.chance(0.3)) entries.push(fault(random));
    entries.push(step(random, number));
  }
  if (random.chance(0.3)) entries.push(fault(random));
  let next = 0;
  return {
    protocol: random.pick(PROTOCOLS),
    length: entries.length,
    answer({ body }) {
      if (body.includes(summing)) return [{ text: "Notes were read, and words were counted.", chunks: 3 }];
      const entry = entries[next];
      next += 1;
      return entry ?? [{ text: "All of it is done.", chunks: 4 }];
    },
  };
}

function step(random: Random, number: number): Entry {
  const steps: Step[] = [];
  if (random.chance(0.4)) steps.push({ reason: `Now for part ${number}.`, chunks: 2 }, pause(random));
  steps.push({ text: `I do part ${number}.`, chunks: 3 }, pause(random));
  const calls = 1 + random.below(3);
  for (let call = 1; call <= calls; call += 1) steps.push(toolCall(random, `w${number}-${call}`), pause(random));
  return steps;
}

function toolCall(random: Random, word: string): Step {
  const file = `out-${random.below(3)}.txt`;
  const kind = random.pick(["bash", "bash", "bash", "read", "write", "edit", "ls"]);
  switch (kind) {
    case "bash": {
      const [before, after] = [random.below(60) / 1_000, random.below(60) / 1_000];
      return { call: "bash", input: { command: `sleep ${before}; echo ${word} >> count.txt; sleep ${after}` } };
    }
    case "read":
      return { call: "read", input: { path: "notes.txt" } };
    case "write":
      return { call: "write", input: { path: file, content: `${word}\n`.repeat(50) } };
    case "edit":
      // May find nothing to replace, or a file that was not read: an error result is a result, too.
      return { call: "edit", input: { path: file, edits: [{ old: "w1-1", new: word, all: true }] } };
    case "ls":
      return { call: "ls", input: {} };
  }
}

function fault(random: Random): Entry {
  return random.pick<Entry>([
    { status: 503 },
    { status: 429, headers: { "retry-after": "0" } },
    [{ text: "I was about to say", chunks: 2, upTo: 1 }, { reset: true }],
    [{ reason: "This takes a while.", chunks: 2 }, { end: true }],
    [
      { text: "Half of it" },
      { call: "bash", input: { command: "echo lost >> count.txt" }, split: [9], upTo: 1 },
      { reset: true },
    ],
    [{ text: "Half" }, { garbage: true }, { end: true }],
    [{ error: { type: "overloaded_error", message: "Overloaded", status: 529 } }],
  ]);
}

function pause(random: Random): Step {
  return { wait: random.below(12) };
}
