/**
 * B3: what a session takes on disk.
 *
 * Measured: bytes of the store's folder after it was closed, less those of an empty store, over own content: what was
 * asked, said, put into arguments and returned by tools, about 1 KB a step. Of a session of 50 steps (the baseline's
 * column) and one of 800; the worse counts, so the figure is also one of flatness. Not measured: the write-ahead log
 * of an open store (bounded, folded back at close), the tables of an empty store (constant).
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { argumentsOf, lookUp, promptText, said, stepModel } from "./model.ts";
import type { Figures, Row } from "./row.ts";

export const row: Row = {
  name: "B3",
  measure: "bytes stored over own, 50 and 800 steps",
  unit: "x",
  scoreUnit: "x",
  better: "lower",
  target: 4,
  stretch: 2.5,
  baseline: (dir) => overOwn(dir, 50),
  ours: (dir) => overOwn(dir, 800),
  score: (short, long) => Math.max(short.value, long.value),
};

async function overOwn(dir: string, steps: number): Promise<Figures> {
  const { toolTurn, withRuntime } = await import("./durable.ts");
  const empty = join(dir, "empty");
  await withRuntime(empty, async () => {});
  const full = join(dir, "full");
  await withRuntime(full, (runtime) => toolTurn(runtime, stepModel(steps), steps));
  return { value: ((await bytesIn(full)) - (await bytesIn(empty))) / ownBytes(steps) };
}

function ownBytes(steps: number): number {
  let bytes = promptText.length + "Done.".length;
  for (let step = 0; step < steps; step += 1) {
    const input = argumentsOf(step);
    bytes += said.length + input.length + lookUp(JSON.parse(input) as { path: string }).length;
  }
  return bytes;
}

async function bytesIn(dir: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
