/**
 * F1: durable commits of many sessions at once.
 *
 * Measured: commits a second of 100 sessions through the SQLite store, each waiting for its own before its next, all
 * from one process. Against: one write and fdatasync after another of the same bytes into a plain file. Not measured:
 * making records (B1), several processes on one file, a slow disk (where sharing a flush is worth more).
 */
import { rawRate, storeRate } from "./commit.ts";
import { type Row, ratio } from "./row.ts";

export const row: Row = {
  name: "F1",
  measure: "100 sessions committing",
  unit: "/s",
  scoreUnit: "x",
  better: "higher",
  target: 6,
  stretch: 15,
  baseline: (dir) => rawRate(dir, 2_000),
  ours: (dir) => storeRate(dir, 100, 300),
  score: ratio,
  also: (_, ours) => `CPU ${(ours["cpu"] ?? 0).toFixed(1)} us a commit, both threads`,
};
