/** Each schedule in a new SQLite folder. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "@pawl/core";
import { nodeEffects, sqliteStore } from "@pawl/core/node";
import { type Ground, promptly } from "./ground.ts";

export function sqliteGround(): Ground {
  let opened: { dir: string; store: Store } | undefined;
  const close = async () => {
    await opened?.store.close();
    if (opened) await rm(opened.dir, { recursive: true });
    opened = undefined;
  };
  return {
    answers: "later",
    close,
    async open({ clock, isAlive }) {
      await close();
      const dir = await mkdtemp(join(tmpdir(), "pawl-simulation-"));
      opened = { dir, store: await sqliteStore({ dir, clock, isAlive, timers: nodeEffects().timers }) };
      return promptly(opened.store);
    },
  };
}
