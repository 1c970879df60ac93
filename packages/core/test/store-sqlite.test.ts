import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "../src/store/sqlite.ts";
import { storeContract } from "../src/testing/store-contract.ts";

storeContract("sqlite", async ({ clock, timers, isAlive }) => {
  const dir = await mkdtemp(join(tmpdir(), "pawl-store-"));
  let store = await sqliteStore({ dir, clock, timers, isAlive });
  const first = store;
  const reopen = async () => {
    await store.close();
    store = await sqliteStore({ dir, clock, timers, isAlive });
    return store;
  };
  const close = async () => {
    await store.close();
    await rm(dir, { recursive: true });
  };
  return { store: first, reopen, close };
});
