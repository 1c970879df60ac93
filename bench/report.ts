/** How results are told: one aligned line a row for people, one JSON object a row for programs. */
import { availableParallelism, platform } from "node:os";
import type { Figures, Judged, Side } from "./row.ts";

const columns = ["row", "measure", "baseline", "ours", "score", "least-most", "target", "stretch", "mark", "also"];
const widths = [5, 44, 12, 12, 9, 14, 9, 9, 16, 0];

/** What the figures depend on besides the code. */
export function machine(rounds: number, memoryDisk: boolean): string {
  const disk = memoryDisk
    ? "; the folder is in memory: flushes are free, B1, F1 and F2 mean little (choose another with --dir)"
    : "";
  return `node ${process.version}, ${availableParallelism()} cores, ${platform()} ${process.arch}; medians of ${rounds} rounds, each case in its own process${disk}`;
}

export function heading(): string {
  return line(columns);
}

export function told({ row, baseline, ours, score, scores, mark }: Judged): string {
  const scored = (value: number) => `${brief(value)}${row.scoreUnit}`;
  const most = scores.at(-1) ?? Number.NaN;
  return line([
    row.name,
    row.measure,
    `${brief(baseline.value)} ${row.unit}`,
    `${brief(ours.value)} ${row.unit}`,
    scored(score),
    `${brief(scores[0] ?? Number.NaN)}-${brief(most)}`,
    scored(row.target),
    scored(row.stretch),
    mark,
    row.also?.(baseline, ours) ?? "",
  ]);
}

export function asJson({ row, baseline, ours, score, scores, mark }: Judged): string {
  const { name, measure, unit, scoreUnit, better, target, stretch } = row;
  const sides: Record<Side, Figures> = { baseline, ours };
  return JSON.stringify({
    row: name,
    measure,
    unit,
    ...sides,
    score,
    scoreUnit: scoreUnit.trim(),
    scores,
    better,
    target,
    stretch,
    mark,
  });
}

function line(cells: readonly string[]): string {
  return cells
    .map((cell, at) => cell.padEnd(widths[at] ?? 0))
    .join("")
    .trimEnd();
}

/** Three digits that matter. */
function brief(value: number): string {
  if (value >= 100) return Math.round(value).toString();
  return value.toFixed(value >= 10 ? 1 : 2);
}
