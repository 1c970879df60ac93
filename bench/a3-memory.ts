/**
 * A3: what a long answer costs in memory.
 *
 * Measured: the highest resident memory over idle while 200,000 deltas (about a megabyte of text) run through a turn
 * as in A1. Idle is the same process after a collection with everything loaded, the store open and its thread running.
 * Against: the bare drain, for comparison; the limits are megabytes, not ratios. Not measured: what loading modules and
 * the store's thread take (idle); memory that start-up had and gave back inside the process, which a run may use again.
 */
import { drain } from "./bare.ts";
import { MemoryGauge } from "./gauge.ts";
import { deltaModel } from "./model.ts";
import type { Figures, Row } from "./row.ts";

const deltas = 200_000;
/** Asking the kernel costs; 200 looks see every step of a heap that grows by megabytes. */
const deltasPerLook = 1_000;

export const row: Row = {
  name: "A3",
  measure: "memory over idle, 200,000 deltas",
  unit: "MB",
  scoreUnit: " MB",
  better: "lower",
  target: 40,
  stretch: 20,
  baseline: () => watched((onDelta) => drain(deltaModel(deltas), onDelta)),
  ours: async (dir) => {
    const { watchedTurn, withRuntime } = await import("./durable.ts");
    return withRuntime(dir, (runtime) =>
      watched(async (onDelta) => {
        await (await watchedTurn(runtime, deltaModel(deltas), onDelta))();
      }),
    );
  },
  score: (_, ours) => ours.value,
};

async function watched(work: (onDelta: () => void) => Promise<void>): Promise<Figures> {
  let heard = 0;
  const memory = new MemoryGauge();
  await work(() => {
    heard += 1;
    if (heard % deltasPerLook === 0) memory.look();
  });
  return { value: memory.peak() };
}
