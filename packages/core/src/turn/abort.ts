import type { Failure } from "../log/value.ts";

/**
 * The abort of the open turn. Addressed to one turn: what comes too late, or for another, does nothing.
 *
 * Two ways in: for this turn alone (a person stops it), and for good (the caller's signal, a lost lease), after which
 * the driver opens no further turn.
 */
export class TurnAbort {
  /** Why the open turn was stopped, where policy did it. */
  failure: Failure | undefined;

  #turn = new AbortController();
  readonly #forGood: AbortSignal;

  constructor(forGood: AbortSignal) {
    this.#forGood = forGood;
    forGood.addEventListener("abort", () => this.#turn.abort(forGood.reason), { once: true });
    if (forGood.aborted) this.#turn.abort(forGood.reason);
  }

  get signal(): AbortSignal {
    return this.#turn.signal;
  }

  get aborted(): boolean {
    return this.#turn.signal.aborted;
  }

  /** Whether no further turn may open. */
  get closed(): boolean {
    return this.#forGood.aborted;
  }

  abort(reason: unknown): void {
    this.#turn.abort(reason);
  }

  /** Policy stops the turn. */
  fail(failure: Failure): void {
    this.failure ??= failure;
    this.#turn.abort(new DOMException(failure.message, "AbortError"));
  }

  /** A new turn begins: the abort of the one before does not touch it. */
  renew(): void {
    this.failure = undefined;
    if (this.#turn.signal.aborted && !this.#forGood.aborted) this.#turn = new AbortController();
  }
}
