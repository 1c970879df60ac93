/** One machine that plays several: each has a name, a boot and a folder of its own, and all drive one store. */
import { hostname } from "node:os";
import { join } from "node:path";
import type { Holder, Runtime } from "@pawl/core";
import { isAlive, nodeEffects, sqliteStore, thisHolder } from "@pawl/core/node";

/** Where the machine `on` keeps the records of its commands. */
export function commandsOf(top: string, on: string | undefined): string {
  return on === undefined ? join(top, "store", "commands") : join(top, on, "commands");
}

export async function openRuntimeOn(dir: string, on: string | undefined): Promise<Runtime> {
  const effects = nodeEffects();
  const here = thisHolder();
  // All are processes of this machine, so that nobody waits for a lease to run out.
  const alive = (holder: Holder) => isAlive({ ...holder, host: hostname(), boot: here.boot });
  const store = await sqliteStore({ dir, clock: effects.clock, timers: effects.timers, isAlive: alive });
  return { store, effects, holder: on === undefined ? here : { ...here, host: on, boot: `boot of ${on}` } };
}
