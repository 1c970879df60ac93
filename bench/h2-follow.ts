/**
 * H2, H2W: how late a watcher in another process is, on PostgreSQL.
 *
 * Measured: from the moment the driver's own subscriber hears of a fact (H2), or the model gives a word (H2W), to the moment
 * another process's `session.watch` gives it; medians. Against: the same on one SQLite folder. The score is the time. It is made
 * of intervals, not of work: the journal's 250 ms, the watcher's 100 ms, SQLite's 50 ms, where PostgreSQL notifies.
 */
import { join } from "node:path";
import type { Figures, Row } from "./row.ts";

const steps = 8;

export const row: Row = {
  ...{
    name: "H2",
    measure: "PostgreSQL, a fact seen by another process",
    unit: "ms",
    scoreUnit: " ms",
    better: "lower",
  },
  ...{ target: 50, stretch: 15, fixture: "postgres" },
  baseline: (dir) => onFolder(dir, "facts"),
  ours: (dir, url) => onServer(dir, url, "facts"),
  score: (_, ours) => ours.value,
  also: (_, { most = 0 }) => `longest ${most.toFixed(0)} ms`,
};

export const words: Row = {
  ...{
    name: "H2W",
    measure: "PostgreSQL, a word seen by another process",
    unit: "ms",
    scoreUnit: " ms",
    better: "lower",
  },
  ...{ target: 300, stretch: 200, fixture: "postgres" },
  baseline: (dir) => onFolder(dir, "words"),
  ours: (dir, url) => onServer(dir, url, "words"),
  score: (_, ours) => ours.value,
  also: (_, { most = 0 }) => `longest ${most.toFixed(0)} ms`,
};

type What = "facts" | "words";

async function late(place: string, what: What): Promise<Figures> {
  const { lateness, shareOf } = await import("./follow-latency.ts");
  const times = (await lateness(place, steps))[what];
  return { value: shareOf(times, 0.5), most: shareOf(times, 1) };
}

function onFolder(dir: string, what: What): Promise<Figures> {
  return late(join(dir, "store"), what);
}

async function onServer(dir: string, url: string, what: What): Promise<Figures> {
  return late(`${url} ${(await import("./postgres.ts")).schemaOf(dir)}`, what);
}
