/**
 * A worker: claims sessions that have something to do, drives them, gives them back.
 *
 * Owns: how many are driven at once, when the store is asked for more, handing over. Does not own: who may drive (the
 * store's leases), how (drive). Invariants:
 * 1. Never more claims than free places: what is not claimed stays for others (back-pressure).
 * 2. A claim opens one turn, then goes back: sessions take turns, and a busy one does not keep its place.
 * 3. A claim that led to nothing (a log that cannot be read, an agent that cannot be made, a post that nobody waits for)
 *    is parked: it goes back when its lease runs out, or when something new was posted. Nothing is claimed in a loop.
 * 4. After `drain` nothing is claimed; what is driven ends before its next step, and whoever claims it goes on there.
 */
import { type ErrorCode, isPawlError, PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { seen } from "../log/shape.ts";
import { Feed } from "../view/feed.ts";
import type { LiveItem } from "../view/live.ts";
import { type Agent, prepareAgent } from "./agent.ts";
import { DriverLease } from "./lease.ts";
import { Nudge } from "./nudge.ts";
import { driveClaimed } from "./open.ts";
import { type Runtime, Session } from "./session.ts";

export interface WorkerOptions {
  runtime: Runtime;
  /** What a session is driven with; asked at each claim. Where it throws, the session is left to others for a while. */
  agent(session: Session): Agent | Promise<Agent>;
  /** Sessions driven at once; default 4. */
  concurrency?: number;
  /** How often the store is asked for work while places are free, ms; default 200. */
  pollMs?: number;
  /** Calls `notify` when there may be work, so that it need not be asked for: a store's own word, or a queue's. */
  wake?(notify: () => void): () => void;
  /** Hears of what stopped a claim: a session that cannot be driven, or a store that is away (then without a session). */
  onError?(error: unknown, session?: string): void;
}

export interface Worker {
  /** The sessions driven right now. */
  readonly driving: readonly string[];
  /**
   * Claims nothing more, and resolves when everything has been handed over between two steps, or after `graceMs`
   * (default: without end): what is still driven then is taken over from a process that has gone.
   */
  drain(options?: { graceMs?: number }): Promise<void>;
}

/** Starts at once. Fails with INVALID_INPUT for a figure with which nothing would be done. */
export function createWorker(options: WorkerOptions): Worker {
  const { concurrency = 4, pollMs = 200 } = options;
  for (const [name, value] of Object.entries({ concurrency, pollMs })) {
    if (!(value >= 1 && value <= limit.timerMs))
      throw new PawlError("INVALID_INPUT", `a worker's ${name} is 1 or more, is ${seen(value)}`);
  }
  return new SessionWorker({ ...options, concurrency, pollMs });
}

/** A store that is away is not asked ten times a second by every worker. */
const awayMs = 1_000;
/** Not the session's fault: somebody who reaches the store may go on with it at once. */
const storeIsAway: ReadonlySet<ErrorCode> = new Set(["STORE_UNAVAILABLE", "STORE_FULL", "STORE_CLOSED"]);

class SessionWorker implements Worker {
  readonly #with: WorkerOptions & { concurrency: number; pollMs: number };
  readonly #driving = new Map<string, Promise<void>>();
  readonly #parked = new Map<string, Parking>();
  readonly #handover = new AbortController();
  readonly #endWake: () => void;
  #claiming: Promise<void> | undefined;
  /** News came while the store was asked: what it answered may be older. */
  #again = false;
  #cancel: (() => void) | undefined;

  constructor(options: WorkerOptions & { concurrency: number; pollMs: number }) {
    this.#with = options;
    this.#endWake = options.wake?.(() => this.#look()) ?? (() => {});
    this.#look();
  }

  get driving(): readonly string[] {
    return [...this.#driving.keys()];
  }

  async drain({ graceMs }: { graceMs?: number } = {}): Promise<void> {
    this.#handover.abort();
    this.#endWake();
    this.#cancel?.();
    await this.#claiming;
    await Promise.all([...this.#parked.values()].map((parking) => parking.leave()));
    const ended = Promise.all(this.#driving.values());
    if (graceMs === undefined) return void (await ended);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#with.runtime.effects.timers.after(graceMs, resolve);
    await Promise.race([ended, late]);
    cancel();
  }

  /** Asks for work now, if a place is free. */
  #look(): void {
    this.#again = true;
    if (this.#claiming || this.#handover.signal.aborted || this.#free <= 0) return;
    this.#cancel?.();
    this.#claiming = this.#claim().finally(() => {
      this.#claiming = undefined;
    });
  }

  get #free(): number {
    return this.#with.concurrency - this.#driving.size;
  }

  async #claim(): Promise<void> {
    const { runtime, pollMs, onError } = this.#with;
    const { store, effects, holder } = runtime;
    let waitMs = pollMs * (0.5 + effects.random());
    try {
      while (this.#again && this.#free > 0 && !this.#handover.signal.aborted) {
        this.#again = false;
        const askedAt = effects.clock.monotonic();
        const claims = await store.claimWork(holder, { limit: this.#free, ttlMs: limit.leaseMs });
        for (const { session, epoch } of claims) this.#begin(session, epoch, askedAt);
      }
    } catch (error) {
      waitMs = Math.max(waitMs, awayMs);
      onError?.(error);
    }
    if (!this.#handover.signal.aborted) this.#cancel = effects.timers.after(waitMs, () => this.#look());
  }

  #begin(session: string, epoch: number, askedAt: number): void {
    this.#parked.get(session)?.forget();
    this.#parked.delete(session);
    const driven = this.#drive(session, epoch, askedAt).finally(() => {
      this.#driving.delete(session);
      this.#look();
    });
    this.#driving.set(session, driven);
  }

  async #drive(session: string, epoch: number, askedAt: number): Promise<void> {
    const { runtime, agent, onError } = this.#with;
    const { store, effects } = runtime;
    const lease = DriverLease.adopt(store, session, effects, epoch, askedAt);
    const feed = new ProgressFeed();
    let away = false;
    try {
      const prepared = await prepareAgent(await agent(new Session(runtime, session)));
      const reins = { feed, signal: this.#stays, nudge: new Nudge(), handover: this.#handover.signal };
      await driveClaimed(runtime, session, prepared, lease, { ...reins, turns: 1 });
    } catch (error) {
      away = isPawlError(error) && storeIsAway.has(error.code);
      // Taken over: whoever did goes on, and there is nothing to give back.
      if (!isPawlError(error, "FENCED")) onError?.(error, session);
    }
    if (away || feed.recorded || this.#handover.signal.aborted) await lease.release().catch(() => {});
    else await this.#park(session, lease);
  }

  /** A worker stops no turn: it hands over, or is gone. */
  readonly #stays = new AbortController().signal;

  async #park(session: string, lease: DriverLease): Promise<void> {
    lease.rest();
    const parking = new Parking(this.#with.runtime, session, lease, () => this.#parked.delete(session));
    this.#parked.set(session, parking);
    await parking.begin();
  }
}

/** Knows whether anything was recorded. */
class ProgressFeed extends Feed {
  recorded = false;

  override push(item: LiveItem): void {
    this.recorded ||= item.type === "entry";
    super.push(item);
  }
}

/** A lease that is kept, unused, until it runs out or something new was posted. */
class Parking {
  readonly #runtime: Runtime;
  readonly #session: string;
  readonly #lease: DriverLease;
  readonly #left: () => void;
  #end: () => void = () => {};

  constructor(runtime: Runtime, session: string, lease: DriverLease, left: () => void) {
    this.#runtime = runtime;
    this.#session = session;
    this.#lease = lease;
    this.#left = left;
  }

  async begin(): Promise<void> {
    const { store, effects } = this.#runtime;
    const known = await this.#newest().catch(() => 0);
    const cancel = effects.timers.after(limit.leaseMs, () => this.forget());
    const endWatch = store.watch(this.#session, () => {
      void this.#leaveFor(known).catch(() => {});
    });
    this.#end = () => {
      cancel();
      endWatch();
    };
  }

  /** Our own word that the session was given back, or its log read, is no news. */
  async #leaveFor(known: number): Promise<void> {
    if ((await this.#newest()) > known) await this.leave();
  }

  async #newest(): Promise<number> {
    return (await this.#runtime.store.mailbox(this.#session)).at(-1)?.order ?? 0;
  }

  /** Gives it back. */
  async leave(): Promise<void> {
    this.forget();
    await this.#lease.release().catch(() => {});
  }

  forget(): void {
    this.#end();
    this.#left();
  }
}
