/** `@pawl/core/node`: the runtime on this machine, with SQLite as its store. */
import { nodeEffects } from "./node/effects.ts";
import { isAlive, thisHolder } from "./node/holder.ts";
import { sqliteStore } from "./store/sqlite.ts";
import type { Runtime } from "./turn/session.ts";

export { nodeEffects } from "./node/effects.ts";
export { isAlive, thisHolder } from "./node/holder.ts";
export { validateJsonSchema } from "./node/validate.ts";
export { sqliteStore } from "./store/sqlite.ts";

/**
 * A runtime whose sessions live in `dir` (created if missing). Fails with STORE_UNAVAILABLE where it cannot be used.
 * Close its store when done: `await runtime.store.close()`.
 */
export async function openRuntime({ dir }: { dir: string }): Promise<Runtime> {
  const effects = nodeEffects();
  const store = await sqliteStore({ dir, clock: effects.clock, timers: effects.timers, isAlive });
  return { store, effects, holder: thisHolder() };
}
