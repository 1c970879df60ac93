/** Makes a schedule that breaks a law small: fewer kinds of faults, fewer things that happen, as long as that law breaks. */
import { type Result, runSchedule } from "./schedule.ts";
import type { Settings } from "./settings.ts";

/** The changes with which the seed still breaks the same law. Each accepted change is kept; until none helps. */
export async function shrink(
  { seed, settings, breaches }: Pick<Result, "seed" | "settings" | "breaches">,
  run: (seed: number, change: Partial<Settings>) => Promise<Pick<Result, "breaches">> = runSchedule,
): Promise<Partial<Settings>> {
  const law = breaches[0]?.law;
  let change: Partial<Settings> = {};
  const breaks = async (tried: Partial<Settings>) => (await run(seed, tried)).breaches[0]?.law === law;
  for (let helped = true; helped; ) {
    helped = false;
    for (const tried of smaller({ ...settings, ...change })) {
      const next = { ...change, ...tried };
      if (!(await breaks(next))) continue;
      change = next;
      helped = true;
      break;
    }
  }
  return change;
}

function* smaller(settings: Settings): Generator<Partial<Settings>> {
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value === "boolean" && value) yield { [name]: false };
    if (name === "preset" && value !== "default") yield { preset: "default" };
    if (typeof value === "number" && value > 0 && name !== "actions" && name !== "paceMs") yield { [name]: 0 };
  }
  if (settings.actions > 0) yield { actions: Math.floor(settings.actions / 2) };
  if (settings.actions > 1) yield { actions: settings.actions - 1 };
}
