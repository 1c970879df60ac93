/** A process of its own: runs the seeds it is sent, one range after another, and reports what broke. */
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
  /** Seeds that did not do the same twice. */
  unsteady: number[];
}

/** One seed in so many is run twice: the world must not depend on anything but its seed. */
const twiceEach = 50;

// Errors are ordinary here, and a replay of the seed tells where one came from.
Error.stackTraceLimit = 0;

// Ctrl-C reaches every process of a terminal; which seeds are the last is said by the one that hands them out.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit());

process.on("message", async ({ from, to }: Range) => {
  const report: Report = { schedules: 0, records: 0, happened: 0, broken: [], unsteady: [] };
  for (let seed = from; seed <= to; seed += 1) {
    const { breaches, records, happened, hash } = await runSchedule(seed);
    report.schedules += 1;
    report.records += records;
    report.happened += happened;
    const [first] = breaches;
    if (first) report.broken.push({ seed, law: first.law, message: first.message });
    if (seed % twiceEach === 0 && (await runSchedule(seed)).hash !== hash) report.unsteady.push(seed);
  }
  process.send?.(report);
});
