/**
 * C2: reading a whole session again.
 *
 * Measured: CPU time per event of a session of 100,000, from the store to the state of its turn: pages, checksums, the
 * validator, the fold, nothing kept. Against: the same events as a file of JSON lines, streamed and parsed, nothing
 * checked. Not measured: opening the store, files that are not in the system's cache; keeping the entries.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { cpuGauge, settle } from "./gauge.ts";
import { type Figures, type Row, ratio } from "./row.ts";
import { linesIn, storeIn } from "./sessions.ts";

/** All but the last are warm-up: compiled code is what a running agent has. */
const passes = 3;

export const row: Row = {
  ...{ name: "C2", measure: "full replay, CPU per event", unit: "us", scoreUnit: "x", better: "lower" },
  ...{ target: 1.5, stretch: 1.1, fixture: "sessions" },
  baseline: (_, fixture) => timed(() => parsed(linesIn(fixture))),
  ours: async (_, fixture) => {
    const { withRuntime } = await import("./durable.ts");
    const { pages } = await import("../packages/core/src/store/pages.ts");
    const { turnFold } = await import("../packages/core/src/turn/state.ts");
    return withRuntime(storeIn(fixture), ({ store }) =>
      timed(async () => {
        let count = 0;
        let state = turnFold.init();
        for await (const { entries } of pages(store, "tenth")) {
          for (const entry of entries) state = turnFold.step(state, entry);
          count += entries.length;
        }
        if (state.last?.outcome.type !== "completed")
          throw new Error("the last turn of the fixture should be complete");
        return count;
      }),
    );
  },
  score: ratio,
};

async function parsed(path: string): Promise<number> {
  let count = 0;
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const { event } = JSON.parse(line) as { event?: unknown };
    if (event) count += 1;
  }
  return count;
}

async function timed(replay: () => Promise<number>): Promise<Figures> {
  let value = Number.NaN;
  for (let pass = 0; pass < passes; pass += 1) {
    settle();
    const cpu = cpuGauge();
    const count = await replay();
    value = cpu() / count;
  }
  return { value };
}
