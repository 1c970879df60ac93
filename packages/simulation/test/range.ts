/** Runs schedules until one breaks one of the given laws: `node --import ./plant.ts range.ts FROM TO LAW...`. Prints `SEED LAW`. */
import { runSchedule } from "../src/schedule.ts";

const [from = "1", to = "1", ...laws] = process.argv.slice(2);
for (let seed = Number(from); seed <= Number(to); seed += 1) {
  const { breaches } = await runSchedule(seed);
  const [first] = breaches;
  if (first && (laws.length === 0 || laws.includes(first.law))) {
    console.log(`${seed} ${first.law}`);
    break;
  }
}
