/** What the command line asks of the simulation: one schedule, or a range of them. Pure. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Random } from "./random.ts";
import { drawSettings, type Settings } from "./settings.ts";
import type { Range } from "./worker.ts";

export type Order =
  | { kind: "one"; seed: number; change: Partial<Settings>; store: string }
  | { kind: "many"; range: Range; workers: number; store: string };

/** Its message is one line for whoever typed the command. */
export class OrderError extends Error {}

/** What a run without a word of its own tries: about a minute on two cores. */
const quickSeeds = "1..20000";
/** More threads than any machine of ours has cores are a slip of the finger. */
const mostWorkers = 256;

export function orderOf(argv: readonly string[]): Order {
  const { seeds, seed, set, workers, store } = optionsOf(argv);
  if (!/^(memory|sqlite|postgres(ql)?:\/\/.+)$/.test(store))
    throw new OrderError(`--store is memory, sqlite or postgres://..., is ${JSON.stringify(store)}`);
  if (seed !== undefined) return { kind: "one", seed: whole("--seed", seed), change: changeOf(set ?? "{}"), store };
  if (set !== undefined) throw new OrderError("--set changes one schedule: name it with --seed N");
  const range = /^(\d+)\.\.(\d+)$/.exec(seeds);
  const [from, to] = [Number(range?.[1]), Number(range?.[2])];
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || to < from)
    throw new OrderError(`--seeds is FROM..TO, for example 1..1000, is ${JSON.stringify(seeds)}`);
  const count = whole("--workers", workers);
  if (count < 1 || count > mostWorkers)
    throw new OrderError(`--workers is 1 to ${mostWorkers}, is ${JSON.stringify(workers)}`);
  return { kind: "many", range: { from, to }, workers: count, store };
}

function optionsOf(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        seeds: { type: "string", default: quickSeeds },
        seed: { type: "string" },
        set: { type: "string" },
        store: { type: "string", default: "memory" },
        workers: { type: "string", default: String(availableParallelism()) },
      },
    }).values;
  } catch (error) {
    throw new OrderError(`${(error as Error).message}; known are --seeds, --seed, --set, --store and --workers`);
  }
}

function whole(name: string, text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw new OrderError(`${name} is a whole number, is ${JSON.stringify(text)}`);
}

/** Only settings there are, each of its kind: a misspelt one would change nothing and look like a schedule that holds. */
function changeOf(text: string): Partial<Settings> {
  const example = `for example '{"fork":0}'`;
  let change: unknown;
  try {
    change = JSON.parse(text);
  } catch {
    throw new OrderError(`--set is JSON, ${example}, is ${text}`);
  }
  if (typeof change !== "object" || change === null || Array.isArray(change))
    throw new OrderError(`--set is an object, ${example}, is ${text}`);
  const known: Record<string, unknown> = { ...drawSettings(new Random(1)) };
  for (const [name, value] of Object.entries(change)) {
    if (!Object.hasOwn(known, name))
      throw new OrderError(`--set has no ${JSON.stringify(name)}; known are ${Object.keys(known).join(", ")}`);
    const presets = ["default", "replace", "preserve"];
    const fits = name === "preset" ? presets.includes(value as string) : typeof value === typeof known[name];
    if (!fits) throw new OrderError(`--set: ${name} is ${kindOf(known[name], presets)}, is ${JSON.stringify(value)}`);
  }
  return change as Partial<Settings>;
}

function kindOf(value: unknown, presets: readonly string[]): string {
  return typeof value === "string" ? presets.join(" or ") : typeof value === "number" ? "a number" : "true or false";
}
