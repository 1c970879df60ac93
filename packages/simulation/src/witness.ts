/**
 * What the referee has to know of rare things: holes, erasures, deletions, names, tasks, workers that were drained.
 *
 * Owns: the laws that only these can break. Does not own: the logs (referee), the faults (fate, damage). Invariants:
 * 1. A log is kept as it was written. What a hole hides is left out only of what the laws are shown, and only where a
 *    repair is recorded: also where that record has rotted since. What was written behind it was written for who reads so.
 */
import { type EventOf, type LogEntry, laws, type Store } from "@pawl/core";
import type { Damage } from "./damage.ts";
import type { Log, Referee } from "./referee.ts";

export class Witness {
  /** Nothing is snapshotted, or runs all the same: only a strict world is held to it. */
  strict = false;
  damage: Damage | undefined;
  /** Hears of each task whose child is known. */
  onTask: (parent: string, child: string) => void = () => {};
  readonly #referee: Referee;
  readonly #logs: ReadonlyMap<string, Log>;
  readonly #names = new Map<string, string>();
  /** Sessions that a name has moved to. */
  readonly #moved = new Set<string>();
  readonly #drained = new Set<string>();
  /** The child of each task call, as its body said. */
  readonly #tasks = new Map<string, string>();

  constructor(referee: Referee, logs: ReadonlyMap<string, Log>) {
    this.#referee = referee;
    this.#logs = logs;
  }

  get names(): ReadonlyMap<string, string> {
    return this.#names;
  }

  /** Whether a driver must not go on with this session as it lies in the store now. */
  isHoled(session: string): boolean {
    return (this.#logs.get(session)?.hole?.seqs.size ?? 0) > 0;
  }

  /** Whether a record of this session has ever rotted. */
  wasHoled(session: string): boolean {
    return this.#logs.get(session)?.hole !== undefined;
  }

  /** The last seq before anything that has rotted: a repair that came later is no part of what stands there. */
  beforeHoles(session: string): number {
    const first = this.#logs.get(session)?.entries.find((entry) => this.damage?.isRotten(entry));
    return (first?.seq ?? 1) - 1;
  }

  /** A record has rotted, for all who read it. `newest`: the newest epoch of a session. */
  rotted(origin: string, seq: number, newest: (session: string) => number): void {
    for (const [session, log] of this.#logs) {
      if (!log.entries.some((entry) => entry.seq === seq && entry.session === origin)) continue;
      log.hole ??= { since: newest(session), seqs: new Set() };
      if (log.hole.seqs.size === 0) log.hole.since = newest(session);
      log.hole.seqs.add(seq);
    }
  }

  /** A fork reads what its parent has, with the holes in it. */
  inherits(log: Log): readonly LogEntry[] {
    const { damage } = this;
    if (!damage) return log.entries;
    const mended = this.#readableRepairs(log.entries);
    const hidden = ({ seq }: LogEntry) => mended.some(({ from, to }) => from < seq && seq < to);
    const rotten = log.entries.filter((entry) => damage.isRotten(entry) && !hidden(entry));
    if (rotten.length > 0) log.hole = { since: 0, seqs: new Set(rotten.map(({ seq }) => seq)) };
    return this.#viewOf(log.entries);
  }

  /** Before an append is judged: whether who writes may. */
  appends(session: string, log: Log, epoch: number, types: readonly string[]): void {
    if (log.gone) this.#referee.breach("L3", session, "a deleted session has been written to");
    if (this.isHoled(session) && epoch > (log.hole?.since ?? 0) && types[0] !== "log.repaired")
      this.#referee.breach("L3", session, `${types[0]} is written past a hole that nobody has mended`);
  }

  /** Behind a repair, laws see a mark in the place of each hole, as every fold does. */
  repaired(session: string, log: Log): void {
    for (const { from, to } of this.#readableRepairs(log.entries)) {
      for (const { seq, session: of } of log.entries) {
        if (seq <= from || seq >= to) continue;
        log.hole?.seqs.delete(seq);
        if (!this.damage?.isRotten({ seq, session: of }))
          this.#referee.breach("L3", session, `the repair of ${from} to ${to} hides record ${seq}, which is good`);
      }
    }
    this.#retell(session, log);
  }

  /** What is left of an erased record is what it says from now on, to all who read it. */
  erased(origin: string, left: LogEntry): void {
    for (const [session, log] of this.#logs) {
      const at = log.entries.findIndex((entry) => entry.seq === left.seq && entry.session === origin);
      if (at < 0) continue;
      log.entries[at] = left;
      // A driver has read it before, and may read it again at any time; the next one finds what is left.
      log.sent = [];
      log.stale = true;
      this.#retell(session, log);
    }
  }

  deleted(session: string): void {
    const log = this.#logs.get(session);
    if (log) log.gone = true;
    for (const [name, of] of this.#names) if (of === session) this.#names.delete(name);
  }

  named(name: string, session: string | null, expected: string | null | undefined): void {
    const now = this.#names.get(name) ?? null;
    if (expected !== undefined && expected !== now)
      this.#referee.breach("L8", String(session), `${name} was moved from ${now} by whoever expected ${expected}`);
    if (session === null) this.#names.delete(name);
    else this.#names.set(name, session);
    if (session !== null) this.#moved.add(session);
  }

  /** A rewind said that it is done. */
  rewound(child: string): void {
    if (!this.#moved.has(child)) this.#referee.breach("L3", child, "a rewind is done, and the name has not moved");
  }

  claimed(holder: string, claims: readonly { session: string }[]): void {
    if (this.#drained.has(holder) && claims.length > 0)
      this.#referee.breach("L8", claims[0]?.session ?? "", `${holder} claims after it was drained`);
  }

  drained(holder: string): void {
    this.#drained.add(holder);
  }

  /** The body of a task call has found its child. */
  task(parent: string, call: string, child: string): void {
    const key = `${parent} ${call}`;
    const known = this.#tasks.get(key) ?? child;
    if (known !== child) this.#referee.breach("L4", parent, `the task ${call} has two children, ${known} and ${child}`);
    this.#tasks.set(key, child);
    this.onTask(parent, child);
  }

  /** A fact of a log, in a world that has what it is about. */
  recorded(session: string, log: Log, { event }: LogEntry): void {
    if (event.type === "tool.settled") this.#taskEnded(session, event.call, textOf(event.output));
    if (this.strict && event.type === "tool.entered" && event.effect !== "read") {
      const began = log.entries.findLastIndex((entry) => entry.event.type === "step.started");
      if (!log.entries.slice(began).some((entry) => entry.event.type === "snapshot.recorded"))
        this.#referee.breach("L3", session, `${event.call} is entered, and its step has no snapshot`);
    }
  }

  /** What the parent's model is told of a task's end has happened. */
  #taskEnded(parent: string, call: string, text: string): void {
    const child = this.#tasks.get(`${parent} ${call}`);
    const outcome = /^The task did not complete: it ended as ([\w-]+)/.exec(text)?.[1];
    if (child === undefined || (outcome === undefined && text !== taskAnswer)) return;
    const input = `in_${child.slice("task_".length)}`;
    const entries = this.#logs.get(child)?.entries ?? [];
    const turn = entries.flatMap(({ event }) =>
      event.type === "turn.started" && event.inputs.includes(input) ? event.turn : [],
    )[0];
    const ended = entries.some(
      ({ event }) =>
        event.type === "turn.ended" && event.turn === turn && event.outcome.type === (outcome ?? "completed"),
    );
    if (!ended) this.#referee.breach("L7", parent, `the task ${call} is said to be over, and ${child} is not`);
  }

  /** At the end: names are where they were put. */
  async settled(store: Store): Promise<void> {
    for (const [name, session] of this.#names) {
      const found = await store.resolveName(name);
      if (found !== session) this.#referee.breach("L3", session, `${name} is not its name but of ${found}`);
    }
  }

  #retell(session: string, log: Log): void {
    log.checks = laws.map((law) => law.start());
    log.sent = [];
    log.notBefore = 0;
    for (const entry of this.#viewOf(log.entries)) this.#referee.judge(session, log, entry);
  }

  /** What is recorded of repairs, and can be read: it lets a session be driven. */
  #readableRepairs(entries: readonly LogEntry[]) {
    return repairsIn(entries.filter((entry) => !this.damage?.isRotten(entry)));
  }

  /** A log with a mark in the place of each hole that was ever mended. */
  #viewOf(entries: readonly LogEntry[]): readonly LogEntry[] {
    const repairs = repairsIn(entries);
    if (repairs.length === 0) return entries;
    const last = new Map(repairs.map((event) => [event.to - 1, event]));
    return entries.flatMap((entry): LogEntry[] => {
      const { seq } = entry;
      // A later repair may take in the place where the mark of an earlier one stood.
      if (repairs.some(({ from, to }) => from < seq && seq < to - 1)) return [];
      const mark = last.get(seq);
      return mark ? [{ ...entry, epoch: mark.from === 0 ? 0 : entry.epoch, event: mark }] : [entry];
    });
  }
}

function repairsIn(entries: readonly LogEntry[]): EventOf<"log.repaired">[] {
  return entries.flatMap(({ event }) => (event.type === "log.repaired" ? event : []));
}

/** What a child of this world says when all is well. */
const taskAnswer = "the task is done";

function textOf({ content }: { content: readonly { type: string; text?: string }[] }): string {
  return content.map(({ text = "" }) => text).join("");
}
