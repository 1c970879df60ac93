/** The same worlds on other stores: what a seed does in memory, it does on SQLite and on PostgreSQL, to the last byte. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Store } from "@pawl/core";
import { PostgresServer } from "../../postgres/test/server.ts";
import { type Ground, groundOf, memoryGround } from "../src/ground.ts";
import { runSchedule } from "../src/schedule.ts";
import type { Settings } from "../src/settings.ts";
import { corpus } from "./corpus.ts";

const server = await PostgresServer.start();
after(() => server.end());

/** Everything that a store says of its sessions. */
async function content(store: Store): Promise<unknown[]> {
  const said: unknown[] = [];
  for (const summary of await store.list({ limit: 1_000 })) {
    const { session } = summary;
    const records = await store.read(session, { limit: 9_000 });
    // A post's order only counts against others'.
    const posts = (await store.mailbox(session)).map(({ id, kind, body, postedAt }) => ({ id, kind, body, postedAt }));
    said.push(summary, records, posts, await store.readPartial(session));
  }
  return said;
}

async function played(ground: Ground, seed: number, change?: Partial<Settings>) {
  const opened: { store?: Store } = {};
  const open: Ground["open"] = async (footing) => {
    opened.store = await ground.open(footing);
    return opened.store;
  };
  const { hash, happened, breaches, sessions } = await runSchedule(seed, change, undefined, { ...ground, open });
  assert.ok(opened.store);
  const { store } = opened;
  assert.equal((await store.list({ limit: 1_000 })).length, sessions, `seed ${seed}: its sessions lie in that store`);
  return { hash, happened, breaches, content: await content(store) };
}

for (const [name, seeds, store] of [
  ["PostgreSQL", 200, () => server.url("postgres")],
  ["SQLite", 30, () => "sqlite"],
] as const) {
  test(`${seeds} seeds, and each that once broke a law, do on ${name} what they do in memory`, async () => {
    const ground = await groundOf(store());
    const worlds = [
      ...corpus.map(({ seed, settings }) => ({ seed, settings })),
      ...Array.from({ length: seeds }, (_, index) => ({ seed: index + 1, settings: {} })),
    ];
    for (const { seed, settings } of worlds) {
      const there = await played(ground, seed, settings);
      assert.deepEqual(there, await played(memoryGround, seed, settings), `seed ${seed}`);
      assert.deepEqual(there.breaches, [], `seed ${seed}`);
    }
    await ground.close();
  });
}
