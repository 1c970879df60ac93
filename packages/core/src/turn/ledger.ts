/**
 * The driver's way into its session's log.
 *
 * Owns: the order of staged facts, their batches, the folds over them, telling subscribers. Does not own: what is
 * staged (drive), durability (store). Invariants:
 * 1. State runs ahead of the log by what is staged; nothing is told to anyone, and no effect begins, before `commit`.
 * 2. Batches leave one after another; what is staged while one is under way shares the next.
 * 3. After a failed append nothing more is written until the log has been read again.
 */
import type { Effects } from "../effects.ts";
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { decodeAll, encode } from "../log/codec.ts";
import type { LogEntry } from "../log/envelope.ts";
import type { LogEvent } from "../log/event.ts";
import type { AppendBatch, Head, Store } from "../store/store.ts";
import type { Feed } from "../view/feed.ts";
import { type TurnState, turnFold } from "./state.ts";

/** A further fold that runs with the turn's: the context. */
export interface Follower {
  step(entry: LogEntry): void;
  /** Back to the empty state: the log is read again. */
  reset(): void;
}

export class Ledger {
  state: TurnState = turnFold.init();

  readonly #store: Store;
  readonly #session: string;
  readonly #epoch: number;
  readonly #effects: Effects;
  readonly #feed: Feed;
  readonly #followers: readonly Follower[];
  #staged: LogEntry[] = [];
  #consume: string[] = [];
  #dropPartial: string | undefined;
  /** Of the last staged entry, and of the last durable one. A record we may pass over has a seq, too. */
  #seq = 0;
  #durableSeq = 0;
  #tail: Promise<void> = Promise.resolve();
  #broken: unknown;

  constructor(
    store: Store,
    session: string,
    epoch: number,
    effects: Effects,
    feed: Feed,
    followers: readonly Follower[],
  ) {
    this.#store = store;
    this.#session = session;
    this.#epoch = epoch;
    this.#effects = effects;
    this.#feed = feed;
    this.#followers = followers;
  }

  /** Reads the whole log anew. Forgets what is staged. */
  async load(): Promise<void> {
    this.state = turnFold.init();
    for (const follower of this.#followers) follower.reset();
    this.#staged = [];
    this.#consume = [];
    this.#dropPartial = undefined;
    this.#broken = undefined;
    this.#tail = Promise.resolve();
    for await (const page of pages(this.#store, this.#session)) {
      for (const entry of page.entries) this.#fold(entry);
      this.#durableSeq = page.seq;
    }
    this.#seq = this.#durableSeq;
  }

  stage(event: LogEvent): void {
    const entry: LogEntry = {
      session: this.#session,
      seq: ++this.#seq,
      epoch: this.#epoch,
      time: this.#effects.clock.now(),
      event,
    };
    this.#staged.push(entry);
    this.#fold(entry);
  }

  /** The next batch moves this post from the mailbox into the log. */
  consume(post: string): void {
    this.#consume.push(post);
  }

  /** The next batch ends this attempt's partial journal. */
  dropPartial(attempt: string): void {
    this.#dropPartial = attempt;
  }

  /** Resolves when everything staged so far is durable and has been told. */
  commit(): Promise<void> {
    this.#tail = this.#tail.then(() => this.#flush());
    // Whoever awaits this commit hears of its failure; the chain itself must not be an unhandled rejection.
    this.#tail.catch(() => {});
    return this.#tail;
  }

  async #flush(): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#staged.length === 0) return;
    const staged = this.#staged;
    const expectedSeq = this.#durableSeq;
    this.#staged = [];
    try {
      const batch = this.#batch(staged, expectedSeq);
      await this.#store.append(batch);
    } catch (error) {
      this.#broken = error;
      throw error;
    }
    this.#durableSeq = expectedSeq + staged.length;
    if (this.#feed.heard) for (const entry of staged) this.#feed.push({ type: "entry", entry });
  }

  #batch(staged: readonly LogEntry[], expectedSeq: number): AppendBatch {
    const consume = this.#consume;
    const dropPartial = this.#dropPartial;
    this.#consume = [];
    this.#dropPartial = undefined;
    const at = { session: this.#session, epoch: this.#epoch, expectedSeq };
    return {
      ...at,
      records: staged.flatMap((entry) =>
        encode([entry.event], { ...at, expectedSeq: entry.seq - 1, time: entry.time }),
      ),
      head: headOf(this.state),
      ...(consume.length > 0 ? { consume } : {}),
      ...(dropPartial === undefined ? {} : { dropPartial }),
    };
  }

  #fold(entry: LogEntry): void {
    this.state = turnFold.step(this.state, entry);
    for (const follower of this.#followers) follower.step(entry);
  }
}

/** The log in decoded pages; checks order and checksums. SESSION_NOT_FOUND where there is none. */
export async function* pages(
  store: Store,
  session: string,
  after = 0,
): AsyncIterable<{ entries: LogEntry[]; seq: number }> {
  let seq = after;
  for (;;) {
    const records = await store.read(session, { after: seq, limit: limit.pageRecords });
    if (records.length === 0) {
      if (seq === 0)
        throw new PawlError(
          "SESSION_NOT_FOUND",
          `there is no session ${JSON.stringify(session)}; \`pawl sessions\` lists them`,
        );
      return;
    }
    const entries = decodeAll(records, seq);
    seq = records.at(-1)?.seq ?? seq;
    yield { entries, seq };
    if (records.length < limit.pageRecords) return;
  }
}

export function headOf({ created, turn, last }: TurnState): Head {
  return {
    ...(created?.title === undefined ? {} : { title: created.title }),
    ...(created?.cwd === undefined ? {} : { cwd: created.cwd }),
    ...(turn ? { openTurn: turn.id } : {}),
    ...(last ? { outcome: last.outcome.type } : {}),
  };
}
