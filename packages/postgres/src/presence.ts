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

/** A server that was restarted is back within seconds, and takes over meanwhile from nobody. */
const againMs = 250;

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
}

export class Presence {
  /** The lock's number: of this store, whatever connection holds it. */
  readonly #number = randomInt(2 ** 47);
  readonly #link: Link;
  readonly #timers: Timers;
  readonly #channel: string;
  readonly #events: PresenceEvents;
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
      await reserved.query(`LISTEN "${this.#channel}"`);
      await this.#light(reserved);
      this.#events.onConnected();
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

  #lost(): void {
    this.#reserved = undefined;
    this.#again();
  }

  #again(): void {
    if (this.#ended || this.#waiting) return;
    this.#waiting = true;
    this.#timers.after(againMs, () => {
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
    await this.#opening;
    await this.#release();
  }
}
