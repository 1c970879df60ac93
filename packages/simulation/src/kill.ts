/**
 * `node packages/simulation/src/kill.ts --rounds 500`: real processes, killed at any moment, and everything that must hold.
 *
 *   --rounds N     how many (default 50)
 *   --seed N       where the chance comes from (default 1)
 *   --round N      one round of that seed again; the moment is the same, what the system does then need not be
 *   --workers N    rounds at a time (default 2)
 *   --store URL    postgres://...: the sessions of all rounds lie there; default: each round has a SQLite folder
 *
 * Ctrl-C: the rounds under way come to their end, and the figures are of those; a second one breaks them off.
 */
import { rmSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { parseArgs } from "node:util";
import { type Measure, playRound, type Told } from "./kill-round.ts";

/** Runs that are only measured, at least: their mean is what moments are drawn over. */
const measured = 3;

export interface Rounds {
  /** Their numbers: with the seed they say everything that is drawn. */
  numbers: readonly number[];
  seed: number;
  workers: number;
  /** Of the database that holds the sessions; undefined: each round has a folder. */
  url?: string | undefined;
  /** Looked at before each round. */
  stopped?: () => boolean;
  /** Hears of each as it ends. */
  onEnd?: (told: Told, count: number) => void;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "50" },
      seed: { type: "string", default: "1" },
      round: { type: "string" },
      workers: { type: "string", default: "2" },
      store: { type: "string" },
    },
  });
  enableCompileCache();
  let stopping = false;
  process.on("SIGINT", () => {
    if (stopping) process.exit(130);
    stopping = true;
  });
  const numbers =
    values.round === undefined
      ? Array.from({ length: Number(values.rounds) }, (_, at) => at + 1)
      : [Number(values.round)];
  const began = performance.now();
  const seconds = () => Math.round((performance.now() - began) / 1_000);
  const onEnd = (told: Told, count: number) => {
    if (told.failure !== undefined) tell(told);
    if (count % 25 === 0) process.stderr.write(`${count} rounds, ${seconds()} s\n`);
  };
  const rounds = {
    numbers,
    seed: Number(values.seed),
    workers: Number(values.workers),
    url: values.store,
    stopped: () => stopping,
    onEnd,
  };
  const measure = await measureRun(rounds);
  console.log(`a whole run: ${Math.round(measure.ms)} ms, ${measure.lines} lines`);
  const done = await playRounds(rounds, measure);
  console.log(`${figures(done)}; ${seconds()} s`);
  return done.some(({ failure }) => failure !== undefined) ? 1 : 0;
}

/** As many at a time as later on: what else runs takes its share. Warms the cache of compiled code, too. */
export async function measureRun({ seed, workers, url }: Pick<Rounds, "seed" | "workers" | "url">): Promise<Measure> {
  const numbers = Array.from({ length: Math.max(measured, workers) }, (_, at) => -1 - at);
  const all = await playRounds({ numbers, seed, url, workers: numbers.length }, undefined);
  for (const { failure } of all) if (failure !== undefined) throw failure;
  const mean = (of: (whole: Measure) => number) => all.reduce((sum, { whole }) => sum + of(whole), 0) / all.length;
  return { ms: mean(({ ms }) => ms), lines: Math.round(mean(({ lines }) => lines)) };
}

/** `pawl run` makes none on a server. */
async function makeTables(url: string): Promise<void> {
  const { postgresStore } = await import("@pawl/postgres");
  await (await postgresStore({ url })).close();
}

/** The folder of a round that failed is kept. `measure` undefined: nothing is killed. */
export async function playRounds(rounds: Rounds, measure: Measure | undefined): Promise<Told[]> {
  const { numbers, seed, workers, url, stopped = () => false, onEnd = () => {} } = rounds;
  if (url !== undefined) await makeTables(url);
  const next = numbers.values();
  const done: Told[] = [];
  const work = async () => {
    for (const number of next) {
      if (stopped()) return;
      const told = await playRound(number, seed, measure, url);
      if (told.failure === undefined) rmSync(told.folder, { recursive: true });
      onEnd(told, done.push(told));
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return done;
}

export function tell({ round, seed, kills, ends, folder, failure }: Told): void {
  console.log(`ROUND ${round} of seed ${seed} FAILED: ${failure instanceof Error ? failure.stack : String(failure)}`);
  for (const { moment, phase } of kills) console.log(`  killed at ${JSON.stringify(moment)}: ${phase}`);
  console.log(`  ended: ${ends.join(", ")}\n  kept: ${folder}\n  again: --seed ${seed} --round ${round}`);
}

/** For a person: rounds, deaths by what was going on, ends by exit code. */
export function figures(done: readonly Told[]): string {
  const phases = counts(done.flatMap(({ kills }) => kills.map(({ phase }) => phase)));
  const ends = counts(done.flatMap((told) => told.ends));
  const failed = done.filter(({ failure }) => failure !== undefined).length;
  const often = [0, 1, 2].map((times) => done.filter(({ kills }) => kills.length === times).length).join(", ");
  const rounds = `${done.length} rounds, ${failed} failed; killed never, once, twice: ${often}`;
  return `${rounds}\nkilled: ${phases}\nended with: ${ends}`;
}

function counts(names: readonly string[]): string {
  const count = new Map<string, number>();
  for (const name of names) count.set(name, (count.get(name) ?? 0) + 1);
  return [...count]
    .sort((a, b) => b[1] - a[1])
    .map(([name, times]) => `${name} ${times}`)
    .join(", ");
}

if (import.meta.main) process.exitCode = await main();
