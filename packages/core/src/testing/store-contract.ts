/**
 * The store contract as a suite: every rule of store/store.ts is a case. A store passes in about ten lines:
 *
 * ```ts
 * storeContract("memory", async (world) => {
 *   const store = memoryStore(world);
 *   return { store, close: () => store.close() };
 * });
 * ```
 *
 * A case is skipped only where the store itself says NOT_SUPPORTED, and the reason is printed.
 */
import { describe, test } from "node:test";
import { isPawlError } from "../error.ts";
import { forkCases } from "./store-contract-fork.ts";
import { keepCases } from "./store-contract-keep.ts";
import { leaseCases } from "./store-contract-lease.ts";
import { logCases } from "./store-contract-log.ts";
import { mailboxCases } from "./store-contract-mailbox.ts";
import { transferCases } from "./store-contract-transfer.ts";
import { workspaceCases } from "./store-contract-workspace.ts";
import { type OpenedStore, StoreWorld } from "./store-world.ts";

/** Nothing here waits for a clock; only a store that hangs takes longer. */
const caseTimeoutMs = 60_000;

const cases = {
  log: logCases,
  fork: forkCases,
  mailbox: mailboxCases,
  lease: leaseCases,
  keep: keepCases,
  transfer: transferCases,
  workspace: workspaceCases,
};

export function storeContract(name: string, open: (world: StoreWorld) => Promise<OpenedStore>): void {
  describe(`store contract: ${name}`, () => {
    for (const [chapter, list] of Object.entries(cases)) {
      describe(chapter, () => {
        for (const { title, run } of list) {
          test(title, { timeout: caseTimeoutMs }, async (t) => {
            const world = new StoreWorld();
            const { store, reopen, close } = await open(world);
            try {
              await run({ world, store, ...(reopen && { reopen }) });
            } catch (error) {
              if (!isPawlError(error, "NOT_SUPPORTED")) throw error;
              t.skip(`NOT_SUPPORTED: ${error.message}`);
            } finally {
              await close();
            }
          });
        }
      });
    }
  });
}
