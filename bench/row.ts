/**
 * What one row of the bench is: two cases that run in processes of their own, and how a pair of them is judged.
 *
 * Limits are ratios to a baseline of the same round, so that they mean the same on any machine; where a person waits, they
 * are times. Nothing here fails a build: a shared machine is noisy, and a threshold that is wrong once a week is soon ignored.
 */

import type { FixtureName } from "./fixture.ts";

/** What one case measured. `value` is the row's figure; the others are told beside it. */
export interface Figures {
  value: number;
  [also: string]: number;
}

export type Side = "baseline" | "ours";

export interface Row {
  name: string;
  /** What is measured, in a few words. */
  measure: string;
  /** Unit of both cases' `value`. */
  unit: string;
  /** Unit of the score and its limits: `x` is a ratio. */
  scoreUnit: "x" | " MB" | " KB" | " ms";
  better: "lower" | "higher";
  target: number;
  stretch: number;
  /** What both read and neither makes: built once a run, and shared by the rows that name it. */
  fixture?: FixtureName;
  /** Each gets an empty folder of its own, which goes afterwards, and the place of the fixture, which stays. */
  baseline(dir: string, fixture: string): Promise<Figures>;
  ours(dir: string, fixture: string): Promise<Figures>;
  /** The score of one round. */
  score(baseline: Figures, ours: Figures): number;
  /** What else is worth a look, from the medians of both. */
  also?(baseline: Figures, ours: Figures): string;
}

export type Mark = "reached stretch" | "reached target" | "missed";

export interface Judged {
  row: Row;
  baseline: Figures;
  ours: Figures;
  /** Median of the rounds' scores. */
  score: number;
  /** One a round, ascending. */
  scores: number[];
  mark: Mark;
}

/** The score of most rows. */
export function ratio(baseline: Figures, ours: Figures): number {
  return ours.value / baseline.value;
}

export function judge(row: Row, rounds: readonly { baseline: Figures; ours: Figures }[]): Judged {
  const scores = rounds.map(({ baseline, ours }) => row.score(baseline, ours)).sort((a, b) => a - b);
  const score = median(scores);
  return {
    row,
    baseline: medians(rounds.map(({ baseline }) => baseline)),
    ours: medians(rounds.map(({ ours }) => ours)),
    score,
    scores,
    mark: markOf(row, score),
  };
}

function markOf({ better, target, stretch }: Row, score: number): Mark {
  const reaches = (limit: number) => (better === "lower" ? score <= limit : score >= limit);
  if (reaches(stretch)) return "reached stretch";
  return reaches(target) ? "reached target" : "missed";
}

function medians(all: readonly Figures[]): Figures {
  const of = (key: string) => median(all.map((figures) => figures[key] ?? Number.NaN));
  const keys = Object.keys(all[0] ?? {});
  return { value: of("value"), ...Object.fromEntries(keys.map((key) => [key, of(key)])) };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
  return (lower + upper) / 2;
}
