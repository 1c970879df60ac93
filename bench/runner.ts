/**
 * Runs a row's cases, each in a fresh process, in alternating order.
 *
 * Owns: processes, their folders, their deadline; all are gone when it returns or is told to stop. A case never shares
 * a process with another: compiled code, a grown heap and open files of one would be the other's gift or burden.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { outputOf } from "./child.ts";
import type { Fixtures } from "./fixture.ts";
import { type Figures, type Judged, judge, type Row, type Side } from "./row.ts";

export interface RunOptions {
  rounds: number;
  /** Where the cases' folders are made. Its disk is part of what the durable rows measure. */
  dir: string;
  fixtures: Fixtures;
  signal: AbortSignal;
}

/** A case takes seconds; one that hangs must not hang the bench. */
const caseMs = 180_000;
const caseFile = fileURLToPath(new URL("./case.ts", import.meta.url));

export async function runRow(row: Row, { rounds, dir, fixtures, signal }: RunOptions): Promise<Judged> {
  const fixture = row.fixture === undefined ? "" : await fixtures.placeOf(row.fixture);
  const run = (side: Side) => runCase(row.name, side, dir, fixture, signal);
  const measured: { baseline: Figures; ours: Figures }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) measured.push({ baseline: await run("baseline"), ours: await run("ours") });
    else {
      const ours = await run("ours");
      measured.push({ baseline: await run("baseline"), ours });
    }
  }
  return judge(row, measured);
}

async function runCase(
  name: string,
  side: Side,
  parent: string,
  fixture: string,
  signal: AbortSignal,
): Promise<Figures> {
  const dir = await mkdtemp(join(parent, "pawl-bench-"));
  try {
    const bound = AbortSignal.any([signal, AbortSignal.timeout(caseMs)]);
    return JSON.parse(await outputOf(caseFile, [name, side, dir, fixture], bound)) as Figures;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
