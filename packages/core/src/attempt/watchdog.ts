/**
 * Notices silence. Armed before dispatch, so that no phase of a request is without a deadline.
 *
 * Two clocks: any part re-arms the transport clock, only what a model produced re-arms the progress clock; so pings
 * keep a slow thinker alive for minutes, not for ever, and a stream of argument deltas lives as long as it flows.
 */
import type { Effects } from "../effects.ts";
import { limit } from "../limit.ts";

/** Milliseconds; 0 switches one off. */
export interface WatchPolicy {
  /** From dispatch to the first part: DNS, connect, TLS, queueing, prompt processing. */
  firstMs: number;
  /** Between any two parts. */
  silenceMs: number;
  /** Between two parts that are progress. */
  progressMs: number;
  /** The whole attempt. */
  totalMs: number;
}

export const defaultWatch: WatchPolicy = {
  // Long prompts on busy hardware take minutes before the first byte.
  firstMs: 180_000,
  silenceMs: 120_000,
  progressMs: 600_000,
  totalMs: 0,
};

export class Watchdog {
  /** What expired, in words; undefined while all is well. */
  expired: string | undefined;

  readonly #effects: Effects;
  readonly #policy: WatchPolicy;
  readonly #onExpire: () => void;
  readonly #startedAt: number;
  #partAt: number | undefined;
  #progressAt = 0;
  #cancel: (() => void) | undefined;

  constructor(effects: Effects, policy: WatchPolicy, onExpire: () => void) {
    this.#effects = effects;
    this.#policy = policy;
    this.#onExpire = onExpire;
    this.#startedAt = effects.clock.monotonic();
    this.#arm();
  }

  /** A part came at `now` (monotonic). Costs two assignments; the timer looks at them when it fires. */
  heard(now: number, progress: boolean): void {
    // The first part changes which deadline is next: the timer that waits for it may be armed too far out.
    const first = this.#partAt === undefined;
    this.#partAt = now;
    if (progress || first) this.#progressAt = now;
    if (first) this.#arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arm(): void {
    this.#cancel?.();
    const next = this.#next();
    if (!next) return;
    const wait = Math.max(0, next.at - this.#effects.clock.monotonic());
    this.#cancel = this.#effects.timers.after(Math.min(Math.ceil(wait), limit.timerMs), () => this.#look());
  }

  #look(): void {
    const next = this.#next();
    if (!next || next.at > this.#effects.clock.monotonic()) return this.#arm();
    this.expired = next.words;
    this.#onExpire();
  }

  #next(): { at: number; words: string } | undefined {
    const { firstMs, silenceMs, progressMs, totalMs } = this.#policy;
    const seconds = (ms: number) => `${ms / 1000} s`;
    const deadlines: { at: number; words: string }[] = [];
    if (totalMs > 0)
      deadlines.push({ at: this.#startedAt + totalMs, words: `not finished within ${seconds(totalMs)}` });
    if (this.#partAt === undefined) {
      if (firstMs > 0) deadlines.push({ at: this.#startedAt + firstMs, words: `no answer within ${seconds(firstMs)}` });
    } else {
      if (silenceMs > 0) deadlines.push({ at: this.#partAt + silenceMs, words: `silent for ${seconds(silenceMs)}` });
      if (progressMs > 0)
        deadlines.push({ at: this.#progressAt + progressMs, words: `no progress for ${seconds(progressMs)}` });
    }
    return deadlines.sort((a, b) => a.at - b.at)[0];
  }
}
