/**
 * E1: many sessions at once.
 *
 * Measured: CPU time of 500 sessions that are created together, in one process and one store, and each run one turn of
 * 200 deltas and one tool call, durable, with one subscriber each. Against: reading the same streams to their end, as
 * many at once. E1L: 1,000. Not measured: opening the store; turns that come one by one (E2), memory (E3).
 */
import { bareCrowd, type Live, ourCrowd, together } from "./crowd.ts";
import { cpuGauge, settle } from "./gauge.ts";
import { type Figures, type Row, ratio } from "./row.ts";

const warmUp = 100;

export const row = rowOf("E1", 500);
export const larger = rowOf("E1L", 1_000);

function rowOf(name: string, sessions: number): Row {
  return {
    ...{ name, measure: `${sessions} sessions at once, CPU each`, unit: "us", scoreUnit: "x", better: "lower" },
    ...{ target: 6, stretch: 3.5 },
    baseline: () => bareCrowd((live) => timed(live, sessions)),
    ours: (dir) => ourCrowd(dir, (live) => timed(live, sessions)),
    score: ratio,
  };
}

async function timed(live: Live, sessions: number): Promise<Figures> {
  await together(live, warmUp);
  settle();
  const cpu = cpuGauge();
  await together(live, sessions);
  return { value: cpu() / sessions };
}
