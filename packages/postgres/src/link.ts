/**
 * The store's way to its database: schema names, waiting out a server that is away, closing.
 *
 * Owns: how long something is tried again. Does not own: whether what got no answer was done (each operation: it is told
 * that an earlier try may have gone through). Invariants:
 * 1. What was accepted before `close` is waited for; what comes after says STORE_CLOSED.
 * 2. Nothing is tried for longer than `patienceMs`: then it says STORE_UNAVAILABLE, and its caller decides. A try that has
 *    no answer after `answerMs` counts as lost: a client may wait for ever on a line that is dead, or that is made anew
 *    again and again.
 */
import { storeClosed, type Timers } from "@pawl/core/store";
import type { Database, Query } from "./database.ts";
import { prospectOf, storeFault } from "./fault.ts";

/** A restart takes a second or two: soon at first, then without hammering a server that comes up. */
const firstWaitMs = 20;
const longestWaitMs = 500;

/** Of one try: `uncertain` where an earlier one got no answer and may have been done. */
export type Attempt<T> = (uncertain: boolean) => Promise<T>;

export interface LinkTimes {
  patienceMs: number;
  answerMs: number;
}

/** As the network would say it, had it noticed. */
class NoAnswer extends Error {
  readonly code = "ETIMEDOUT";

  constructor(answerMs: number) {
    super(`no answer within ${answerMs} ms`);
  }
}

export class Link {
  readonly query: Query;
  readonly database: Database;
  readonly #timers: Timers;
  readonly #patienceMs: number;
  readonly #answerMs: number;
  readonly #schema: string;
  readonly #texts = new Map<string, string>();
  readonly #pending = new Set<Promise<unknown>>();
  #closed = false;

  constructor(database: Database, schema: string, timers: Timers, { patienceMs, answerMs }: LinkTimes) {
    this.database = database;
    this.#schema = schema;
    this.#timers = timers;
    this.#patienceMs = patienceMs;
    this.#answerMs = answerMs;
    this.query = (text, values) => database.query(this.text(text), values);
  }

  get isOpen(): boolean {
    return !this.#closed;
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

  transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.database.transaction((query) => work((text, values) => query(this.text(text), values)));
  }

  /** Repeats `attempt` while the server is away. */
  async run<T>(attempt: Attempt<T>): Promise<T> {
    this.assertOpen();
    return this.accept(this.tries(attempt));
  }

  /** For what cannot be repeated. */
  async once<T>(work: () => Promise<T>): Promise<T> {
    this.assertOpen();
    return this.accept(
      work().catch((error) => {
        throw storeFault(error);
      }),
    );
  }

  /** `close` waits for `running`. */
  async accept<T>(running: Promise<T>): Promise<T> {
    this.#pending.add(running);
    try {
      return await running;
    } finally {
      this.#pending.delete(running);
    }
  }

  /** As `run`, for what was accepted already. */
  async tries<T>(attempt: Attempt<T>): Promise<T> {
    let uncertain = false;
    let waitMs = firstWaitMs;
    for (let leftMs = this.#patienceMs; ; leftMs -= waitMs, waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        return await this.#answered(attempt(uncertain));
      } catch (error) {
        if (error instanceof NoAnswer) leftMs -= this.#answerMs;
        const prospect = prospectOf(error);
        if (prospect === "final" || leftMs <= 0) throw storeFault(error);
        uncertain ||= prospect === "lost";
        await new Promise<void>((resolve) => this.#timers.after(waitMs, resolve));
      }
    }
  }

  async #answered<T>(asked: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = this.#timers.after(this.#answerMs, () => reject(new NoAnswer(this.#answerMs)));
    try {
      return await Promise.race([asked, late]);
    } finally {
      cancel();
      // Whoever has given up on it does not hear how it ends.
      asked.catch(() => {});
    }
  }

  async close(last: () => Promise<void>): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.allSettled(this.#pending);
    await last();
    await this.database.close();
  }
}
