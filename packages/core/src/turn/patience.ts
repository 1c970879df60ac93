/**
 * Waits out a full disk: the driver is *paused*.
 *
 * What could not be written stays staged, in order, and is tried again; since every effect waits for its own fact, nothing
 * new is sent, waited for or entered meanwhile. Bodies that run go on. It gives up once, after its time or when the
 * drive is stopped: then the lease is dropped and the session reads as interrupted.
 */
import { pause } from "../attempt/pause.ts";
import type { Effects } from "../effects.ts";
import { isPawlError } from "../error.ts";
import type { Feed } from "../view/feed.ts";

/** Space comes back when somebody has looked: seconds at first, then without hammering a sick disk. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

export class Patience {
  readonly #effects: Effects;
  readonly #feed: Feed;
  readonly #signal: AbortSignal;
  #leftMs: number;
  /** Said, and not taken back yet: what ends a pause is something written, not that it is tried no more. */
  #isPaused = false;

  /** `pauseMs`: how long all pauses of the drive may last together; `signal` ends a pause at once. */
  constructor(effects: Effects, feed: Feed, pauseMs: number, signal: AbortSignal) {
    this.#effects = effects;
    this.#feed = feed;
    this.#leftMs = pauseMs;
    this.#signal = signal;
  }

  /** Repeats `write` while the store is full. Rejects with what else went wrong, or with STORE_FULL when it gives up. */
  async through<T>(write: () => Promise<T>): Promise<T> {
    let waitMs = firstWaitMs;
    for (;;) {
      try {
        const written = await write();
        if (this.#isPaused) this.#feed.push({ type: "resumed" });
        this.#isPaused = false;
        return written;
      } catch (error) {
        if (!isPawlError(error, "STORE_FULL") || this.#leftMs <= 0 || this.#signal.aborted) throw error;
        if (!this.#isPaused)
          this.#feed.push({ type: "paused", reason: error.message, since: this.#effects.clock.now() });
        this.#isPaused = true;
        await this.#wait(Math.min(waitMs, this.#leftMs));
        waitMs = Math.min(waitMs * 2, longestWaitMs);
      }
    }
  }

  async #wait(ms: number): Promise<void> {
    this.#leftMs -= ms;
    await pause(this.#effects.timers, ms, this.#signal);
    if (this.#signal.aborted) this.#leftMs = 0;
  }
}
