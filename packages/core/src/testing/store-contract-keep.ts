/** Contract cases: names, snapshots, blobs, closing, and what is still there after a reopen. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { createSession, forkSession, refused, type StoreCase, TestDriver, traceOf } from "./store-world.ts";

const keeping: StoreCase[] = [
  {
    title: "a name moves, goes, and is compared before it is set",
    async run(scene) {
      const { store } = scene;
      await createSession(store, "a");
      await createSession(store, "b");
      assert.equal(await store.resolveName("main"), undefined);
      assert.equal(await store.setName("main", "a", "b"), false);
      assert.equal(await store.setName("main", "a", null), true);
      assert.equal(await store.setName("main", "b", null), false);
      assert.equal(await store.resolveName("main"), "a");
      assert.equal(await store.setName("a name of its own", "a"), true);
      assert.deepEqual((await store.get("a"))?.names, ["a name of its own", "main"]);
      assert.equal((await store.get("b"))?.names, undefined);
      assert.deepEqual((await store.list()).find(({ session }) => session === "a")?.names, [
        "a name of its own",
        "main",
      ]);
      assert.equal(await store.setName("main", "b", "a"), true);
      assert.equal(await store.setName("main", "a"), true);
      assert.equal(await store.setName("main", null, "b"), false);
      assert.equal(await store.resolveName("main"), "a");
      assert.equal(await store.setName("main", null, "a"), true);
      assert.equal(await store.resolveName("main"), undefined);
      await refused(scene, "a", "SESSION_NOT_FOUND", () => store.setName("main", "nobody"), "nobody");
      await refused(scene, "a", "INVALID_INPUT", () => store.setName("", "a"), '""');
      const racers = await Promise.all([store.setName("race", "a", null), store.setName("race", "b", null)]);
      assert.deepEqual(racers.sort(), [false, true]);
    },
  },
  {
    title: "the last snapshot of each reducer is kept",
    async run({ store }) {
      await createSession(store, "s");
      const bytes = Uint8Array.from({ length: 10_000 }, (_, index) => index);
      const old = { reducer: "turn", version: 1, seq: 1, checksum: "aa", bytes: new Uint8Array([1]) };
      const snapshot = { reducer: "turn", version: 2, seq: 9, checksum: "bb", bytes };
      assert.equal(await store.loadSnapshot("s", "turn"), undefined);
      await store.saveSnapshot("s", old);
      await store.saveSnapshot("s", { ...old, reducer: "books" });
      await store.saveSnapshot("s", snapshot);
      const loaded = await store.loadSnapshot("s", "turn");
      assert.deepEqual(loaded && { ...loaded, bytes: new Uint8Array(loaded.bytes) }, snapshot);
      assert.equal((await store.loadSnapshot("s", "books"))?.version, 1);
    },
  },
  {
    title: "a blob is found by the sha256 of its bytes, however often it is put",
    async run({ store }) {
      for (const bytes of [new Uint8Array(), Uint8Array.from({ length: 2_000_000 }, (_, index) => index * 3)]) {
        const name = hash("sha256", bytes, "hex");
        assert.deepEqual(await Promise.all([store.putBlob(bytes), store.putBlob(bytes)]), [name, name]);
        assert.equal(await store.putBlob(bytes), name);
        const got = await store.getBlob(name);
        assert.ok(got && Buffer.compare(got, bytes) === 0);
      }
      for (const name of ["0".repeat(64), "", "../../etc/passwd"]) assert.equal(await store.getBlob(name), undefined);
    },
  },
  {
    title: "a blob is old when nobody has put it for so long; only then it can be dropped",
    async run({ store, world }) {
      const names: string[] = [];
      for (const byte of [1, 2, 3, 4]) names.push(await store.putBlob(new Uint8Array([byte])));
      const sorted = [...names].sort();
      const [kept = "", again = ""] = names;
      assert.deepEqual(await store.oldBlobs({ before: world.clock.now() }), []);
      world.advance(1_000);
      const before = world.clock.now();
      assert.deepEqual(await store.oldBlobs({ before }), sorted);
      assert.deepEqual(await store.oldBlobs({ before, after: sorted[1] ?? "", limit: 1 }), sorted.slice(2, 3));
      world.advance(1_000);
      assert.equal(await store.putBlob(new Uint8Array([2])), again);
      const old = sorted.filter((name) => name !== again);
      assert.deepEqual(await store.oldBlobs({ before }), old);
      const unwanted = names.filter((name) => name !== kept);
      assert.equal(await store.dropBlobs([...unwanted, "0".repeat(64)], before), 2);
      for (const name of names) assert.equal((await store.getBlob(name)) !== undefined, [kept, again].includes(name));
      assert.deepEqual(await store.oldBlobs({ before }), [kept]);
      assert.equal(await store.putBlob(new Uint8Array([3])), names[2]);
      assert.deepEqual(await store.getBlob(names[2] ?? "").then((bytes) => bytes && [...bytes]), [3]);
    },
  },
  {
    title: "a blob that is put and dropped at once is there; of two who drop it one does",
    async run({ store, world }) {
      const bytes = new Uint8Array([1]);
      for (let round = 0; round < 10; round += 1) {
        const name = await store.putBlob(bytes);
        world.advance(1_000);
        const before = world.clock.now();
        const drop = () => store.dropBlobs([name], before);
        const put = () => store.putBlob(bytes);
        await Promise.all(round % 2 === 0 ? [put(), drop()] : [drop(), put()]);
        assert.ok(await store.getBlob(name), `round ${round}`);
        world.advance(1_000);
        const later = world.clock.now();
        const dropped = await Promise.all([1, 2, 3].map(() => store.dropBlobs([name], later)));
        assert.deepEqual(dropped.sort(), [0, 0, 1]);
        assert.equal(await store.getBlob(name), undefined);
      }
    },
  },
  {
    title: "close waits for what was accepted; afterwards everything says STORE_CLOSED; closing again is fine",
    async run({ store, world }) {
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      let heard = false;
      store.watch("s", () => {
        heard = true;
      });
      const accepted = driver.append("a");
      const closed = store.close();
      await accepted;
      await closed;
      await store.close();
      await world.until(() => heard);
      assert.throws(() => store.watch("s", () => undefined), { code: "STORE_CLOSED" });
      const works: (() => Promise<unknown>)[] = [
        () => driver.append("b"),
        () => createSession(store, "t"),
        () => store.read("s"),
        () => store.get("s"),
        () => store.list(),
        () => store.post("s", { id: "p", kind: "input", body: null }),
        () => store.acquireLease("s", world.holder(), 1),
        () => store.putBlob(new Uint8Array()),
        () => store.getBlob("0".repeat(64)),
      ];
      for (const work of works) await assert.rejects(work(), { code: "STORE_CLOSED" });
    },
  },
];

const lasting: StoreCase = {
  title: "what was acknowledged is there after a reopen, fences and memories too",
  async run(scene) {
    const { store, world, reopen } = scene;
    if (!reopen) return;
    await createSession(store, "s", "2");
    await forkSession(store, "c", "s", 1);
    const driver = await TestDriver.take(store, "s", world.holder(), 1e9);
    for (const id of ["p", "q"]) await store.post("s", { id, kind: "steer", body: { id } });
    await store.append({ ...driver.batch("3"), consume: ["p"], head: { title: "T", openTurn: "t" } });
    driver.seq += 1;
    await store.writePartial("s", driver.epoch, "attempt", "so far");
    await store.setName("main", "c");
    await store.saveSnapshot("s", { reducer: "r", version: 1, seq: 2, checksum: "aa", bytes: new Uint8Array([1]) });
    const blob = await store.putBlob(new Uint8Array([7]));
    const before = [await traceOf(store, "s"), await traceOf(store, "c"), await store.list()];

    const again = await reopen();
    assert.deepEqual([await traceOf(again, "s"), await traceOf(again, "c"), await again.list()], before);
    assert.equal(await again.resolveName("main"), "c");
    assert.deepEqual(await again.getBlob(blob).then((bytes) => bytes && [...bytes]), [7]);
    assert.equal((await again.loadSnapshot("s", "r"))?.seq, 2);
    assert.equal(await again.post("s", { id: "p", kind: "steer", body: null }), "duplicate");
    assert.equal((await again.acquireLease("s", world.holder(), 10)).granted, false);
    await again.append({ ...driver.batch("4"), dropPartial: "attempt" });
    await again.releaseLease("s", driver.epoch);
    assert.equal((await TestDriver.take(again, "s", world.holder())).epoch, driver.epoch + 1);
  },
};

export const keepCases: StoreCase[] = [...keeping, lasting];
