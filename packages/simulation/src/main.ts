/**
 * `npm run simulate`: schedules by seed, on all cores; or one of them, told in full.
 *
 *   npm run simulate -- --seeds 1..1000000     a range, with a line of progress
 *   npm run simulate -- --seed 324             one schedule: its settings, what broke, what had happened
 *   npm run simulate -- --seed 324 --set '{"fork":0}'
 *   npm run simulate -- --seeds 1..2000 --store postgres://postgres@localhost/db     or sqlite: the same worlds on another store
 */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { groundOf } from "./ground.ts";
import { type Order, OrderError, orderOf } from "./order.ts";
import { type Result, runSchedule } from "./schedule.ts";
import type { Settings } from "./settings.ts";
import { shrink } from "./shrink.ts";
import type { Range, Report } from "./worker.ts";

/** Seeds handed to a worker at once; a store that answers from elsewhere takes a hundred times as long for each. */
const portionOf = (store: string) => (store === "memory" ? 100 : 10);
/**
 * Of a worker's engine. A schedule is made of short-lived things: with room for them the collector has a fifth of the work, and
 * it does that itself, since each core has a worker already, and helpers would only take its time. Threads of one process
 * cannot be told so: workers are processes.
 */
const engine = ["--max-semi-space-size=42", "--single-threaded-gc"];
/** So many broken schedules are enough to look at. */
const enough = 20;

async function main(): Promise<number> {
  try {
    const order = orderOf(process.argv.slice(2));
    return await (order.kind === "one" ? one(order) : many(order));
  } catch (error) {
    if (!(error instanceof OrderError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

async function one({ seed, change, store }: Order & { kind: "one" }): Promise<number> {
  const ground = await groundOf(store);
  const result = await runSchedule(seed, change, undefined, ground);
  await ground.close();
  tell(result, change);
  return result.breaches.length === 0 ? 0 : 1;
}

function commitOf(): string {
  return spawnSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).stdout?.trim() || "unknown";
}

function tell({ seed, settings, breaches, labels, hash, happened, records }: Result, change: Partial<Settings>): void {
  const drawn = Object.entries(settings).filter(([, value]) => value !== 0 && value !== false);
  console.log(`seed ${seed}, commit ${commitOf()}, trace ${hash.toString(16)}, ${happened} events, ${records} records`);
  console.log(`settings ${drawn.map(([name, value]) => `${name}=${value}`).join(" ")}`);
  if (breaches.length === 0) return console.log("no law broken");
  for (const label of labels) console.log(`  ${label}`);
  for (const { law, session, message } of breaches.slice(0, 5)) console.log(`BROKEN ${law} in ${session}: ${message}`);
  const set = Object.keys(change).length > 0 ? ` --set '${JSON.stringify(change)}'` : "";
  console.log(`again: npm run simulate -- --seed ${seed}${set}`);
}

async function many({ range: { from, to }, workers, store }: Order & { kind: "many" }): Promise<number> {
  const began = performance.now();
  // As it is loaded now: the working tree may move on during a long run.
  const commit = commitOf();
  const sum: Report = { schedules: 0, records: 0, happened: 0, broken: [], unsteady: [] };
  let next = from;
  let stopped = false;
  const stop = () => {
    stopped = true;
    process.stderr.write("stopping after the seeds under way\n");
  };
  process.once("SIGINT", stop);
  const seconds = () => (performance.now() - began) / 1_000;
  const speed = () => Math.round(sum.schedules / seconds());
  const line = () => `${sum.schedules} of ${to - from + 1} schedules, ${speed()} a second, ${sum.broken.length} broken`;
  const progress = setInterval(() => process.stderr.write(`${line()}\n`), 10_000);
  await Promise.all(
    Array.from({ length: workers }, async () => {
      const worker = fork(new URL("./worker.ts", import.meta.url), [store], {
        execArgv: [...process.execArgv, ...engine],
      });
      const ended = once(worker, "exit");
      while (next <= to && !stopped && sum.broken.length < enough) {
        const range = { from: next, to: Math.min(to, next + portionOf(store) - 1) };
        next = range.to + 1;
        const report = await ask(worker, range, ended);
        sum.schedules += report.schedules;
        sum.records += report.records;
        sum.happened += report.happened;
        sum.broken.push(...report.broken);
        sum.unsteady.push(...report.unsteady);
      }
      worker.disconnect();
    }),
  );
  clearInterval(progress);
  process.off("SIGINT", stop);
  // Portions are handed out in order and each is finished: what was done is one range, and the rest another.
  const { schedules, records, happened, broken } = sum;
  const done = `seeds ${from}..${next - 1}: ${schedules} schedules, ${records} records, ${happened} events`;
  console.log(`${done}, ${seconds().toFixed(1)} s, ${speed()} a second, ${broken.length} broken, commit ${commit}`);
  const on = store === "memory" ? "" : ` --store ${store}`;
  if (next <= to) console.log(`the rest: npm run simulate -- --seeds ${next}..${to}${on}`);
  const judgement = await judged(sum, store);
  // As a shell counts a run that was interrupted: whoever chains runs must not take it for a whole one.
  return judgement === 0 && next <= to ? 130 : judgement;
}

async function judged({ broken, unsteady }: Report, store: string): Promise<number> {
  const as = store === "memory" ? "twice" : "as in memory";
  for (const seed of unsteady) console.log(`seed ${seed} did not do the same ${as}`);
  const [first] = broken.sort((a, b) => a.seed - b.seed);
  for (const { seed, law, message } of broken) console.log(`seed ${seed}: ${law}: ${message.split("\n")[0]}`);
  if (first) {
    const ground = await groundOf(store);
    const run = (seed: number, change?: Partial<Settings>) => runSchedule(seed, change, undefined, ground);
    const change = await shrink(await run(first.seed), run);
    tell(await run(first.seed, change), change);
    await ground.close();
  }
  return broken.length + unsteady.length === 0 ? 0 : 1;
}

/** `ended` resolves when the worker does: what it met is on stderr. */
async function ask(worker: ChildProcess, range: Range, ended: Promise<unknown[]>): Promise<Report> {
  worker.send(range);
  const early = ended.then(([code, signal]) => {
    const how = `a worker ended with ${code ?? signal} among seeds ${range.from}..${range.to}`;
    throw new Error(`${how}; find the seed with --seeds ${range.from}..${range.to} --workers 1`);
  });
  const [report] = await Promise.race([once(worker, "message"), early]);
  return report as Report;
}

process.exitCode = await main();
