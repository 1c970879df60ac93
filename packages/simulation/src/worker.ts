/**
 * A process of its own: runs the seeds it is sent, one range after another, and reports what broke. Its argument is the store,
 * default memory: on another one, each seed must do what it does in memory.
 */
import { groundOf, memoryGround } from "./ground.ts";
import { runSchedule } from "./schedule.ts";

export interface Range {
  from: number;
  to: number;
}

export interface Report {
  schedules: number;
  records: number;
  happened: number;
  /** Seeds that broke a law, with the first breach of each. */
  broken: { seed: number; law: string; message: string }[];
  /** Seeds that did not do the same twice, or not the same as in memory. */
  unsteady: number[];
}

/** One seed in so many is run twice: the world must not depend on anything but its seed. */
const twiceEach = 50;

// Errors are ordinary here, and a replay of the seed tells where one came from.
Error.stackTraceLimit = 0;

// Ctrl-C reaches every process of a terminal; which seeds are the last is said by the one that hands them out.
process.on("SIGINT", () => {});
process.on("disconnect", () => void closed().finally(() => process.exit()));
// Opened behind the listeners' backs: a message that comes before there is one is lost.
const opening = groundOf(process.argv[2] ?? "memory");
const closed = async () => (await opening).close();

process.on("message", async ({ from, to }: Range) => {
  const report: Report = { schedules: 0, records: 0, happened: 0, broken: [], unsteady: [] };
  const ground = await opening;
  for (let seed = from; seed <= to; seed += 1) {
    const { breaches, records, happened, hash } = await runSchedule(seed, {}, undefined, ground);
    report.schedules += 1;
    report.records += records;
    report.happened += happened;
    const [first] = breaches;
    if (first) report.broken.push({ seed, law: first.law, message: first.message });
    const isCompared = ground !== memoryGround || seed % twiceEach === 0;
    if (isCompared && (await runSchedule(seed)).hash !== hash) report.unsteady.push(seed);
  }
  process.send?.(report);
});
