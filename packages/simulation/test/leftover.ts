/**
 * How many bytes a schedule leaves to the slow half of the engine's collector: `node --expose-gc leftover.ts`. The quick
 * half runs between schedules, when all of the last one is dead; what it does not take is held by something that is.
 */
import { runSchedule } from "../src/schedule.ts";

const schedules = 100;

async function quick(): Promise<number> {
  // What the engine tidies up, it tidies up in a turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  // What it has seen alive twice it takes for lasting: one more time shows who would.
  for (let time = 0; time < 3; time += 1) globalThis.gc?.({ type: "minor" });
  return process.memoryUsage().heapUsed;
}

// Code and its feedback are made once, and are no schedule's.
for (let round = 0; round < 3; round += 1) for (let seed = 1; seed <= schedules; seed += 1) await runSchedule(seed);
globalThis.gc?.({ type: "major" });
const before = await quick();
for (let seed = 1; seed <= schedules; seed += 1) {
  await runSchedule(seed);
  if (seed % 20 === 0) await quick();
}
console.log(Math.round(((await quick()) - before) / schedules));
