/**
 * A world without time: nothing happens until the test says so, and then always in the same order.
 */
import type { Effects } from "../effects.ts";
import { validateJsonSchema } from "../node/validate.ts";
import type { Holder } from "../store/store.ts";

interface Timer {
  at: number;
  fn: () => void;
}

/** Where {@link FakeEffects.run} gives up: longer than any wait of the runtime, shorter than a test of nothing. */
const patienceMs = 24 * 60 * 60_000;

export class FakeEffects implements Effects {
  /** UTC ms. Starts at a fixed moment, so that every run of a test is the same. May be set: wall clocks jump. */
  time = Date.UTC(2026, 0, 1);
  #elapsed = 0;
  #ids = 0;
  /** In order of setting; the sort that finds the next one is stable. */
  #timers: Timer[] = [];
  readonly validate = validateJsonSchema;

  readonly clock = { now: () => this.time, monotonic: () => this.#elapsed };

  readonly timers = {
    after: (ms: number, fn: () => void) => {
      const timer = { at: this.#elapsed + Math.max(0, ms), fn };
      this.#timers.push(timer);
      return () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      };
    },
  };

  /** Always the middle: jitter is tested where it is decided. */
  random(): number {
    return 0.5;
  }

  /** Counts up, over all prefixes: ids tell in which order things were made. */
  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${String(this.#ids).padStart(6, "0")}`;
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Lets time pass; due timers fire in order of their moment. What they set off has not run when this returns. */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (let due = this.#next(end); due; due = this.#next(end)) {
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#pass(due.at - this.#elapsed);
      due.fn();
    }
    this.#pass(end - this.#elapsed);
  }

  /** Lets everything that needs no time happen: promises, and work under way in files and threads for a few turns. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  /**
   * Lets time pass until `done` settles: all that can happen without time, then the next timer, and so on. For a test
   * that need not care about waits. Rejects where nothing is left that could settle it.
   */
  async run<T>(done: Promise<T>): Promise<T> {
    let settled = false;
    const end = () => {
      settled = true;
    };
    done.then(end, end);
    const until = this.#elapsed + patienceMs;
    for (;;) {
      await this.settle();
      if (settled) return done;
      const next = this.#next(until);
      if (!next)
        throw new Error(`nothing has settled the promise in ${patienceMs} ms of fake time, and no timer waits`);
      this.advance(next.at - this.#elapsed);
    }
  }

  #next(until: number): Timer | undefined {
    return this.#timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0];
  }

  #pass(ms: number): void {
    this.#elapsed += ms;
    this.time += ms;
  }
}

export function fakeHolder(name = "test"): Holder {
  return { id: name, host: "test-host", boot: "test-boot", pid: 1, start: name };
}
