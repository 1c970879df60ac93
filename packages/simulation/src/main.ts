/**
 * `npm run simulate`: schedules by seed, on all cores; or one of them, told in full.
 *
 *   npm run simulate -- --seeds 1..1000000     a range, with a line of progress
 *   npm run simulate -- --seed 324             one schedule: its settings, what broke, what had happened
 *   npm run simulate -- --seed 324 --set '{"fork":0}'
 */
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { type Result, runSchedule } from "./schedule.ts";
import type { Settings } from "./settings.ts";
import { shrink } from "./shrink.ts";
import type { Range, Report } from "./worker.ts";

/** What a run without a word of its own tries: about a minute on two cores. */
const quickSeeds = "1..20000";
/** Seeds handed to a worker at once. */
const portion = 100;
/** A schedule is made of short-lived things: with room for them, the collector has a fifth of the work. */
const roomy = { maxYoungGenerationSizeMb: 128 };
/** So many broken schedules are enough to look at. */
const enough = 20;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: quickSeeds },
      seed: { type: "string" },
      set: { type: "string", default: "{}" },
      workers: { type: "string", default: String(availableParallelism()) },
    },
  });
  if (values.seed !== undefined) return one(Number(values.seed), JSON.parse(values.set) as Partial<Settings>);
  const range = /^(\d+)\.\.(\d+)$/.exec(values.seeds);
  if (!range) {
    process.stderr.write(`--seeds is FROM..TO, for example 1..1000, is ${JSON.stringify(values.seeds)}\n`);
    return 2;
  }
  return many({ from: Number(range[1]), to: Number(range[2]) }, Number(values.workers));
}

async function one(seed: number, change: Partial<Settings>): Promise<number> {
  const result = await runSchedule(seed, change);
  tell(result, change);
  return result.breaches.length === 0 ? 0 : 1;
}

function tell({ seed, settings, breaches, labels, hash, happened, records }: Result, change: Partial<Settings>): void {
  const commit = spawnSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).stdout?.trim() || "unknown";
  const drawn = Object.entries(settings).filter(([, value]) => value !== 0 && value !== false);
  console.log(`seed ${seed}, commit ${commit}, trace ${hash.toString(16)}, ${happened} events, ${records} records`);
  console.log(`settings ${drawn.map(([name, value]) => `${name}=${value}`).join(" ")}`);
  if (breaches.length === 0) return console.log("no law broken");
  for (const label of labels) console.log(`  ${label}`);
  for (const { law, session, message } of breaches.slice(0, 5)) console.log(`BROKEN ${law} in ${session}: ${message}`);
  const set = Object.keys(change).length > 0 ? ` --set '${JSON.stringify(change)}'` : "";
  console.log(`again: npm run simulate -- --seed ${seed}${set}`);
}

async function many({ from, to }: Range, workers: number): Promise<number> {
  const began = performance.now();
  const sum: Report = { schedules: 0, records: 0, happened: 0, broken: [], unsteady: [] };
  let next = from;
  const speed = () => Math.round((sum.schedules / (performance.now() - began)) * 1_000);
  const line = () => `${sum.schedules} of ${to - from + 1} schedules, ${speed()} a second, ${sum.broken.length} broken`;
  const progress = setInterval(() => process.stderr.write(`${line()}\n`), 10_000);
  await Promise.all(
    Array.from({ length: workers }, async () => {
      const worker = new Worker(new URL("./worker.ts", import.meta.url), { resourceLimits: roomy });
      while (next <= to && sum.broken.length < enough) {
        const range = { from: next, to: Math.min(to, next + portion - 1) };
        next = range.to + 1;
        const report = await ask(worker, range);
        sum.schedules += report.schedules;
        sum.records += report.records;
        sum.happened += report.happened;
        sum.broken.push(...report.broken);
        sum.unsteady.push(...report.unsteady);
      }
      await worker.terminate();
    }),
  );
  clearInterval(progress);
  console.log(`${line()}; ${sum.records} records, ${sum.happened} events, seeds ${from}..${to}`);
  return judged(sum);
}

async function judged({ broken, unsteady }: Report): Promise<number> {
  for (const seed of unsteady) console.log(`seed ${seed} did not do the same twice`);
  const [first] = broken.sort((a, b) => a.seed - b.seed);
  for (const { seed, law, message } of broken) console.log(`seed ${seed}: ${law}: ${message.split("\n")[0]}`);
  if (first) {
    const whole = await runSchedule(first.seed);
    const change = await shrink(whole);
    tell(await runSchedule(first.seed, change), change);
  }
  return broken.length + unsteady.length === 0 ? 0 : 1;
}

function ask(worker: Worker, range: Range): Promise<Report> {
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.postMessage(range);
  });
}

process.exitCode = await main();
