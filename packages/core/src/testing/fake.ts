/**
 * A world without time: nothing happens until the test says so.
 */
import type { Effects } from "../effects.ts";
import { validateJsonSchema } from "../node/validate.ts";
import type { Holder } from "../store/store.ts";

interface Timer {
  at: number;
  order: number;
  fn: () => void;
}

export class FakeEffects implements Effects {
  /** UTC ms. Starts at a fixed moment, so that every run of a test is the same. */
  time = Date.UTC(2026, 0, 1);
  #elapsed = 0;
  #ids = 0;
  #order = 0;
  #timers: Timer[] = [];
  readonly validate = validateJsonSchema;

  readonly clock = { now: () => this.time, monotonic: () => this.#elapsed };

  readonly timers = {
    after: (ms: number, fn: () => void) => {
      const timer = { at: this.#elapsed + ms, order: this.#order++, fn };
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

  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${String(this.#ids).padStart(6, "0")}`;
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Lets time pass; due timers fire in order. */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#pass(due.at - this.#elapsed);
      due.fn();
    }
    this.#pass(end - this.#elapsed);
  }

  /** Lets pending promises run, then fires the next timer, until `done` settles: a test that need not care about waits. */
  async run<T>(done: Promise<T>): Promise<T> {
    let settled = false;
    const finished = done.finally(() => {
      settled = true;
    });
    finished.catch(() => {});
    while (!settled) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#timers.map((timer) => timer.at).sort((a, b) => a - b)[0];
      // Real work (a socket, a file) may be under way: time only passes when a short wait is asked for.
      if (!settled && next !== undefined && next - this.#elapsed < 60_000 && !this.#isLeaseTimer(next))
        this.advance(next - this.#elapsed);
    }
    return finished;
  }

  #isLeaseTimer(at: number): boolean {
    return this.#timers.length === 1 && at > this.#elapsed;
  }

  #pass(ms: number): void {
    this.#elapsed += ms;
    this.time += ms;
  }
}

export function fakeHolder(name = "test"): Holder {
  return { id: name, host: "test-host", boot: "test-boot", pid: 1, start: name };
}
