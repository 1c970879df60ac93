/**
 * The driver's way into its session's log.
 *
 * Owns: the order of staged facts, their batches, the folds over them, telling subscribers. Does not own: what is
 * staged (drive), durability (store). Invariants:
 * 1. State runs ahead of the log by what is staged; nothing is told to anyone, and no effect begins, before `commit`. What
 *    is offered is no part of the state before it is durable.
 * 2. Batches leave one after another; what is staged while one is under way shares the next.
 * 3. After a failed append nothing more is written until the log has been read again; what it refused is handed back.
 * 4. Every fact that is durable is told once, in order, also one whose append only seemed to fail.
 * 5. Nothing is appended once the lease has run out by our own clock (L8).
 */
import type { Effects } from "../effects.ts";
import { assert, isPawlError, PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { encodeEntry } from "../log/codec.ts";
import { copied } from "../log/copy.ts";
import type { LogEntry } from "../log/envelope.ts";
import type { LogEvent } from "../log/event.ts";
import { isWorkspace } from "../log/shape.ts";
import { pages } from "../store/pages.ts";
import type { AppendBatch, Head, Store } from "../store/store.ts";
import type { Feed } from "../view/feed.ts";
import type { DriverLease } from "./lease.ts";
import type { Patience } from "./patience.ts";
import { latestState, snapshotOf, snapshotRecords } from "./snapshot.ts";
import { type TurnState, turnFold } from "./state.ts";

/** A further fold that runs with the turn's: the context. */
export interface Follower {
  step(entry: LogEntry): void;
  /** The log is read again, from behind `seq`: what stands up to there is `state`. */
  reset(state: TurnState, seq: number): void;
  /** The store is writing, and there is time for what was put off. */
  catchUp?(): void;
}

export interface LedgerParts {
  store: Store;
  session: string;
  lease: DriverLease;
  effects: Effects;
  feed: Feed;
  patience: Patience;
  followers: readonly Follower[];
  /** A batch has taken these out of the mailbox. */
  onConsumed?(posts: readonly string[]): void;
}

interface Offer {
  event: LogEvent;
  /** How many wait and need not be read or taken first; undefined: some do. */
  posts(): number | undefined;
}

/** What one batch has made durable. */
interface Written {
  /** What was staged, and behind it what was offered. */
  entries: LogEntry[];
  offered: LogEntry[];
  /** What was consumed by word, and all that was. */
  posts: string[];
  consumed: string[];
}

export class Ledger {
  state: TurnState = turnFold.init();
  /** An attempt that has left nothing in the store's journal. */
  partialFree: string | undefined;

  readonly #store: Store;
  readonly #session: string;
  readonly #lease: DriverLease;
  readonly #effects: Effects;
  readonly #feed: Feed;
  readonly #patience: Patience;
  readonly #followers: readonly Follower[];
  readonly #onConsumed: (posts: readonly string[]) => void;
  #staged: LogEntry[] = [];
  /** Beside each staged entry, what lists say of the session when it is the last one there. */
  #heads: Head[] = [];
  #consume: string[] = [];
  /** Of the last staged entry, of the last durable one, of the last one told. A record we may pass over has a seq, too. */
  #seq = 0;
  #durableSeq = 0;
  #snapshotSeq = 0;
  /** The snapshot that the drive began with. */
  #openedAt: number | undefined;
  #toldSeq: number | undefined;
  /**
   * The writes that are under way; undefined: none. Rejected once one has failed, and with it whatever is to follow, until
   * the log is read again.
   */
  #tail: Promise<void> | undefined;
  #offering = false;

  constructor({ store, session, lease, effects, feed, patience, followers, onConsumed }: LedgerParts) {
    this.#store = store;
    this.#session = session;
    this.#lease = lease;
    this.#effects = effects;
    this.#feed = feed;
    this.#patience = patience;
    this.#followers = followers;
    this.#onConsumed = onConsumed ?? (() => {});
  }

  /** Reads the log anew, from the newest snapshot on. Forgets what is staged, and returns it: the log may hold it all the same. */
  async load(): Promise<LogEvent[]> {
    await this.#tail?.catch(() => {});
    const unrecorded = this.#staged.map((entry) => entry.event);
    // Read again, it begins no later than at first: what this drive has done since, its reports must hear of anew.
    const { state, seq } = await latestState(this.#store, this.#session, this.#openedAt);
    this.#openedAt ??= seq;
    this.state = state;
    this.#snapshotSeq = seq;
    this.#durableSeq = seq;
    for (const follower of this.#followers) follower.reset(state, seq);
    this.#staged = [];
    this.#heads = [];
    this.#consume = [];
    this.#tail = undefined;
    for await (const page of pages(this.#store, this.#session, seq)) {
      for (const entry of page.entries) this.#fold(entry);
      this.#durableSeq = page.seq;
      if (this.#toldSeq !== undefined) this.#tell(page.entries);
    }
    // What was there before we came is not news.
    this.#toldSeq ??= this.#durableSeq;
    this.#seq = this.#durableSeq;
    this.#keep();
    return unrecorded;
  }

  stage(event: LogEvent): void {
    assert(!this.#offering, "nothing is staged while a fact is offered");
    const entry = this.#next(event);
    this.#seq = entry.seq;
    this.#staged.push(entry);
    this.#fold(entry);
    this.#heads.push(headOf(this.state));
  }

  #next(event: LogEvent): LogEntry {
    const [seq, time] = [this.#seq + 1, this.#effects.clock.now()];
    return { session: this.#session, seq, epoch: this.#lease.epoch, time, event };
  }

  /** The next batch takes this post out of the mailbox. An input needs no word: its `input.accepted` does it. */
  consume(post: string): void {
    this.#consume.push(post);
  }

  /**
   * Resolves when everything staged so far is durable and has been told. What is staged directly behind this call, or a
   * promise later, comes along.
   */
  commit(): Promise<void> {
    this.#tail ??= Promise.resolve();
    return this.#inTurn(async () => {
      // More than a batch may hold happens (a thousand calls in one message); each piece is a legal log by itself.
      while (this.#staged.length > 0) {
        // Results that come at once are staged some promises apart: they are to share a batch.
        await undefined;
        await this.#write();
      }
      this.#keep();
    });
  }

  /**
   * Appends `event` behind all that is staged, in its batch, if as many posts wait as `posts` says, which is asked directly
   * before; where nothing is under way the batch has left when this returns. Resolves with false where others do, or where
   * it does not say: of the event there is no trace then, and what is staged stays so.
   */
  async offer(event: LogEvent, posts: Offer["posts"]): Promise<boolean> {
    this.#offering = true;
    try {
      return await this.#inTurn(async () => {
        while (this.#staged.length >= limit.batchRecords) await this.#write();
        return this.#write({ event, posts });
      });
    } finally {
      this.#offering = false;
    }
  }

  #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#tail ? this.#tail.then(write) : write();
    const tail = written.then(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    this.#tail = tail;
    // Whoever awaits this write hears of its failure; the chain itself must not be an unhandled rejection.
    tail.catch(() => {});
    return written;
  }

  /** One batch: as much of what is staged as it may hold. False where the offer was not taken. */
  async #write(offer?: Offer): Promise<boolean> {
    try {
      this.#landed(await this.#patience.through(() => this.#append(offer)));
      return true;
    } catch (error) {
      if (offer && isPawlError(error, "UNREAD")) return false;
      // Another driver has taken over: our bodies must hear of it now, not at the next renewal.
      if (isPawlError(error, "FENCED")) this.#lease.lose(error);
      throw error;
    }
  }

  async #append(offer: Offer | undefined): Promise<Written> {
    const renewing = this.#lease.hold();
    if (renewing) await renewing;
    const staged = this.#staged.slice(0, limit.batchRecords);
    // A post leaves the mailbox with the last piece: behind an earlier one it might be nowhere.
    const posts = staged.length === this.#staged.length ? [...this.#consume] : [];
    const expectedPosts = offer?.posts();
    if (offer && expectedPosts === undefined) throw new PawlError("UNREAD", "a post is to be read first");
    const offered = offer ? [this.#next(offer.event)] : [];
    const entries = [...staged, ...offered];
    const batch = { ...this.#batch(entries, posts), ...(expectedPosts === undefined ? {} : { expectedPosts }) };
    const writing = this.#store.append(batch);
    try {
      for (const follower of this.#followers) follower.catchUp?.();
    } finally {
      // Whatever they do: nobody goes on beside a write that is under way.
      await writing;
    }
    return { entries, offered, posts, consumed: batch.consume ?? [] };
  }

  #landed({ entries, offered, posts, consumed }: Written): void {
    const staged = entries.length - offered.length;
    this.#staged.splice(0, staged);
    this.#heads.splice(0, staged);
    this.#consume.splice(0, posts.length);
    this.#onConsumed(consumed);
    for (const entry of offered) {
      this.#seq = entry.seq;
      this.#fold(entry);
    }
    this.#durableSeq += entries.length;
    this.#tell(entries);
  }

  #batch(entries: readonly LogEntry[], posts: readonly string[]): AppendBatch {
    const consume = [...posts];
    let ended: string | undefined;
    for (const { event } of entries) {
      if (event.type === "input.accepted") consume.push(event.input);
      if (event.type === "attempt.ended" && event.attempt !== this.partialFree) ended = event.attempt;
    }
    return {
      session: this.#session,
      epoch: this.#lease.epoch,
      expectedSeq: this.#durableSeq,
      records: entries.map(encodeEntry),
      head: this.#heads[entries.length - 1] ?? headOf(this.state),
      ...(consume.length > 0 ? { consume } : {}),
      ...(ended === undefined ? {} : { dropPartial: ended }),
    };
  }

  /** A courtesy to whoever opens the session next: nobody waits for it, and it may fail. */
  #keep(): void {
    const due = this.#durableSeq - this.#snapshotSeq >= snapshotRecords;
    if (!due || this.state.turn || this.#staged.length > 0) return;
    this.#snapshotSeq = this.#durableSeq;
    this.#store.saveSnapshot(this.#session, snapshotOf(this.state, this.#durableSeq)).catch(() => {});
  }

  #tell(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      if (entry.seq <= (this.#toldSeq ?? 0)) continue;
      this.#toldSeq = entry.seq;
      // A copy: what a listener does to it must not reach the state that it came from.
      this.#feed.push({ type: "entry", entry: this.#feed.heard ? copied(entry) : entry });
    }
  }

  #fold(entry: LogEntry): void {
    this.state = turnFold.step(this.state, entry);
    for (const follower of this.#followers) follower.step(entry);
  }
}

export function headOf({ created, turn, last }: TurnState): Head {
  return {
    ...(created?.title === undefined ? {} : { title: created.title }),
    ...(created?.cwd === undefined ? {} : { cwd: created.cwd }),
    // One that no store takes was never asked of a worker; it must not bar the session now.
    ...(isWorkspace(created?.workspace) ? { workspace: created.workspace } : {}),
    ...(turn ? { openTurn: turn.id } : {}),
    ...(last ? { outcome: last.outcome.type } : {}),
  };
}
