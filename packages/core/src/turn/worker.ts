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
import { pause } from "../attempt/pause.ts";
import { type ErrorCode, isPawlError, PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { isWorkspace, seen, workspaceWords } from "../log/shape.ts";
import type { Workspaces } from "../store/store.ts";
import { Feed } from "../view/feed.ts";
import type { LiveItem } from "../view/live.ts";
import { type Agent, prepareAgent } from "./agent.ts";
import { DriverLease } from "./lease.ts";
import { Nudge } from "./nudge.ts";
import { driveClaimed } from "./open.ts";
import { type Runtime, Session } from "./session.ts";
import type { WorkerEvent } from "./worker-event.ts";

export interface WorkerOptions {
  runtime: Runtime;
  /** What a session is driven with; asked at each claim. Where it throws, the session is left to others for a while. */
  agent(session: Session): Agent | Promise<Agent>;
  /**
   * The workspaces that are here, by the names that sessions ask for them; default: none. Sessions that need no workspace are driven
   * by any worker, one that needs another than these by none but a worker that has it. `any`: whichever is asked for, `agent` makes
   * it be here.
   */
  workspaces?: Workspaces;
  /** Sessions driven at once; default 4. */
  concurrency?: number;
  /** How often the store is asked for work while places are free, ms; default 200. */
  pollMs?: number;
  /** Calls `notify` when there may be work, so that it need not be asked for: a store's own word, or a queue's. */
  wake?(notify: () => void): () => void;
  /** Hears what happens, as it happens. What it throws is nobody's. */
  on?(event: WorkerEvent): void;
  /**
   * Hears of what stopped a claim: a session that cannot be driven, or a store that is away (then without a session). What it
   * throws is nobody's.
   */
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
  const { concurrency = 4, pollMs = 200, workspaces = [] } = options;
  for (const [name, value] of Object.entries({ concurrency, pollMs })) {
    if (!(value >= 1 && value <= limit.timerMs))
      throw new PawlError("INVALID_INPUT", `a worker's ${name} is 1 or more, is ${seen(value)}`);
  }
  const odd = workspaces === "any" ? undefined : workspaces.find((workspace) => !isWorkspace(workspace));
  if (odd !== undefined) throw new PawlError("INVALID_INPUT", workspaceWords(odd));
  return new SessionWorker({ ...options, concurrency, pollMs, workspaces });
}

type Settings = WorkerOptions & Required<Pick<WorkerOptions, "concurrency" | "pollMs" | "workspaces">>;

/** A store that is away is not asked ten times a second by every worker. */
const awayMs = 1_000;
/** Not the session's fault: somebody who reaches the store may go on with it at once. */
const storeIsAway: ReadonlySet<ErrorCode> = new Set(["STORE_UNAVAILABLE", "STORE_FULL", "STORE_CLOSED"]);

function isAway(error: unknown): boolean {
  return isPawlError(error) && storeIsAway.has(error.code);
}

class SessionWorker implements Worker {
  readonly #with: Settings;
  readonly #driving = new Map<string, Promise<void>>();
  readonly #parked = new Map<string, Parking>();
  readonly #handover = new AbortController();
  readonly #endWake: () => void;
  #claiming: Promise<void> | undefined;
  /** News came while the store was asked: what it answered may be older. */
  #again = false;
  #cancel: (() => void) | undefined;
  #away = false;

  constructor(options: Settings) {
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

  /** A store that answers claims and takes no records would have the same session claimed again and again. */
  #lookLater(): void {
    if (this.#claiming || this.#handover.signal.aborted) return;
    this.#cancel?.();
    this.#cancel = this.#with.runtime.effects.timers.after(awayMs, () => this.#look());
  }

  get #free(): number {
    return this.#with.concurrency - this.#driving.size;
  }

  async #claim(): Promise<void> {
    const { runtime, pollMs, workspaces } = this.#with;
    const { store, effects, holder } = runtime;
    let waitMs = pollMs * (0.5 + effects.random());
    try {
      while (this.#again && this.#free > 0 && !this.#handover.signal.aborted) {
        this.#again = false;
        const askedAt = effects.clock.monotonic();
        const claims = await store.claimWork(holder, { limit: this.#free, ttlMs: limit.leaseMs, workspaces });
        this.#reached();
        for (const { session, epoch } of claims) this.#begin(session, epoch, askedAt);
      }
    } catch (error) {
      waitMs = Math.max(waitMs, awayMs);
      if (isAway(error)) this.#unreached(error);
      this.#complain(error);
    }
    if (!this.#handover.signal.aborted) this.#cancel = effects.timers.after(waitMs, () => this.#look());
  }

  /** A drive that has lost its lease may still wait for a deaf body: the next one of that session begins behind it. */
  #begin(session: string, epoch: number, askedAt: number): void {
    const { store, effects } = this.#with.runtime;
    this.#parked.get(session)?.forget();
    this.#parked.delete(session);
    const lease = DriverLease.adopt(store, session, effects, epoch, askedAt);
    const drive = () => this.#drive(session, lease);
    const before = this.#driving.get(session);
    const driven = (before ? before.then(drive) : drive()).finally(() => {
      if (this.#driving.get(session) === driven) this.#driving.delete(session);
      if (this.#away) this.#lookLater();
      else this.#look();
    });
    this.#driving.set(session, driven);
  }

  async #drive(session: string, lease: DriverLease): Promise<void> {
    const { runtime, agent } = this.#with;
    const { store } = runtime;
    const drive = new ToldDrive(session, this.#with.on && ((event) => this.#tell(event)));
    let failure: { error: unknown } | undefined;
    try {
      if (this.#with.on) drive.claimed(lease.epoch, (await store.get(session))?.head.openTurn);
      const prepared = await prepareAgent(await agent(new Session(runtime, session)));
      const reins = { feed: drive.feed, signal: this.#stays, nudge: new Nudge(), handover: this.#handover.signal };
      await driveClaimed(runtime, session, prepared, lease, { ...reins, turns: 1 });
    } catch (error) {
      failure = { error };
      if (isAway(error)) this.#unreached(error);
      // Taken over: whoever did goes on, and there is nothing to give back.
      if (!isPawlError(error, "FENCED")) this.#complain(error, session);
    }
    if (isAway(failure?.error)) return this.#leaveAway(drive, failure, lease);
    const parks = !drive.feed.recorded && !this.#handover.signal.aborted;
    if (!parks) await lease.release().catch(() => {});
    await drive.over(parks, failure);
    if (parks) await this.#park(session, lease);
  }

  /** Told at once: by the end of the wait the store may be back already. */
  async #leaveAway(drive: ToldDrive, failure: { error: unknown } | undefined, lease: DriverLease): Promise<void> {
    await drive.over(false, failure);
    // A store that answers a claim, and not what follows from it, is not asked in a loop either.
    await pause(this.#with.runtime.effects.timers, awayMs, this.#handover.signal);
    await lease.release().catch(() => {});
  }

  #tell(event: WorkerEvent): void {
    try {
      this.#with.on?.(event);
    } catch {
      // Whoever listens must not stop what they listen to.
    }
  }

  #complain(error: unknown, session?: string): void {
    try {
      this.#with.onError?.(error, session);
    } catch {
      // Thrown on, it would end the process, and every turn that is driven here.
    }
  }

  #unreached(error: unknown): void {
    if (!this.#away) this.#tell({ type: "store-away", error });
    this.#away = true;
  }

  #reached(): void {
    if (this.#away) this.#tell({ type: "store-back" });
    this.#away = false;
  }

  /** A worker stops no turn: it hands over, or is gone. */
  readonly #stays = new AbortController().signal;

  async #park(session: string, lease: DriverLease): Promise<void> {
    lease.rest();
    const parking = new Parking(this.#with.runtime, session, lease, () => {
      // By now it may be another claim of the same session that is parked.
      if (this.#parked.get(session) === parking) this.#parked.delete(session);
    });
    this.#parked.set(session, parking);
    await parking.begin();
    // Drained meanwhile, perhaps before it stood among those that are given back.
    if (this.#handover.signal.aborted) await parking.leave();
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

/** One claim, as it is told. */
class ToldDrive {
  readonly feed = new ProgressFeed();
  readonly #session: string;
  /** Absent where nobody listens: then nothing is heard either. */
  readonly #tell: ((event: WorkerEvent) => void) | undefined;
  #turn: string | undefined;
  #heard: Promise<void> | undefined;

  constructor(session: string, tell: ((event: WorkerEvent) => void) | undefined) {
    this.#session = session;
    this.#tell = tell;
  }

  claimed(epoch: number, takesOver: string | undefined): void {
    const tell = this.#tell;
    if (!tell) return;
    this.#turn = takesOver;
    this.#heard = this.#hear(tell);
    const live = { [Symbol.asyncIterator]: () => this.feed.subscribe() };
    const open = takesOver === undefined ? {} : { takesOver };
    tell({ type: "claimed", session: this.#session, epoch, live, ...open });
  }

  async #hear(tell: (event: WorkerEvent) => void): Promise<void> {
    for await (const item of this.feed.subscribe()) {
      if (item.type !== "entry") continue;
      const { event } = item.entry;
      if (event.type === "turn.started") this.#turn = event.turn;
      if (event.type !== "turn.ended") continue;
      this.#turn = undefined;
      tell({ type: "ended", session: this.#session, turn: event.turn, outcome: event.outcome });
    }
  }

  async over(parks: boolean, failure: { error: unknown } | undefined): Promise<void> {
    this.feed.end();
    await this.#heard;
    // Without a beginning that was told (the store was gone already) there is no end to tell.
    if (this.#heard) this.#tell?.(this.#endOf(parks, failure));
  }

  #endOf(parks: boolean, failure: { error: unknown } | undefined): WorkerEvent {
    const session = this.#session;
    if (failure && !(parks && !isPawlError(failure.error, "FENCED"))) return { type: "lost", session, ...failure };
    if (parks) return { type: "parked", session, ...failure };
    return this.#turn === undefined
      ? { type: "released", session }
      : { type: "handed-over", session, turn: this.#turn };
  }
}

/** A lease that is kept, unused, until it runs out or something new was posted. */
class Parking {
  readonly #runtime: Runtime;
  readonly #session: string;
  readonly #lease: DriverLease;
  readonly #left: () => void;
  #over = false;
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
    if (this.#over) return;
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
    this.#over = true;
    this.#end();
    this.#left();
  }
}
