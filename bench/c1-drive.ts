/**
 * C1R: opening a long session to go on with it.
 *
 * Measured: time on the wall from `run` on a session of 1,000,000 events to the model's first request: lease, what is
 * open, the context, the turn's first flush; in a process that has opened the store and done nothing else. Against: one
 * select of the last 200 rows of an equal table, as C1. The fixture's sessions were driven once before by this build,
 * so that whatever a driver leaves for the next one is there.
 */
import { openSession } from "@pawl/core";
import { selectTail } from "./c1-open.ts";
import { MemoryGauge, wallGauge } from "./gauge.ts";
import { promptText, stepModel } from "./model.ts";
import { type Figures, type Row, ratio } from "./row.ts";
import { type Size, storeIn } from "./sessions.ts";

export const row: Row = {
  ...{ name: "C1R", measure: "open 1,000,000 events, up to a request", unit: "ms", scoreUnit: "x", better: "lower" },
  ...{ target: 10, stretch: 4, fixture: "sessions" },
  baseline: selectTail,
  ours: (_, fixture) => asked(fixture, "million"),
  score: ratio,
  also: (_, ours) => `25 ms at most; memory over an open store ${(ours["memory"] ?? 0).toFixed(0)} MB`,
};

async function asked(fixture: string, id: Size): Promise<Figures> {
  const { withRuntime } = await import("./durable.ts");
  return withRuntime(storeIn(fixture), async (runtime) => {
    const memory = new MemoryGauge();
    const wall = wallGauge();
    let value = Number.NaN;
    const model = stepModel(0, () => {
      value = wall() / 1_000;
      memory.look();
    });
    const session = await openSession(runtime, id);
    await session.run({ model }, promptText).result;
    return { value, memory: memory.peak() };
  });
}
