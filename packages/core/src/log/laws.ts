/**
 * The laws that events alone can show. Those that need the derived request are beside it (context).
 *
 * A hole in a damaged log may hold whatever is missed after it: behind its mark (salvage) a law asks for nothing that
 * stood before, until a turn begins. What is there twice, or out of order, is wrong all the same.
 */
import { limit } from "../limit.ts";
import type { LogEntry } from "./envelope.ts";
import type { EventOf, LogEvent } from "./event.ts";
import { isHoleMark } from "./salvage.ts";
import type { Law } from "./verify.ts";

const noSplice: Law = {
  law: "L2",
  title: "no splice: a message comes from exactly one attempt",
  start() {
    const committed = new Set<string>();
    return ({ event }) => {
      const parts =
        event.type === "message.committed" ? event.parts : event.type === "attempt.ended" ? (event.fragment ?? []) : [];
      if (event.type !== "message.committed" && event.type !== "attempt.ended") return [];
      const wrong = parts
        .filter((part) => !part.id.startsWith(`${event.attempt}-`))
        .map((part) => `part ${part.id} is not of attempt ${event.attempt}`);
      if (event.type === "message.committed") {
        if (committed.has(event.attempt)) wrong.push(`attempt ${event.attempt} is committed twice`);
        committed.add(event.attempt);
      }
      return wrong;
    };
  },
};

const nothingLost: Law = {
  law: "L3",
  title: "nothing lost: no gap, no repeated input, and a step's snapshot stands before its effects",
  start() {
    let seq: number | undefined;
    let lost = false;
    const inputs = new Set<string>();
    const accepted = new Set<string>();
    const snapshots = snapshotOrder();
    return (entry) => {
      const wrong = snapshots(entry);
      lost ||= isHoleMark(entry);
      if (seq !== undefined && entry.seq <= seq) wrong.push(`seq ${entry.seq} follows ${seq}`);
      seq = entry.seq;
      const { event } = entry;
      if (event.type === "input.accepted") {
        // Whoever posts to a fork may use an id that its parent has seen.
        const own = `${entry.session} ${event.input}`;
        if (accepted.has(own)) wrong.push(`input ${event.input} is accepted twice`);
        accepted.add(own);
        inputs.add(event.input);
      }
      if (event.type === "turn.started") {
        for (const input of event.inputs)
          if (!inputs.has(input) && !lost) wrong.push(`turn ${event.turn} claims input ${input}, which is not there`);
      }
      return wrong;
    };
  },
};

/** A picture of the workspace that was taken later would bring back what it should have kept from being lost. */
function snapshotOrder(): (entry: LogEntry) => string[] {
  let step: { id: string; has: "nothing" | "a snapshot" | "effects" } | undefined;
  let lost = false;
  return (entry) => {
    const { event } = entry;
    lost = (lost || isHoleMark(entry)) && event.type !== "step.started";
    if (event.type === "step.started") step = { id: event.step, has: "nothing" };
    if (event.type === "step.ended") step = undefined;
    if (event.type === "tool.entered" && event.effect !== "read" && step) step.has = "effects";
    if (event.type !== "snapshot.recorded" || lost) return [];
    if (step?.id !== event.step) return [`the snapshot ${event.snapshot} is of step ${event.step}, which is not open`];
    if (step.has !== "nothing") return [`step ${event.step} has ${step.has} before the snapshot ${event.snapshot}`];
    step.has = "a snapshot";
    return [];
  };
}

const noBlindRerun: Law = {
  law: "L4",
  title: "no blind re-run: a write is entered at most once, after its message",
  start() {
    const entered = new Set<string>();
    const committed = new Set<string>();
    const settled = new Set<string>();
    let lost = false;
    return (entry) => {
      const { event } = entry;
      lost ||= isHoleMark(entry);
      if (event.type === "message.committed") for (const part of event.parts) committed.add(part.id);
      if (event.type === "tool.settled") settled.add(event.call);
      if (event.type !== "tool.entered") return [];
      const wrong: string[] = [];
      if (event.effect === "write") {
        if (entered.has(event.call)) wrong.push(`write ${event.call} is entered again`);
        if (!committed.has(event.call) && !lost)
          wrong.push(`write ${event.call} is entered before its message is committed`);
      }
      if (settled.has(event.call)) wrong.push(`${event.call} is entered after it was settled`);
      entered.add(event.call);
      return wrong;
    };
  },
};

const stateDecides: Law = {
  law: "L5",
  title: "state decides: a failed attempt carries its decision, and the end that follows from it",
  start() {
    return ({ event }) => {
      if (event.type !== "attempt.ended" || !event.decision) return [];
      const { action } = event.decision;
      const { providerWrite, serverState } = event.exposure;
      const wrong: string[] = [];
      if (action !== "stop" && (providerWrite || serverState))
        wrong.push(`attempt ${event.attempt} is retried after an effect at the provider`);
      if (action === "seal" && (event.exposure.text || event.exposure.toolInput || event.exposure.calls > 0)) {
        wrong.push(`attempt ${event.attempt} is sealed although it had let out more than reasoning`);
      }
      if (action !== "stop" && event.failure?.kind === "aborted")
        wrong.push(`attempt ${event.attempt} is retried after an abort`);
      return wrong;
    };
  },
};

const bounded: Law = {
  law: "L6",
  title: "bounded: what a turn retries stays within its limit",
  start() {
    let attempts = 0;
    let steps = 0;
    return ({ event }) => {
      if (event.type === "turn.started") attempts = steps = 0;
      if (event.type === "step.started") steps += 1;
      // A summary that stands for what was before is no retry of anything.
      if (event.type === "context.compacted" && event.attempt !== undefined) attempts -= 1;
      if (event.type !== "attempt.started") return [];
      attempts += 1;
      // Each step has a first attempt; how many steps, and how many attempts of one, a policy may raise. This it may not.
      return attempts > limit.attemptsPerTurn + steps
        ? [`attempt ${event.attempt} is number ${attempts} of its turn`]
        : [];
    };
  },
};

type Kind = "turn" | "step" | "attempt";
/** What must not be open when one ends, and what must be when one starts. */
const parents: Record<Kind, Kind | undefined> = { turn: undefined, step: "turn", attempt: "step" };
const children: Record<Kind, Kind | undefined> = { turn: "step", step: "attempt", attempt: undefined };

const closed: Law = {
  law: "L7",
  title: "closed: each turn, step, attempt and call gets exactly one end",
  start() {
    const open: Record<Kind, string | undefined> = { turn: undefined, step: undefined, attempt: undefined };
    const ended = new Set<string>();
    const calls = new Set<string>();
    const settled = new Set<string>();
    let lost = false;
    return (entry) => {
      const { event } = entry;
      if (isHoleMark(entry)) {
        Object.assign(open, { turn: undefined, step: undefined, attempt: undefined });
        calls.clear();
        lost = true;
      }
      if (event.type === "message.committed")
        for (const part of event.parts) if (part.type === "tool-call" && !part.providerExecuted) calls.add(part.id);
      if (event.type === "tool.settled") {
        const again = settled.has(event.call);
        settled.add(event.call);
        calls.delete(event.call);
        return again ? [`call ${event.call} is settled twice`] : [];
      }
      const moved = lifecycle(event);
      if (!moved) return [];
      const broken = moved.begins ? begin(open, ended, moved) : end(open, moved);
      // Whose beginning is in the hole cannot be told from what never began; a turn is a new footing.
      const wrong = lost && !(moved.begins && ended.has(moved.id)) ? [] : broken;
      // Calls of a step that nothing names any more: who begins the next turn could not know of their end.
      if (lost && moved.kind === "turn" && moved.begins && !open.step && !open.attempt) calls.clear();
      if (lost && moved.kind === "turn") lost = !moved.begins;
      if (!moved.begins) ended.add(moved.id);
      if (event.type === "step.ended" || event.type === "turn.ended") {
        for (const call of calls) wrong.push(`${event.type} while call ${call} has no result`);
        calls.clear();
      }
      return wrong;
    };
  },
};

interface Lifecycle {
  kind: Kind;
  id: string;
  begins: boolean;
}

function lifecycle(event: LogEvent): Lifecycle | undefined {
  switch (event.type) {
    case "turn.started":
    case "turn.ended":
      return { kind: "turn", id: event.turn, begins: event.type === "turn.started" };
    case "step.started":
    case "step.ended":
      return { kind: "step", id: event.step, begins: event.type === "step.started" };
    case "attempt.started":
    case "attempt.ended":
      return { kind: "attempt", id: event.attempt, begins: event.type === "attempt.started" };
    default:
      return undefined;
  }
}

function begin(open: Record<Kind, string | undefined>, ended: ReadonlySet<string>, { kind, id }: Lifecycle): string[] {
  const wrong: string[] = [];
  const parent = parents[kind];
  if (open[kind] !== undefined) wrong.push(`${kind} ${id} starts while ${open[kind]} is open`);
  if (parent && open[parent] === undefined) wrong.push(`${kind} ${id} starts outside of a ${parent}`);
  if (ended.has(id)) wrong.push(`${kind} ${id} is reopened`);
  open[kind] = id;
  return wrong;
}

function end(open: Record<Kind, string | undefined>, { kind, id }: Lifecycle): string[] {
  const wrong: string[] = [];
  const child = children[kind];
  if (open[kind] !== id) wrong.push(`${kind} ${id} ends and is not open`);
  if (child && open[child] !== undefined) wrong.push(`${kind} ${id} ends while ${child} ${open[child]} is open`);
  open[kind] = undefined;
  return wrong;
}

const oneDriver: Law = {
  law: "L8",
  title: "one driver: epochs never fall",
  start() {
    let epoch = 0;
    let session: string | undefined;
    return (entry) => {
      // A fork begins its own epochs.
      if (entry.session !== session) epoch = 0;
      session = entry.session;
      const wrong = entry.epoch < epoch ? [`epoch ${entry.epoch} follows ${epoch}`] : [];
      epoch = Math.max(epoch, entry.epoch);
      return wrong;
    };
  },
};

const honestBooks: Law = {
  law: "L9",
  title: "honest books: every request is an attempt with a fate, committed ones with their message or summary",
  start() {
    let committed: EventOf<"attempt.ended"> | undefined;
    let lost = false;
    return (entry) => {
      const { event } = entry;
      const owed = committed;
      const behind = lost;
      lost = isHoleMark(entry);
      committed = event.type === "attempt.ended" && event.end === "committed" ? event : undefined;
      const wrong: string[] = [];
      // A fork may be cut between the two: then the message is its parent's alone. A hole may hold either.
      const cut = lost || event.type === "session.created";
      const given = productOf(event);
      if (owed && !cut && given !== owed.attempt)
        wrong.push(`attempt ${owed.attempt} is committed without its message`);
      if (!owed && !behind && given !== undefined)
        wrong.push(`the message of ${given} has no committed attempt before it`);
      if (event.type === "attempt.ended" && event.end === "committed" && event.failure)
        wrong.push(`attempt ${event.attempt} is committed with a failure`);
      return wrong;
    };
  },
};

/** The attempt whose answer an event holds. */
function productOf(event: LogEvent): string | undefined {
  return event.type === "message.committed" || event.type === "context.compacted" ? event.attempt : undefined;
}

export const logLaws: readonly Law[] = [
  noSplice,
  nothingLost,
  noBlindRerun,
  stateDecides,
  bounded,
  closed,
  oneDriver,
  honestBooks,
];
