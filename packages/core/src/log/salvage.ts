/**
 * Reading a damaged log: what is good, in order, and where it is not.
 *
 * Owns: holes, and which of them are mended. Does not own: mending (doctor). Pure. Invariants:
 * 1. Every entry given is one that `decode` accepts; nothing is guessed.
 * 2. A hole is a stretch of seq between two good records, or the log's ends. It is mended once a `log.repaired` after it
 *    covers it; until then nobody drives the session.
 * 3. Where a fold steps over a hole, a mark stands in its place: the `log.repaired` itself, at the last seq of the hole.
 *    A fold tells the mark from the record by its seq, which lies before the hole's end.
 */
import { isPawlError } from "../error.ts";
import { decode } from "./codec.ts";
import { checksum, type LogEntry, type LogRecord } from "./envelope.ts";
import type { EventOf, EventType } from "./event.ts";

export interface Hole {
  /** The last good seq before it (0: none), and the first after it, or where the log goes on. */
  from: number;
  to: number;
  /** `newer`: not damage, but what a newer version wrote and this one must not pass over. */
  kind: "damaged" | "newer";
  /** What is wrong, for a person. */
  reason: string;
  /** Whether calls, entries or results may have been in it: then a call without a result is in doubt. */
  mayHoldTools: boolean;
  mended: boolean;
}

export interface Salvage {
  entries: LogEntry[];
  holes: Hole[];
}

/** What a hole was mended with. */
export type Repair = Pick<EventOf<"log.repaired">, "from" | "to" | "reason">;

/** Types that say nothing about tools. All others, and all that cannot be trusted, may. */
const withoutTools: ReadonlySet<string> = new Set<EventType>([
  "session.created",
  "input.accepted",
  "turn.started",
  "attempt.started",
  "provider-state.stripped",
  "snapshot.recorded",
  "note.recorded",
]);

interface Bad {
  kind: Hole["kind"];
  what: string;
  mayHoldTools: boolean;
}

/**
 * Reads past everything that cannot be read. `after` is the seq before the first record; `head`, if given, the last seq
 * that should be there, so that a missing tail is seen.
 */
export function salvage(records: Iterable<LogRecord>, { after = 0, head = 0 } = {}): Salvage {
  const entries: LogEntry[] = [];
  const holes = new Holes(after);
  let before: Pick<LogRecord, "session" | "epoch"> | undefined;
  for (const record of records) {
    // A second record for a place is not followed: the first has been given out.
    if (record.seq < holes.next) continue;
    holes.missUpTo(record.seq);
    const fallen = before?.session === record.session && record.epoch < before.epoch;
    const read = fallen ? { bad: changed(`its epoch falls to ${record.epoch}`) } : tryDecode(record);
    if ("bad" in read) {
      holes.add(read.bad);
      continue;
    }
    holes.end();
    before = record;
    if (read.entry) entries.push(read.entry);
  }
  holes.missUpTo(head + 1);
  holes.end();
  const repairs = repairsAmong(entries);
  return { entries, holes: holes.found.map((hole) => ({ ...hole, mended: repairOf(hole, repairs) !== undefined })) };
}

function changed(what: string): Bad {
  return { kind: "damaged", what, mayHoldTools: true };
}

function tryDecode(record: LogRecord): { entry: LogEntry | undefined } | { bad: Bad } {
  try {
    return { entry: decode(record) };
  } catch (error) {
    if (isPawlError(error, "SESSION_READ_ONLY")) {
      return { bad: { kind: "newer", what: `${record.type}, version ${record.version}`, mayHoldTools: true } };
    }
    if (!isPawlError(error, "CORRUPT")) throw error;
    // Of a record whose checksum fails, the type may be what has changed.
    const trusted = checksum(record, record.payload) === record.checksum;
    const what = trusted ? "does not decode" : "does not match its checksum";
    return { bad: { kind: "damaged", what, mayHoldTools: !(trusted && withoutTools.has(record.type)) } };
  }
}

/** Gathers neighbours of one kind into one hole. */
class Holes {
  readonly found: Omit<Hole, "mended">[] = [];
  /** The seq that is looked for next. */
  next: number;
  #from: number;
  #bad: Bad[] = [];

  constructor(after: number) {
    this.#from = after;
    this.next = after + 1;
  }

  missUpTo(seq: number): void {
    if (seq > this.next) this.add({ kind: "damaged", what: "missing", mayHoldTools: true }, seq);
  }

  /** `next`: where the log goes on after it. */
  add(bad: Bad, next = this.next + 1): void {
    if (this.#bad[0] && this.#bad[0].kind !== bad.kind) this.#close();
    this.#bad.push(bad);
    this.next = next;
  }

  /** A good record stands at `next`. */
  end(): void {
    this.#close();
    this.#from = this.next;
    this.next += 1;
  }

  #close(): void {
    const [first] = this.#bad;
    if (!first) return;
    const { kind } = first;
    const mayHoldTools = this.#bad.some((bad) => bad.mayHoldTools);
    const what = [...new Set(this.#bad.map((bad) => bad.what))].join(", ");
    const span = rangeWords(this.#from + 1, this.next - 1);
    this.found.push({ from: this.#from, to: this.next, kind, reason: `${span}: ${what}`, mayHoldTools });
    this.#from = this.next - 1;
    this.#bad = [];
  }
}

function rangeWords(first: number, last: number): string {
  return first === last ? `record ${first}` : `records ${first} to ${last}`;
}

/** The repairs that a log has recorded. One that reaches behind its own place stands for a hole and mends none. */
export function repairsAmong(entries: Iterable<LogEntry>): Repair[] {
  const repairs: Repair[] = [];
  for (const entry of entries) {
    if (entry.event.type !== "log.repaired" || isHoleMark(entry)) continue;
    const { from, to, reason } = entry.event;
    repairs.push({ from, to, reason });
  }
  return repairs;
}

/** Damage that was looked at and recorded. What a newer version wrote stays a reason not to drive. */
export function repairOf(
  { from, to, kind }: Pick<Hole, "from" | "to" | "kind">,
  repairs: Repair[],
): Repair | undefined {
  if (kind === "newer") return undefined;
  return repairs.find((repair) => repair.from <= from && to <= repair.to);
}

/** Whether this entry stands for a hole: everything open before it may have gone on or ended inside. */
export function isHoleMark({ seq, event }: LogEntry): boolean {
  return event.type === "log.repaired" && seq < event.to;
}

/** Puts a mark in the place of each hole. */
export function markHoles({ entries, holes }: Salvage): LogEntry[] {
  const marked: LogEntry[] = [];
  let at = 0;
  for (const hole of holes) {
    for (let entry = entries[at]; entry && entry.seq < hole.to; entry = entries[++at]) marked.push(entry);
    marked.push(markOf(hole, marked.at(-1) ?? entries[at]));
  }
  for (const entry of entries.slice(at)) marked.push(entry);
  return marked;
}

function markOf({ from, to, reason }: Hole, neighbour: LogEntry | undefined): LogEntry {
  const { session = "", epoch = 0, time = 0 } = neighbour ?? {};
  return {
    session,
    seq: to - 1,
    epoch: from === 0 ? 0 : epoch,
    time,
    event: { type: "log.repaired", from, to, reason },
  };
}

/**
 * As `decodeAll`, for a log of which `repairs` are known: a hole that one of them covers becomes a mark. Any other
 * damage is thrown as `decodeAll` throws it.
 */
export function decodeMended(
  records: readonly LogRecord[],
  after: number,
  repairs: Repair[],
  strict: unknown,
): LogEntry[] {
  const read = salvage(records, { after });
  const holes = read.holes.map((hole) => {
    const repair = repairOf(hole, repairs);
    if (!repair) throw strict;
    return { ...hole, reason: repair.reason };
  });
  return markHoles({ entries: read.entries, holes });
}
