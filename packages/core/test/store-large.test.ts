/** Long logs and many sessions: memory does not grow with them, and slow is not broken. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { pages } from "../src/store/pages.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import type { Store } from "../src/store/store.ts";
import { createSession, notes, StoreWorld, TestDriver } from "../src/testing/store-world.ts";
import { ground } from "./ground.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-large-"));
after(() => rm(root, { recursive: true, force: true }));
const script = fileURLToPath(new URL("./store-large-process.ts", import.meta.url));

test("R60: a log of 120 MB among 500 sessions is listed, read to its end and driven on in 64 MB of heap", async () => {
  const world = new StoreWorld();
  const { clock, timers, isAlive } = world;
  const store = await sqliteStore({ dir: root, clock, timers, isAlive });
  await Promise.all(Array.from({ length: 499 }, (_, index) => createSession(store, `s${index}`)));
  const [records, chars] = [240, 500_000];
  async function* batches() {
    for (let seq = 0; seq < records; seq += 10)
      yield notes("long", 0, seq, ...Array.from({ length: 10 }, (_, index) => `${index}`.padEnd(chars, "x")));
  }
  await store.restore({ session: "long", head: {}, batches: batches() });
  await store.close();

  const child = spawn(process.execPath, ["--max-old-space-size=64", script, root], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = await text(child.stdout);
  assert.notEqual(said, "", "it ran out of memory");
  assert.deepEqual(JSON.parse(said), { listed: 500, tail: 3, entries: records, chars: records * chars });
});

test("R60: a page is as long as its records are short, and none is left out at the seams", async () => {
  const world = new StoreWorld();
  const store = ground().open({ effects: world, isAlive: world.isAlive });
  await createSession(store, "s");
  const driver = await TestDriver.take(store, "s", world.holder());
  const sizes = [10, 300_000, 10, 5_000_000, 10].flatMap((size, index) =>
    Array.from({ length: [2_500, 40, 900, 3, 30][index] ?? 0 }, () => size),
  );
  for (const size of sizes) await driver.append("x".repeat(size));
  const lengths: number[] = [];
  let largest = 0;
  for await (const { entries } of pages(store, "s")) {
    const chars = entries.map(({ event }) => (event.type === "note.recorded" ? event.text.length : 0));
    lengths.push(...chars);
    largest = Math.max(largest, entries.length);
  }
  assert.deepEqual(lengths.slice(1), sizes);
  assert.equal(largest, 1_000);
});

test("R60: a store that answers after an hour is slow, not damaged: all of the log comes, nothing is given up", async () => {
  const world = new StoreWorld();
  const store = ground().open({ effects: world, isAlive: world.isAlive });
  await createSession(store, "s", ...Array.from({ length: 900 }, (_, index) => `${index}`));
  const slow: Pick<Store, "read"> = {
    read: (session, options) =>
      new Promise((resolve, reject) => {
        world.timers.after(3_600_000, () => void store.read(session, options).then(resolve, reject));
      }),
  };
  let count = 0;
  let done = false;
  const reading = (async () => {
    for await (const { entries } of pages(slow, "s")) count += entries.length;
    done = true;
  })();
  while (!done) {
    await new Promise((resolve) => setImmediate(resolve));
    world.advance(3_600_000);
  }
  await reading;
  assert.equal(count, 901);
});
