/**
 * Workers that look after one another: each waits, on a connection of its own, for the end of the next one's connection.
 *
 * Owns: who waits for whom, and the wait. Does not own: what a wait's end leads to (its owner: work is asked for). A worker's
 * *mark* is an advisory lock on its reserved connection; of the marks, in a ring by number, each worker waits for the next.
 * Invariants:
 * 1. A hint: who has gone is nobody's decision here. Without it, work is found by asking, and a lease runs out.
 * 2. Whoever waits holds nothing: there is no circle of waits. A wait ends before its silence would count as that of a dead
 *    line (`lockMs`), and keeps no old rows from being vacuumed and no server busy with one that has died.
 */
import { createHash } from "node:crypto";
import type { Timers } from "@pawl/core/store";
import type { Reserved } from "./database.ts";
import type { Link } from "./link.ts";

/** One wait at most, and with that how long a ring that has changed unheard stays as it was. */
const longestWaitMs = 30_000;
/** A server that went away is asked again as the reserved connection is. */
const againMs = 250;
/** Nobody who closes a store waits longer for a line that is dead. */
const endMs = 1_000;
/** A worker whose connection broke, and which lives, is connected again by then: it must not be robbed of its turns for that. */
const graceMs = 50;

/** Marks of one schema share their first number. */
export function ringOf(schema: string): number {
  return createHash("sha256").update(`pawl ring ${schema}`).digest().readUInt32BE() >>> 1;
}

export function markSql(ring: number, mark: number): string {
  return `SELECT pg_try_advisory_lock(${ring}, ${mark})`;
}

/** Those who wait for a mark share it: they have none. */
const marks = `
SELECT k.objid::bigint AS mark FROM pg_catalog.pg_locks k
WHERE k.locktype = 'advisory' AND k.objsubid = 2 AND k.granted AND k.mode = 'ExclusiveLock' AND k.classid = $1::int::oid
  AND k.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())`;

/** Nothing that an operator has bounded for statements may end a wait; what a server does not know, it does not have. */
const unbounded = `
SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings
WHERE name IN ('statement_timeout', 'transaction_timeout', 'idle_session_timeout')`;

/** The end of a wait that is no end of a worker is caught: it is no error in anybody's log. */
function waitSql(ring: number, mark: number, waitMs: number): string {
  return `DO $$ BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', '${waitMs}ms', true);
    PERFORM pg_catalog.pg_advisory_xact_lock_shared(${ring}, ${mark});
  EXCEPTION WHEN lock_not_available OR query_canceled THEN NULL;
  END $$`;
}

export interface NeighbourEvents {
  /** Another worker's mark has gone out. */
  onGone(): void;
}

export class Neighbour {
  readonly #link: Link;
  readonly #timers: Timers;
  readonly #ring: number;
  readonly #events: NeighbourEvents;
  /** Our own, as long as it stands. */
  #mark: number | undefined;
  /** Whose end is waited for. */
  #next: number | undefined;
  #reserved: Reserved | undefined;
  #backend: number | undefined;
  #wake: () => void = () => {};
  #state: "looking" | "waiting" = "looking";
  /** The ring has changed since it was read. */
  #stale = false;
  #running: Promise<void> | undefined;
  #ended = false;

  constructor(link: Link, timers: Timers, ring: number, events: NeighbourEvents) {
    this.#link = link;
    this.#timers = timers;
    this.#ring = ring;
    this.#events = events;
  }

  /** Our mark stands. */
  begin(mark: number): void {
    this.#mark = mark;
    this.#look();
    if (this.#link.database.spare && !this.#ended) this.#running ??= this.#run();
  }

  /** Somebody has come, who may stand between us and the next. */
  joined(mark: number): void {
    if (mark !== this.#mark && (this.#next === undefined || this.#distance(mark) < this.#distance(this.#next)))
      this.#look();
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      try {
        this.#reserved ??= await this.#connect();
        await this.#round(this.#reserved);
      } catch {
        await this.#release();
        await this.#pause(againMs);
      }
    }
  }

  async #round(reserved: Reserved): Promise<void> {
    this.#stale = false;
    const rows = await reserved.query(marks, [this.#ring]);
    const standing = rows.map((row) => Number(row["mark"]));
    if (this.#next !== undefined && !standing.includes(this.#next)) this.#gone();
    this.#next = standing
      .filter((mark) => mark !== this.#mark)
      .sort((a, b) => this.#distance(a) - this.#distance(b))
      .at(0);
    if (this.#ended || this.#stale) return;
    if (this.#next === undefined) return this.#pause(longestWaitMs);
    this.#state = "waiting";
    const waitMs = Math.min(this.#link.database.lockMs, longestWaitMs);
    await reserved.query(waitSql(this.#ring, this.#next, waitMs)).finally(() => {
      this.#state = "looking";
    });
  }

  /** How far behind us in the ring. */
  #distance(mark: number): number {
    return (mark - (this.#mark ?? 0)) >>> 0;
  }

  #gone(): void {
    this.#timers.after(graceMs, () => {
      if (!this.#ended) this.#events.onGone();
    });
  }

  async #connect(): Promise<Reserved> {
    const { reserve } = this.#link.database;
    if (!reserve) throw new Error("no connection can be reserved");
    const lost = () => {
      this.#reserved = undefined;
    };
    const reserved = await reserve({ onNotice: () => {}, onLost: lost });
    try {
      await this.#prepare(reserved);
    } catch (error) {
      // Tried again for as long as there is a worker: what is not given back each time would use up the server's connections.
      await reserved.release().catch(() => {});
      throw error;
    }
    return reserved;
  }

  async #prepare(reserved: Reserved): Promise<void> {
    await reserved.query(unbounded);
    // A process that was killed while it waited leaves a backend that does not read: where it can, it looks by itself.
    await reserved.query("SET client_connection_check_interval = '1s'").catch(() => {});
    const [row] = await reserved.query("SELECT pg_backend_pid() AS pid");
    this.#backend = Number(row?.["pid"]);
  }

  /** Ends the wait, whatever it is for. */
  #look(): void {
    this.#stale = true;
    this.#wake();
    if (this.#state === "waiting" && this.#backend !== undefined)
      this.#link.query("SELECT pg_cancel_backend($1::int)", [this.#backend]).catch(() => {});
  }

  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#timers.after(ms, resolve);
    this.#wake = resolve;
    if (!this.#ended) await promise;
    cancel();
  }

  async #release(): Promise<void> {
    const reserved = this.#reserved;
    this.#reserved = undefined;
    await reserved?.release().catch(() => {});
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#look();
    // The word that ends the wait may have come before the wait itself, or not at all.
    const cancel = this.#timers.after(endMs, () => void this.#release());
    await this.#running;
    cancel();
    await this.#release();
  }
}
