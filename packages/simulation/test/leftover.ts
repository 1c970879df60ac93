/**
 * How many bytes a schedule leaves to the slow half of the engine's collector, and how many it leaves for good: `node
 * --expose-gc leftover.ts`. The quick half runs between schedules, when all of the last one is dead; what it does not take is
 * held by something that is, or by something that died and is old.
 */
import { runSchedule } from "../src/schedule.ts";

const schedules = 100;
const block = 10;

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
const first = await quick();
const left: number[] = [];
let before = first;
for (let seed = 1; seed <= schedules; seed += 1) {
  await runSchedule(seed);
  if (seed % block !== 0) continue;
  const after = await quick();
  left.push((after - before) / block);
  before = after;
}
globalThis.gc?.({ type: "major" });
const forGood = ((await quick()) - first) / schedules;
// What every schedule leaves is left in each block; one that is large, and is met by the collector in its middle, is not.
const slow = left.sort((a, b) => a - b)[left.length >> 1] ?? Number.NaN;
console.log(JSON.stringify({ slow: Math.round(slow), forGood: Math.round(forGood) }));
