/** A process for store-delete.test.ts: `DIR TURNS` deletes session `parent` and dies TURNS turns of its event loop later, or when it is `deleted`. */
import { nodeEffects } from "../src/node/effects.ts";
import { sqliteStore } from "../src/store/sqlite.ts";

const [dir = "", turns = "0"] = process.argv.slice(2);
const store = await sqliteStore({ dir, ...nodeEffects(), isAlive: () => undefined });
const deleted = store.delete("parent");
if (turns === "deleted") await deleted;
for (let turn = 0; turn < Number(turns); turn += 1) await new Promise((resolve) => setImmediate(resolve));
process.kill(process.pid, "SIGKILL");
