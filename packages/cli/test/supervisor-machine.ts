/** One machine that plays several: each has a name, a boot and a folder of its own, and all drive one store. */
import { hostname } from "node:os";
import { join } from "node:path";
import type { Holder, Runtime } from "@pawl/core";
import { isAlive, nodeEffects, sqliteStore, thisHolder } from "@pawl/core/node";
import { postgresStore } from "@pawl/postgres";

/** Where the machine `on` keeps the records of its commands. */
export function commandsOf(top: string, on: string | undefined): string {
  return on === undefined ? join(top, "store", "commands") : join(top, on, "commands");
}

/** `place`: a folder, or the address of a database. */
export async function openRuntimeOn(place: string, on: string | undefined): Promise<Runtime> {
  const effects = nodeEffects();
  const here = thisHolder();
  const holder = on === undefined ? here : { ...here, host: on, boot: `boot of ${on}` };
  if (place.startsWith("postgres:")) return { store: await postgresStore({ url: place }), effects, holder };
  // All are processes of this machine, so that nobody waits for a lease to run out.
  const alive = (holder: Holder) => isAlive({ ...holder, host: hostname(), boot: here.boot });
  const store = await sqliteStore({ dir: place, clock: effects.clock, timers: effects.timers, isAlive: alive });
  return { store, effects, holder };
}
