/**
 * Whether a process that holds leases is still connected: an advisory lock on its reserved connection, its *beacon*.
 *
 * Owns: the reserved connection, and what is heard on it. Invariants:
 * 1. A hint in one direction: a beacon that is out lets others take over at once, and the fence keeps a holder that lives
 *    all the same from writing (L8). One that shines proves nothing: a lease ends by its own moment.
 * 2. Behind a pooler there is none, and expiry alone counts.
 */
import { randomInt } from "node:crypto";
import type { Timers } from "@pawl/core/store";
import type { Reserved } from "./database.ts";
import type { Link } from "./link.ts";
import { markSql, ringOf } from "./neighbour.ts";

/** A server that was restarted is back within seconds, and takes over meanwhile from nobody. */
const againMs = 250;
/**
 * Whoever has just come back does not judge others by their beacons: after a restart of the server all of them are out, and
 * whoever is first would take over from all who live.
 */
const settleMs = 2_000;
/** Of a lock with two numbers. */
const most = 2 ** 31 - 1;

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
  #judges = true;
  #settling: () => void = () => {};
  #opening: Promise<void> | undefined;
  #reserved: Reserved | undefined;
  #shines = false;
  #ended = false;
  #waiting = false;

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

  /** Our own leases are never taken for a dead one's. */
  get own(): number {
    return this.#number;
  }

  /** Whether a beacon that is out says something. */
  get judges(): boolean {
    return this.#judges;
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

  /** Connects once; what fails is tried again by itself. */
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
      this.#settle();
      this.#events.onConnected();
      if (this.#enrolled) await this.#enter(reserved);
    } catch {
      await this.#release();
      this.#again();
    }
  }

  /** The server may not have noticed yet that our last connection is gone: that lock shines for us as well. */
  async #light(reserved: Reserved): Promise<void> {
    const [row] = await reserved.query("SELECT pg_try_advisory_lock($1::bigint) AS held", [this.#number]);
    this.#shines = row?.["held"] === true;
    if (this.#shines || this.#ended) return;
    this.#timers.after(againMs, () => void this.#light(reserved).catch(() => {}));
  }

  #settle(): void {
    if (this.#judges || this.#ended) return;
    this.#settling();
    this.#settling = this.#timers.after(settleMs, () => {
      this.#judges = this.#reserved !== undefined;
    });
  }

  /** The line alone may be gone: then others should not see our beacon out for longer than it takes to connect. */
  #lost(): void {
    this.#reserved = undefined;
    this.#judges = false;
    this.#again(0);
  }

  #again(ms = againMs): void {
    if (this.#ended || this.#waiting) return;
    this.#waiting = true;
    this.#timers.after(ms, () => {
      this.#waiting = false;
      this.#opening = this.#connect();
    });
  }

  async #release(): Promise<void> {
    const reserved = this.#reserved;
    this.#reserved = undefined;
    await reserved?.release().catch(() => {});
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#settling();
    await this.#opening;
    await this.#release();
  }
}
