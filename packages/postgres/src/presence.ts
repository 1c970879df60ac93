/**
 * Whether a process that holds leases is still connected: an advisory lock on its reserved connection, its *beacon*.
 *
 * Owns: the reserved connection, and what is heard on it. Invariants:
 * 1. A hint in one direction: a beacon that is out lets others take over at once, and the fence keeps a holder that lives
 *    all the same from writing (L8). One that shines proves nothing: a lease ends by its own moment.
 * 2. Behind a pooler there is none, and expiry alone counts.
 * 3. Whoever has just lost its own connection, or found a server that has just started, does not judge others by theirs: they
 *    have all lost them, and to take over from each other would cost every one its work.
 * 4. The connection is asked now and then: a network that swallows everything tells nobody, and the server may have given up
 *    a beacon that we still write into our leases.
 */
import { randomInt } from "node:crypto";
import { isPawlError } from "@pawl/core";
import type { Timers } from "@pawl/core/store";
import type { Reserved } from "./database.ts";
import type { Link } from "./link.ts";
import { markSql, ringOf } from "./neighbour.ts";

/** A server that was restarted is back within seconds, and takes over meanwhile from nobody. */
const againMs = 250;
/** By then all who lost their connections together have new ones. */
const forgivingMs = 3_000;
/** A third of a lease: what is dead is noticed before a lease that rests on it is renewed twice. */
const beatMs = 5_000;
/** Of a lock with two numbers. */
const most = 2 ** 31 - 1;

const light = `SELECT pg_try_advisory_lock($1::bigint) AS held,
  clock_timestamp() - pg_postmaster_start_time() < interval '${forgivingMs} ms' AS young`;

/** In SQL: the lease in row `alias` was taken by a process whose connection has ended. */
export function beaconIsOut(alias: string): string {
  return `(${alias}.beacon IS NOT NULL AND ${alias}.beacon NOT IN (
    SELECT (k.classid::bigint << 32) | k.objid::bigint FROM pg_catalog.pg_locks k
    WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted
      AND k.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())))`;
}

export interface PresenceEvents {
  onNotice(payload: string): void;
  /** A new connection: what was said meanwhile was not heard. */
  onConnected(): void;
  /** Others can see that we are a worker, by this mark. */
  onMarked(mark: number): void;
}

export class Presence {
  /** The lock's number: of this store, whatever connection holds it. */
  readonly #number = randomInt(2 ** 47);
  readonly #link: Link;
  readonly #timers: Timers;
  readonly #channel: string;
  readonly #events: PresenceEvents;
  readonly #ring: number;
  #enrolled = false;
  /** The connection that our mark is on. */
  #marked: Reserved | undefined;
  #opening: Promise<void> | undefined;
  #reserved: Reserved | undefined;
  #shines = false;
  #ended = false;
  #waiting = false;
  #forgiving = false;
  #cancelBeat = () => {};
  /** What is due, so that nothing of a closed store keeps its process. */
  readonly #due = new Set<() => void>();

  constructor(link: Link, timers: Timers, channel: string, events: PresenceEvents) {
    this.#link = link;
    this.#timers = timers;
    this.#channel = channel;
    this.#events = events;
    this.#ring = ringOf(channel);
  }

  get isPossible(): boolean {
    return this.#link.database.reserve !== undefined;
  }

  /** Whether notifications arrive. */
  get isConnected(): boolean {
    return this.#reserved !== undefined;
  }

  /** For the row of a lease: null where no lock stands for us. */
  get beacon(): number | null {
    return this.#shines ? this.#number : null;
  }

  /** Our own leases are never taken for a dead one's. Null where nobody's are. */
  get own(): number | null {
    return this.#forgiving ? null : this.#number;
  }

  /** From now on we are a worker, whose end others wait for. */
  enroll(): void {
    if (this.#enrolled) return;
    this.#enrolled = true;
    if (this.#reserved) void this.#enter(this.#reserved).catch(() => {});
  }

  /** Each connection has a mark of its own: that of the last one may stand for a while. */
  async #enter(reserved: Reserved): Promise<void> {
    if (this.#marked === reserved) return;
    this.#marked = reserved;
    const mark = randomInt(most);
    await reserved.query(markSql(this.#ring, mark));
    if (!this.#ended) this.#events.onMarked(mark);
  }

  /** Connects once; what fails is tried again by itself. Fails with INVALID_INPUT where a pooler stands in between. */
  open(): Promise<void> {
    this.#opening ??= this.#connect();
    return this.#opening;
  }

  async #connect(): Promise<void> {
    const { reserve } = this.#link.database;
    if (!reserve || this.#ended) return;
    try {
      const reserved = await reserve({ onNotice: this.#events.onNotice, onLost: () => this.#lost() });
      this.#reserved = reserved;
      // Closed while it was opened.
      if (this.#ended) return await this.#release();
      await this.#light(reserved);
      await reserved.query(`LISTEN "${this.#channel}"`);
      this.#events.onConnected();
      this.#beat(reserved);
      if (this.#enrolled) await this.#enter(reserved);
    } catch (error) {
      await this.#release();
      // Found out later, on a new connection, it is left at what works without one.
      if (isPawlError(error) && !this.#forgiving) throw error;
      this.#forgiving = true;
      this.#again();
    }
  }

  /** With an answer it is asked again; without one it has been thrown away. */
  #beat(reserved: Reserved): void {
    this.#cancelBeat = this.#after(beatMs, () => {
      reserved.query("SELECT 1").then(
        () => {
          if (this.#reserved === reserved) this.#beat(reserved);
        },
        () => {
          if (this.#reserved !== reserved) return;
          void reserved.release().catch(() => {});
          this.#lost();
        },
      );
    });
  }

  /** The server may not have noticed yet that our last connection is gone: that lock shines for us as well. */
  async #light(reserved: Reserved): Promise<void> {
    const [row] = await reserved.query(light, [this.#number]);
    this.#forgiving ||= row?.["young"] === true;
    this.#shines = row?.["held"] === true && this.#reserved === reserved;
    if (this.#reserved !== reserved || this.#ended) return;
    if (this.#shines && this.#forgiving) this.#judgeAgain(reserved);
    if (this.#shines) return;
    this.#relight(reserved);
  }

  /** As long as it is our connection: an odd answer must not leave us in the dark. */
  #relight(reserved: Reserved): void {
    this.#after(againMs, () => {
      if (this.#reserved !== reserved || this.#ended) return;
      this.#light(reserved).catch(() => this.#relight(reserved));
    });
  }

  #judgeAgain(reserved: Reserved): void {
    this.#after(forgivingMs, () => {
      if (this.#reserved === reserved) this.#forgiving = false;
    });
  }

  /** The line alone may be gone: then others should not see our beacon out for longer than it takes to connect. */
  #lost(): void {
    this.#reserved = undefined;
    this.#shines = false;
    this.#cancelBeat();
    this.#forgiving = true;
    this.#again(0);
  }

  #again(ms = againMs): void {
    if (this.#ended || this.#waiting) return;
    this.#waiting = true;
    this.#after(ms, () => {
      this.#waiting = false;
      this.#opening = this.#connect();
      this.#opening.catch(() => {});
    });
  }

  #after(ms: number, fn: () => void): () => void {
    const end = this.#timers.after(ms, () => {
      this.#due.delete(cancel);
      fn();
    });
    const cancel = () => {
      this.#due.delete(cancel);
      end();
    };
    this.#due.add(cancel);
    return cancel;
  }

  async #release(): Promise<void> {
    const reserved = this.#reserved;
    this.#reserved = undefined;
    await reserved?.release().catch(() => {});
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#opening?.catch(() => {});
    await this.#release();
    for (const cancel of this.#due) cancel();
  }
}
