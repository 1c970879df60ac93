/**
 * E2: whether sessions get into each other's way.
 *
 * Measured: CPU time of the 500 sessions of E1, all at once. Against: the same 500 one after the other. At once they
 * share flushes, so that less than one is possible. Not measured: opening the store.
 */
import { type Live, oneByOne, ourCrowd, together } from "./crowd.ts";
import { cpuGauge, settle } from "./gauge.ts";
import { type Figures, type Row, ratio } from "./row.ts";

const sessions = 500;
const warmUp = 100;

export const row: Row = {
  ...{ name: "E2", measure: "500 at once against one by one, CPU each", unit: "us", scoreUnit: "x", better: "lower" },
  ...{ target: 1.3, stretch: 1.1 },
  baseline: (dir) => ourCrowd(dir, (live) => timed(live, oneByOne)),
  ours: (dir) => ourCrowd(dir, (live) => timed(live, together)),
  score: ratio,
};

async function timed(live: Live, all: (live: Live, sessions: number) => Promise<void>): Promise<Figures> {
  await all(live, warmUp);
  settle();
  const cpu = cpuGauge();
  await all(live, sessions);
  return { value: cpu() / sessions };
}
