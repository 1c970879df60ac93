/**
 * What a process has used.
 *
 * CPU time counts every thread of this process (the store's worker, the collector, the compiler) and nothing of others,
 * so that neighbours on the machine disturb it less than a clock on the wall.
 */
import type { Figures } from "./row.ts";

/** Microseconds of CPU time, user and system, since the gauge was made. */
export function cpuGauge(): () => number {
  const from = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(from);
    return user + system;
  };
}

/** Microseconds on the wall since the gauge was made. */
export function wallGauge(): () => number {
  const from = performance.now();
  return () => (performance.now() - from) * 1_000;
}

/** The process without its garbage: what start-up left behind is nobody's figure. */
export function settle(): void {
  if (!globalThis.gc) throw new Error("start the case with --expose-gc");
  globalThis.gc();
  globalThis.gc();
}

/** Microseconds a step of work that is so many steps: `value` on the wall, and `cpu`. */
export async function perStep(steps: number, work: () => Promise<void>): Promise<Figures> {
  const wall = wallGauge();
  const cpu = cpuGauge();
  await work();
  return { value: wall() / steps, cpu: cpu() / steps };
}

/** Resident memory above what it was when the gauge was made; `look` often, `peak` is the highest seen. Megabytes. */
export class MemoryGauge {
  readonly #idle: number;
  #highest = 0;

  constructor() {
    settle();
    this.#idle = process.memoryUsage.rss();
  }

  look(): void {
    this.#highest = Math.max(this.#highest, process.memoryUsage.rss());
  }

  peak(): number {
    this.look();
    return (this.#highest - this.#idle) / 1e6;
  }
}
