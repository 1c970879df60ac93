/** Collecting blobs: what nobody names goes, and only that. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { collectBlobs } from "../src/doctor/blob-collection.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import type { Store } from "../src/store/store.ts";
import { type FakeEffects, fakeHolder } from "../src/testing/fake.ts";
import { createSession, forkSession, TestDriver } from "../src/testing/store-world.ts";
import { ground } from "./ground.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-blobs-"));
after(() => rm(root, { recursive: true, force: true }));
const day = 86_400_000;

async function scene(open: (effects: FakeEffects) => Store | Promise<Store>) {
  const effects = ground().effects();
  effects.time = Date.UTC(2030, 0, 1);
  const store = await open(effects);
  return { effects, store, runtime: { store, effects, holder: fakeHolder() } };
}

const put = (store: Store, byte: number) => store.putBlob(new Uint8Array([byte]));

async function there(store: Store, names: readonly string[]): Promise<boolean[]> {
  return Promise.all(names.map(async (name) => (await store.getBlob(name)) !== undefined));
}

const onGround = (effects: FakeEffects) => ground().open({ effects });
const stores: { [name: string]: (effects: FakeEffects) => Store | Promise<Store> } = {
  [ground().name]: onGround,
  sqlite: ({ clock, timers }) => sqliteStore({ dir: join(root, "store"), clock, timers, isAlive: () => true }),
};

for (const [name, open] of Object.entries(stores)) {
  test(`${name}: named by a log, a post, or records that a fork reads, it stays; else it goes after a day`, async () => {
    const { store, effects, runtime } = await scene(open);
    const [inLog = "", inPost = "", ofParent = "", ofDeleted = "", ofNobody = ""] = await Promise.all(
      [1, 2, 3, 4, 5].map((byte) => put(store, byte)),
    );
    await createSession(store, "s", `see ${inLog}`);
    await store.post("s", { id: "p", kind: "input", body: { content: [{ type: "file", blob: inPost }] } });
    await createSession(store, "parent", `see ${ofParent}`);
    await forkSession(store, "child", "parent", 2);
    await store.delete("parent");
    await createSession(store, "deleted", `see ${ofDeleted}`);
    await store.delete("deleted");
    assert.deepEqual(await collectBlobs(runtime), { old: 0, removed: 0 });
    effects.advance(day + 1);
    const young = await put(store, 6);
    const names = [inLog, inPost, ofParent, ofDeleted, ofNobody, young];
    assert.deepEqual(await collectBlobs(runtime, { mode: "report" }), { old: 5, removed: 2 });
    assert.deepEqual(await there(store, names), [true, true, true, true, true, true]);
    assert.deepEqual(await collectBlobs(runtime), { old: 5, removed: 2 });
    assert.deepEqual(await there(store, names), [true, true, true, false, false, true]);
    await store.close();
  });
}

describe("beside workers", () => {
  test("a session that moves to the front of the list while it is walked is looked at all the same", async () => {
    const { store, effects, runtime } = await scene(onGround);
    const blob = await put(store, 1);
    for (const session of ["named", "b", "c"]) {
      await createSession(store, session, session === "named" ? `see ${blob}` : "nothing");
      effects.advance(1);
    }
    effects.advance(2 * day);
    const driver = await TestDriver.take(store, "named", runtime.holder);
    let moved = false;
    const walked = new Proxy(store, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member);
        if (member === "list") {
          return async (options: object = {}) => {
            const page = await target.list({ ...options, limit: 1 });
            // The latest was handed out; the one that nobody has come to yet is updated, once.
            if (!moved) await driver.append("goes on");
            moved = true;
            return page;
          };
        }
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    assert.deepEqual(await collectBlobs({ ...runtime, store: walked }), { old: 1, removed: 0 });
    assert.deepEqual(await there(store, [blob]), [true]);
  });

  test("what is put again while it is looked for stays; where a log cannot be read, all stays", async () => {
    const { store, effects, runtime } = await scene(onGround);
    const blob = await put(store, 1);
    await createSession(store, "s");
    effects.advance(2 * day);
    let then: () => Promise<unknown> = () => put(store, 1);
    const disturbed = new Proxy(store, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member);
        if (member === "mailbox") return (session: string) => then().then(() => target.mailbox(session));
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    assert.deepEqual(await collectBlobs({ ...runtime, store: disturbed }), { old: 1, removed: 0 });
    effects.advance(2 * day);
    then = () => Promise.reject(new Error("the disk is broken"));
    await assert.rejects(collectBlobs({ ...runtime, store: disturbed }), /disk/);
    assert.deepEqual(await there(store, [blob]), [true]);
  });

  test("a name that begins inside of a longer row of digits is one", async () => {
    const { store, effects, runtime } = await scene(onGround);
    const blob = await put(store, 1);
    await createSession(store, "s", `0${blob}`);
    effects.advance(2 * day);
    assert.deepEqual(await collectBlobs(runtime), { old: 1, removed: 0 });
  });
});
