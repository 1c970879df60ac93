/** `@pawl/core/node`: the runtime on this machine, with SQLite as its store. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type RecoverOptions, recover as recoverWith } from "./attempt/recovering.ts";
import type { Effects } from "./effects.ts";
import { nodeEffects } from "./node/effects.ts";
import { isAlive, thisHolder } from "./node/holder.ts";
import { memoryStore } from "./store/memory.ts";
import { sqliteStore } from "./store/sqlite.ts";
import type { Runtime } from "./turn/session.ts";

export { checkFolder, checkStoreBlobs, type FolderCheckup, sessionIds, sweep } from "./doctor/store-checkup.ts";
export { nodeEffects } from "./node/effects.ts";
export { isAlive, thisHolder } from "./node/holder.ts";
export { validateJsonSchema } from "./node/validate.ts";
export { sqliteStore } from "./store/sqlite.ts";
export { folderFormat } from "./store/sqlite-format.ts";

/**
 * A runtime whose sessions live in `dir` (created if missing). Fails with STORE_UNAVAILABLE where it cannot be used.
 * Close its store when done: `await runtime.store.close()`. `warnings` is what an operator should be told once: that the
 * folder lies on a network file system, can only be read, or was brought to a newer format.
 */
export async function openRuntime({ dir }: { dir: string }): Promise<Runtime & { warnings: readonly string[] }> {
  const effects = nodeEffects();
  const store = await sqliteStore({ dir, clock: effects.clock, timers: effects.timers, isAlive });
  return { store, effects, holder: thisHolder(), warnings: store.warnings };
}

/** A runtime whose sessions live as long as the process: for tests, examples and throw-away work. */
export function memoryRuntime(): Runtime {
  const effects = nodeEffects();
  return { store: memoryStore({ clock: effects.clock }), effects, holder: thisHolder() };
}

/** {@link recoverWith} with this machine's clock, timers and chance. */
export function recover(model: LanguageModelV4, options: RecoverOptions & { effects?: Effects } = {}): LanguageModelV4 {
  return recoverWith(model, { ...options, effects: options.effects ?? nodeEffects() });
}
