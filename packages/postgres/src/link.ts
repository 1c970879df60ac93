/**
 * The store's way to its database: schema names, waiting out a server that is away, closing.
 *
 * Owns: how long something is tried again. Does not own: whether what got no answer was done (each operation: it is told
 * that an earlier try may have gone through), when a connection counts as dead (client). Invariants:
 * 1. What was accepted before `close` is waited for; what comes after says STORE_CLOSED.
 * 2. Nothing is tried again once its patience is over: then it says STORE_UNAVAILABLE, and its caller decides. Patience
 *    counts from the moment it was accepted: of a hundred in one line the last does not wait a hundred times as long, and
 *    what is kept for a server that is away stays within what is asked in that time.
 */
import { storeClosed, type Timers } from "@pawl/core/store";
import { type Ask, type Database, type Query, queryOf } from "./database.ts";
import { prospectOf, storeFault } from "./fault.ts";

/** A restart takes a second or two: soon at first, then without hammering a server that comes up. */
const firstWaitMs = 20;
const longestWaitMs = 500;

/** Of one try: `uncertain` where an earlier one got no answer and may have been done. */
export type Attempt<T> = (uncertain: boolean) => Promise<T>;

export class Link {
  readonly ask: Ask;
  readonly query: Query;
  readonly database: Database;
  readonly #timers: Timers;
  readonly #patienceMs: number;
  readonly #schema: string;
  readonly #texts = new Map<string, string>();
  /** How much was accepted and has not ended. */
  #running = 0;
  #closed: PromiseWithResolvers<void> | undefined;

  /** Why the server was given up, until it answers again. */
  #away: unknown;

  constructor(database: Database, schema: string, timers: Timers, patienceMs: number) {
    this.database = database;
    this.#schema = schema;
    this.#timers = timers;
    this.#patienceMs = patienceMs;
    this.ask = (text, values) => database.ask(this.text(text), values);
    this.query = queryOf(this.ask);
  }

  get isOpen(): boolean {
    return this.#closed === undefined;
  }

  assertOpen(): void {
    if (this.#closed) throw storeClosed();
  }

  /** SQL is written for the schema `pawl`; this is the same for ours. */
  text(sql: string): string {
    let text = this.#texts.get(sql);
    if (text === undefined) {
      text = sql.replace(/\bpawl\./g, `${this.#schema}.`);
      this.#texts.set(sql, text);
    }
    return text;
  }

  transaction<T>(work: (query: Query) => Promise<T>, pace?: "slow"): Promise<T> {
    return this.database.transaction((query) => work((text, values) => query(this.text(text), values)), pace);
  }

  /** Repeats `attempt` while the server is away. */
  run<T>(attempt: Attempt<T>): Promise<T> {
    return this.inTurn((work) => work(), attempt);
  }

  /** The same, when `turn` calls it: accepted now, though others go first. */
  async inTurn<T>(turn: (work: () => Promise<T>) => Promise<T>, attempt: Attempt<T>): Promise<T> {
    this.#accept();
    const patience = new Patience(this.#timers, this.#patienceMs);
    try {
      return await turn(() => this.#tries(attempt, patience));
    } finally {
      patience.end();
      this.#leave();
    }
  }

  /** For what cannot be repeated. */
  async once<T>(work: () => Promise<T>): Promise<T> {
    this.#accept();
    try {
      return await work();
    } catch (error) {
      throw storeFault(error);
    } finally {
      this.#leave();
    }
  }

  /** `close` waits until it leaves. */
  #accept(): void {
    this.assertOpen();
    this.#running += 1;
  }

  #leave(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#closed?.resolve();
  }

  async #tries<T>(attempt: Attempt<T>, patience: Patience): Promise<T> {
    // It has waited behind others that were given up: to try in vain once more would make the next one wait, too.
    if (patience.isOver && this.#away !== undefined) throw storeFault(this.#away);
    let uncertain = false;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        const done = await attempt(uncertain);
        this.#away = undefined;
        return done;
      } catch (error) {
        const prospect = prospectOf(error);
        if (prospect === "final") throw storeFault(error);
        if (patience.isOver) {
          this.#away = error;
          throw storeFault(error);
        }
        uncertain ||= prospect === "lost";
        await new Promise<void>((resolve) => this.#timers.after(waitMs, resolve));
      }
    }
  }

  async close(last: () => Promise<void>): Promise<void> {
    if (this.#closed) return;
    this.#closed = Promise.withResolvers();
    if (this.#running > 0) await this.#closed.promise;
    await last();
    await this.database.close();
  }
}

class Patience {
  isOver: boolean;
  readonly end: () => void;

  constructor(timers: Timers, ms: number) {
    this.isOver = ms <= 0;
    this.end = timers.after(ms, () => {
      this.isOver = true;
    });
  }
}
