/**
 * F2: durable commits of one session, one after another: latency, with nobody to share a flush with.
 *
 * Measured and not measured: as F1, with a single session. Against: the same plain file.
 */
import { rawRate, storeRate } from "./commit.ts";
import { type Row, ratio } from "./row.ts";

export const row: Row = {
  name: "F2",
  measure: "one session committing",
  unit: "/s",
  scoreUnit: "x",
  better: "higher",
  target: 0.7,
  stretch: 1.1,
  baseline: (dir) => rawRate(dir, 2_000),
  ours: (dir) => storeRate(dir, 1, 2_000),
  score: ratio,
  also: (baseline, ours) => `CPU ${(baseline["cpu"] ?? 0).toFixed(1)} -> ${(ours["cpu"] ?? 0).toFixed(1)} us a commit`,
};
