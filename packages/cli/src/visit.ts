/** Opening a store to look, or to change a session that is there. Never makes one: that is for `run` and `import`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { memoryStore, type Runtime } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { openStore } from "./open-store.ts";
import { storeLocation } from "./place.ts";

export interface VisitOptions {
  store?: string;
  json?: boolean;
}

export async function visitStore<T>(options: VisitOptions, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const runtime = isThere(options.store) ? await openStore(options.store) : noRuntime();
  try {
    return await work(runtime);
  } finally {
    await runtime.store.close();
  }
}

/** Looking must not make a store where there is none, not even inside of a folder that is there. */
export function isThere(given: string | undefined): boolean {
  const location = storeLocation(given);
  if (location.kind === "postgres") return true;
  return existsSync(join(location.dir, "pawl.db")) || isFile(location.dir);
}

/** A file in the place of the folder: opening it fails and says so. */
function isFile(path: string): boolean {
  return existsSync(path) && !existsSync(`${path}/.`);
}

function noRuntime(): Runtime {
  const effects = nodeEffects();
  return { store: memoryStore({ clock: effects.clock }), effects, holder: thisHolder() };
}
