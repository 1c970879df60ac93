/** Deleting that was interrupted: what was to go goes in the end, what somebody reads stays. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkFolder, checkStoreBlobs, sweep } from "../src/doctor/store-checkup.ts";
import { decodeAll, encode } from "../src/log/codec.ts";
import { type SqliteStore, sqliteStore } from "../src/store/sqlite.ts";
import { FakeEffects, fakeHolder } from "../src/testing/fake.ts";
import { createSession, forkSession, notes, textsOf } from "../src/testing/store-world.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-delete-"));
after(() => rm(root, { recursive: true, force: true }));
const script = fileURLToPath(new URL("./store-delete-process.ts", import.meta.url));
const effects = new FakeEffects();
effects.time = Date.UTC(2030, 0, 1);
const now = effects.time;

function open(dir: string): Promise<SqliteStore> {
  const { clock, timers } = effects;
  return sqliteStore({ dir, clock, timers, isAlive: () => undefined });
}

function countRecords(dir: string): number {
  const db = new DatabaseSync(join(dir, "pawl.db"), { readOnly: true });
  const row = db.prepare("SELECT (SELECT COUNT(*) FROM record) + (SELECT COUNT(*) FROM fresh) AS n").get();
  db.close();
  return Number(row?.["n"]);
}

test("killed at any moment of a delete: the session is there whole or gone; doctor erases the rest; a fork reads on", async () => {
  const [long, cut] = [12_000, 3_000];
  const seen = new Set<string>();
  // Where the machine is slow the last one alone is not killed before it has begun.
  for (const turns of [0, 20, 200, 1_000, 3_000, "deleted"]) {
    const dir = join(root, `${turns}`);
    const store = await open(dir);
    async function* batches() {
      for (let seq = 0; seq < long; seq += 1_000)
        yield notes("parent", 0, seq, ...Array.from({ length: 1_000 }, (_, index) => `${seq + index}`));
    }
    await store.restore({ session: "parent", head: {}, batches: batches() });
    await forkSession(store, "fork", "parent", cut);
    await createSession(store, "other");
    await store.close();
    const child = spawn(process.execPath, [script, dir, `${turns}`], { stdio: "inherit" });
    await once(child, "exit");

    const again = await open(dir);
    const deleted = (await again.get("parent")) === undefined;
    if (!deleted) assert.equal((await again.read("parent", { limit: long })).length, long);
    const looked = await checkFolder(dir, { now, repair: false });
    const left = looked.findings.filter(({ what }) => /not erased yet/.test(what)).length;
    seen.add(deleted ? (left > 0 ? "half" : "gone") : "there");
    await checkFolder(dir, { now, repair: true });
    await sweep(again);
    assert.equal(countRecords(dir), (deleted ? cut : long) + 2);
    const { findings } = await checkFolder(dir, { now, repair: false });
    assert.deepEqual(
      findings.filter(({ severity }) => severity !== "good"),
      [],
    );
    const fork = await again.read("fork", { limit: long });
    decodeAll(fork);
    assert.deepEqual(textsOf(fork).slice(-2), [`${cut - 1}`, "fork begins"]);
    await assert.rejects(createSession(again, "parent"), { code: "SESSION_EXISTS" });
    await again.close();
  }
  assert.ok(seen.size > 1, `all were killed at the same point: ${[...seen]}`);
});

test("a blob that only a fork of a deleted parent names stays; it goes with the fork", async () => {
  const dir = join(root, "blobs");
  const store = await open(dir);
  const runtime = { store, effects, holder: fakeHolder("doctor"), dir };
  const input = (session: string, seq: number, blob: string) =>
    encode(
      [
        {
          type: "input.accepted",
          input: "i",
          kind: "prompt",
          content: [{ type: "file", mediaType: "image/png", blob }],
        },
      ],
      { session, epoch: 0, expectedSeq: seq, time: now },
    );
  const [read, unread] = [await store.putBlob(new Uint8Array([1])), await store.putBlob(new Uint8Array([2]))];
  const records = [...input("parent", 0, read), ...input("parent", 1, unread)];
  await store.create({ session: "parent", head: {}, records });
  await forkSession(store, "fork", "parent", 1);
  const old = new Date(now - 2 * 86_400_000);
  for (const name of await readdir(join(dir, "blobs"), { recursive: true }))
    await utimes(join(dir, "blobs", name), old, old);
  const repair = () => checkStoreBlobs(runtime, { repair: true, whole: true });

  assert.deepEqual(
    (await repair()).map(({ severity }) => severity),
    ["good"],
  );
  await store.delete("parent");
  await repair();
  assert.deepEqual([await store.getBlob(read), await store.getBlob(unread)], [Buffer.from([1]), undefined]);
  await store.delete("fork");
  await repair();
  assert.equal(await store.getBlob(read), undefined);
  await store.close();
});
