/**
 * Sees every effect of the world and says what breaks a law: on each log as it grows, on each request, on each body that
 * is entered, on each post that was accepted.
 *
 * It trusts nothing that the runtime says of itself: requests are judged as they arrive, side effects are counted where
 * they happen.
 */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import {
  booksFold,
  type EventOf,
  type Holder,
  type LogEntry,
  type LogRecord,
  laws,
  type Post,
  runFold,
  type Store,
} from "@pawl/core";
import { type StoreCall, startOfTime } from "./disk.ts";
import { judge } from "./judge.ts";
import { Witness } from "./witness.ts";
import type { World } from "./world.ts";

export interface Breach {
  law: string;
  session: string;
  message: string;
}

export interface Log {
  entries: LogEntry[];
  seq: number;
  checks: ((entry: LogEntry) => string[])[];
  /** Of the last request: each message as text. A recorded change forgets it. */
  sent: string[];
  accepted: Set<string>;
  /** The world's time before which the step makes no further attempt. */
  notBefore: number;
  /** Records that have rotted and that no repair covers, since this epoch. */
  hole?: { since: number; seqs: Set<number> };
  /** Something was erased that a driver may still hold, until it reads the log again. */
  stale?: boolean;
  /** Deleted. */
  gone?: boolean;
}

/** Behind these a request may begin otherwise than the one before. */
const changes: ReadonlySet<string> = new Set([
  "context.compacted",
  "provider-state.stripped",
  "session.created",
  "log.repaired",
]);

/** A wall clock counts whole milliseconds, and drifts. */
const slackMs = 100;

/** What is left of content that was erased. */
const erasedText = "[erased]";

const decoder = new TextDecoder();

/** A record as it lies in the store, read without the runtime's help. */
function read({ session, seq, epoch, time, type, payload }: LogRecord): LogEntry {
  const bytes = payload instanceof Uint8Array ? payload : payload.left;
  const event = JSON.parse(decoder.decode(bytes)) as Record<string, unknown>;
  // Put in, not put together anew: that costs as much as the parsing.
  event["type"] = type;
  return { session, seq, epoch, time, event: event as unknown as LogEntry["event"] };
}

export class Referee {
  readonly breaches: Breach[] = [];
  /** What had happened when the first law broke. */
  before: readonly string[] = [];
  readonly #world: World;
  readonly #steady: boolean;
  readonly #logs = new Map<string, Log>();
  /** Calls whose entry is in some log, and how often a body of each was entered. */
  readonly #announced = new Set<string>();
  readonly #entered = new Map<string, number>();
  /** The newest lease of each session. */
  readonly #epochs = new Map<string, number>();
  readonly #drivers = new Map<string, string>();
  /** Calls whose body has begun, by session. */
  readonly #begun = new Set<string>();
  readonly witness = new Witness(this, this.#logs);

  /** Whether tasks are given, or snapshots insisted on. */
  readonly rare: boolean;

  /** `steady`: clocks do not jump, so that waits can be held to what was decided. */
  constructor(world: World, { steady, rare = false }: { steady: boolean; rare?: boolean }) {
    this.#world = world;
    this.#steady = steady;
    this.rare = rare;
  }

  breach(law: string, session: string, message: string): void {
    if (this.breaches.length === 0) this.before = this.#world.labels;
    this.breaches.push({ law, session, message });
  }

  get sessions(): string[] {
    return [...this.#logs].flatMap(([session, { gone }]) => (gone ? [] : session));
  }

  entries(session: string): readonly LogEntry[] {
    return this.#logs.get(session)?.entries ?? [];
  }

  /** A call that the store has done. */
  performed(name: StoreCall, given: unknown[], result: unknown): void {
    if (name === "create") this.#created(given[0] as Parameters<Store["create"]>[0]);
    if (name === "acquireLease") {
      const answer = result as Awaited<ReturnType<Store["acquireLease"]>>;
      if (answer.granted) this.#leased(given[0] as string, answer.epoch, given[1] as Holder);
    }
    if (name === "append") {
      const { session, records, epoch } = given[0] as Parameters<Store["append"]>[0];
      const newest = this.#epochs.get(session) ?? 0;
      if (epoch !== newest) this.breach("L8", session, `epoch ${epoch} has written after ${newest} was given out`);
      const log = this.#logs.get(session);
      if (log?.hole || log?.gone)
        this.witness.appends(
          session,
          log,
          epoch,
          records.map(({ type }) => type),
        );
      this.#appended(session, records);
    }
    if (name === "post") this.#posted(given[0] as string, given[1] as Post, result);
  }

  /** A call that few worlds have, done. `store`: as it lies there now. */
  async performedRarely(name: StoreCall, given: unknown[], result: unknown, store: Store): Promise<void> {
    const session = given[0] as string;
    if (name === "delete") this.witness.deleted(session);
    if (name === "setName" && result) this.witness.named(session, given[1] as string, given[2] as string | undefined);
    if (name === "claimWork") {
      const claims = result as Awaited<ReturnType<Store["claimWork"]>>;
      this.witness.claimed((given[0] as Holder).id, claims);
      for (const claim of claims) this.#leased(claim.session, claim.epoch, given[0] as Holder);
    }
    if (name !== "erase") return;
    const { session: of, seq } = given[0] as Parameters<Store["erase"]>[0];
    const [record] = await store.read(of, { after: seq - 1, limit: 1 });
    // What has rotted meanwhile says nothing.
    if (this.witness.damage?.isRotten({ session: of, seq })) return;
    if (!record || record.payload instanceof Uint8Array)
      this.breach("L3", of, `record ${seq} is erased and still there`);
    else this.witness.erased(of, read(record));
  }

  /** A record has rotted on the disk. */
  rotted(session: string, seq: number): void {
    this.witness.rotted(session, seq, (reader) => this.#epochs.get(reader) ?? 0);
  }

  #leased(session: string, epoch: number, { id }: Holder): void {
    this.#epochs.set(session, epoch);
    this.#drivers.set(session, id);
    const log = this.#logs.get(session);
    if (!log?.stale) return;
    log.stale = false;
    log.sent = [];
  }

  /**
   * A request, as the model has it. `aside`: it asks for a summary, and the conversation goes on without it. `by`: who makes it, in
   * a world where a lease may end behind the back of its holder: such a request comes from what was, and the store fences what
   * follows from it.
   */
  requested(session: string, prompt: LanguageModelV4Prompt, aside: boolean, by?: string): void {
    for (const message of judge(prompt)) this.breach("L1", session, message);
    const log = this.#logs.get(session);
    if (!log || aside || (by !== undefined && by !== this.#drivers.get(session))) return;
    const messages = prompt.map((message) => JSON.stringify(message));
    const changed = log.sent.findIndex((text, at) => text !== messages[at]);
    const erased = log.stale && messages[changed]?.includes(erasedText);
    if (changed >= 0 && !erased) this.breach("L10", session, `message ${changed} is not what the request before had`);
    log.sent = messages;
    if (!log.hole && !log.stale) this.#heard(session, log, prompt);
  }

  /** What people have said since the conversation was last cut is in its request, in order, whenever it came. */
  #heard(session: string, { entries }: Log, prompt: LanguageModelV4Prompt): void {
    let cut = 0;
    for (const { event, seq } of entries)
      if (event.type === "context.compacted" && event.by !== "prune")
        cut = Math.max(cut, Math.min(event.upTo, seq - 1));
    const texts = prompt.flatMap(({ role, content }) =>
      role === "user" ? content.flatMap((part) => (part.type === "text" ? part.text : [])) : [],
    );
    let from = 0;
    for (const { event, seq } of entries) {
      if (event.type !== "input.accepted" || seq <= cut || this.witness.damage?.isRotten({ session, seq })) continue;
      for (const part of event.content) {
        if (part.type !== "text") continue;
        const at = texts.indexOf(part.text, from);
        if (at < 0) return this.breach("L3", session, `input ${event.input} is in the log and not in the request`);
        from = at + 1;
      }
    }
  }

  /** A body begins. */
  entered(session: string, call: string, effect: "read" | "write" | "idempotent"): void {
    const times = (this.#entered.get(call) ?? 0) + 1;
    this.#entered.set(call, times);
    this.#begun.add(`${session} ${call}`);
    if (!this.#announced.has(call)) this.breach("L4", session, `${call} is entered before the log says so`);
    if (effect === "write" && times > 1)
      this.breach("L4", session, `the body of write ${call} is entered ${times} times`);
  }

  /** At the end: what was accepted is in the log, or waits, or was taken back. */
  accounted(session: string, waiting: readonly string[]): void {
    const log = this.#logs.get(session);
    if (!log || log.gone) return;
    this.#balanced(session, log.entries);
    const there = new Map<string, number>();
    const count = (id: string) => there.set(id, (there.get(id) ?? 0) + 1);
    for (const { event, session: of } of log.entries) {
      if (of !== session) continue;
      if (event.type === "input.accepted") count(event.input);
      if (event.type === "note.recorded" && /withdrawn|handed back|was stopped before/.test(event.text))
        count(event.about);
    }
    for (const id of waiting) count(id);
    for (const id of log.accepted) {
      const times = there.get(id) ?? 0;
      if (times !== 1) this.breach("L3", session, `post ${id} was accepted and is there ${times} times`);
    }
  }

  #created({ session, records, parent }: Parameters<Store["create"]>[0]): void {
    const run = new Map();
    const log: Log = {
      entries: [],
      seq: parent?.seq ?? 0,
      checks: laws.map((law) => law.start(run)),
      sent: [],
      accepted: new Set(),
      notBefore: 0,
    };
    this.#logs.set(session, log);
    const before = parent ? (this.#logs.get(parent.session)?.entries ?? []).filter(({ seq }) => seq <= parent.seq) : [];
    // The parent's log has been judged; the checks must have seen it all the same.
    log.entries.push(...before);
    for (const entry of this.witness.inherits(log)) for (const check of log.checks) check(entry);
    this.#appended(session, records);
  }

  #appended(session: string, records: readonly LogRecord[]): void {
    const log = this.#logs.get(session);
    if (!log) return this.breach("L8", session, "an append to a session that was never created");
    // A repair changes how all of the log is read: then it is judged anew.
    const mends = records[0]?.type === "log.repaired";
    for (const record of records) {
      if (record.seq !== log.seq + 1) this.breach("L3", session, `record ${record.seq} follows ${log.seq}`);
      log.seq = record.seq;
      const entry = read(record);
      log.entries.push(entry);
      this.#world.note(`${entry.seq} ${entry.event.type}`, session);
      if (changes.has(entry.event.type) || (entry.event.type === "step.started" && entry.event.header)) log.sent = [];
      if (entry.event.type === "tool.entered") this.#announced.add(entry.event.call);
      this.#waits(session, log, entry);
      if (entry.event.type === "tool.settled") this.#notStarted(session, entry.event);
      if (this.rare) this.witness.recorded(session, log, entry);
      if (!mends) this.judge(session, log, entry);
    }
    if (mends) this.witness.repaired(session, log);
  }

  /** One more entry, as the laws see it. */
  judge(session: string, log: Log, entry: LogEntry): void {
    for (let at = 0; at < log.checks.length; at += 1) {
      const wrong = log.checks[at]?.(entry) ?? [];
      for (const message of wrong) this.breach(laws[at]?.law ?? "?", session, `at ${entry.seq}: ${message}`);
    }
  }

  /** A body that has begun is not said to have had no effect, but by its tool. */
  #notStarted(session: string, { call, output, by }: EventOf<"tool.settled">): void {
    if (output.code === "TOOL_NOT_STARTED" && by !== "reconcile" && this.#begun.has(`${session} ${call}`))
      this.breach("L4", session, `${call} has begun, and is told as not started`);
  }

  /** A wait that was decided is kept, whoever drives by then. */
  #waits(session: string, log: Log, { event }: LogEntry): void {
    if (event.type === "attempt.started" && this.#steady && this.#world.now < log.notBefore - slackMs)
      this.breach("L6", session, `attempt ${event.attempt} begins ${log.notBefore - this.#world.now} ms too early`);
    if (event.type === "attempt.ended" && event.decision)
      log.notBefore = event.decision.at - startOfTime + event.decision.delayMs;
    if (event.type === "step.ended") log.notBefore = 0;
  }

  /** At the end: totals are sums of attempts. */
  #balanced(session: string, entries: readonly LogEntry[]): void {
    const { committed, discarded } = runFold(booksFold, entries);
    let tokens = 0;
    let attempts = 0;
    for (const { event } of entries) {
      if (event.type !== "attempt.ended") continue;
      attempts += 1;
      tokens += (event.usage.input ?? 0) + (event.usage.output ?? 0);
    }
    const told = [committed, discarded].reduce((sum, { tokens: of }) => sum + of.input + of.output, 0);
    if (told !== tokens || committed.attempts + discarded.attempts !== attempts)
      this.breach("L9", session, `the books tell ${told} tokens, the attempts ${tokens}`);
  }

  #posted(session: string, { id, kind }: Post, result: unknown): void {
    if (result === "accepted" && (kind === "input" || kind === "steer")) this.#logs.get(session)?.accepted.add(id);
  }
}
