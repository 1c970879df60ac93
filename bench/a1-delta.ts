/**
 * A1: what one delta costs in memory.
 *
 * Measured: CPU time of one turn of 200,000 text deltas, from `run` to its result: lease, durable log, partial journal,
 * assembly, one subscriber that iterates the turn. Against: reading the same stream to its end and nothing else.
 * Not measured: opening the store and creating the session; a provider package or a network (A2); tools (B1); several
 * subscribers; a slow source, where each delta comes alone.
 */
import { drain } from "./bare.ts";
import { cpuGauge, settle } from "./gauge.ts";
import { charsOf, deltaModel } from "./model.ts";
import { type Figures, type Row, ratio } from "./row.ts";

export const deltas = 200_000;

export const row: Row = {
  name: "A1",
  measure: "one delta in memory, CPU",
  unit: "us",
  scoreUnit: "x",
  better: "lower",
  target: 6,
  stretch: 3,
  baseline: async () => {
    const counter = new Counter();
    return timed(() => drain(deltaModel(deltas), counter.count), counter);
  },
  ours: async (dir) => {
    const { watchedTurn, withRuntime } = await import("./durable.ts");
    return withRuntime(dir, async (runtime) => {
      const counter = new Counter();
      return timed(await watchedTurn(runtime, deltaModel(deltas), counter.count), counter);
    });
  },
  score: ratio,
  also: (_, ours) => `subscriber heard ${Math.round(ours["heard"] ?? 0)} items`,
};

/** What arrived: nothing may be missing, deltas may have been joined. */
class Counter {
  items = 0;
  chars = 0;
  readonly count = (text: string): void => {
    this.items += 1;
    this.chars += text.length;
  };
}

async function timed(work: () => Promise<void>, counter: Counter): Promise<Figures> {
  settle();
  const cpu = cpuGauge();
  await work();
  const used = cpu();
  if (counter.chars !== charsOf(deltas)) throw new Error(`${counter.chars} characters came, not ${charsOf(deltas)}`);
  return { value: used / deltas, heard: counter.items };
}
