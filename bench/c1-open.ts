/**
 * C1: opening a long session to read on where it ended.
 *
 * Measured: time on the wall from `openSession` to its last 200 entries decoded, checksums and all, as the first thing
 * a process does with a store that it has opened; of a session of 1,000,000 events, against one select of the last 200
 * rows of an equal SQLite table, also the first in its process. C1L: the same against a session of 100,000. C1M: how
 * far resident memory grows over that of the open store. Not measured: opening the store, which starts a thread (its
 * time stands beside); driving (C1R); files that are not in the system's cache.
 */
import { DatabaseSync } from "node:sqlite";
import { MemoryGauge, wallGauge } from "./gauge.ts";
import { type Figures, type Row, ratio } from "./row.ts";
import { type Size, storeIn, tableIn } from "./sessions.ts";

export const tail = 200;

export const row: Row = {
  ...{ name: "C1", measure: "open 1,000,000 events, last 200 decoded", unit: "ms", scoreUnit: "x", better: "lower" },
  ...{ target: 10, stretch: 4, fixture: "sessions" },
  baseline: selectTail,
  ours: (_, fixture) => opened(fixture, "million"),
  score: ratio,
  also: (_, ours) => `25 ms at most; opening the store took ${(ours["storeMs"] ?? 0).toFixed(0)} ms`,
};

export const length: Row = {
  ...{
    name: "C1L",
    measure: "the same, 1,000,000 events against 100,000",
    unit: "ms",
    scoreUnit: "x",
    better: "lower",
  },
  ...{ target: 1.5, stretch: 1.1, fixture: "sessions" },
  baseline: (_, fixture) => opened(fixture, "tenth"),
  ours: (_, fixture) => opened(fixture, "million"),
  score: ratio,
};

export const memory: Row = {
  ...{ name: "C1M", measure: "the same, memory over an open store", unit: "MB", scoreUnit: " MB", better: "lower" },
  ...{ target: 20, stretch: 10, fixture: "sessions" },
  baseline: async (dir, fixture) => ({ value: (await selectTail(dir, fixture))["memory"] ?? Number.NaN }),
  ours: async (_, fixture) => ({ value: (await opened(fixture, "million"))["memory"] ?? Number.NaN }),
  score: (_, ours) => ours.value,
};

export async function selectTail(_: string, fixture: string): Promise<Figures> {
  const db = new DatabaseSync(tableIn(fixture));
  const memory = new MemoryGauge();
  const wall = wallGauge();
  const sql = "SELECT seq, body FROM event WHERE session = ? ORDER BY seq DESC LIMIT ?";
  const rows = db.prepare(sql).all("million", tail);
  const value = wall() / 1_000;
  checkCount(rows.length);
  const figures = { value, memory: memory.peak() };
  db.close();
  return figures;
}

async function opened(fixture: string, id: Size): Promise<Figures> {
  const { openSession } = await import("@pawl/core");
  const { withRuntime } = await import("./durable.ts");
  const { decodeAll } = await import("../packages/core/src/log/codec.ts");
  const opening = wallGauge();
  return withRuntime(storeIn(fixture), async (runtime) => {
    const storeMs = opening() / 1_000;
    const memory = new MemoryGauge();
    const wall = wallGauge();
    const session = await openSession(runtime, id);
    const records = await runtime.store.readTail(session.id, { limit: tail });
    const entries = decodeAll(records, (records[0]?.seq ?? 1) - 1);
    const value = wall() / 1_000;
    checkCount(entries.length);
    return { value, storeMs, memory: memory.peak() };
  });
}

function checkCount(count: number): void {
  if (count !== tail) throw new Error(`${count} came, not ${tail}`);
}
