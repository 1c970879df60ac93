/** Contract cases: taking in a whole session, erasing a payload. */
import assert from "node:assert/strict";
import { type ErasedPayload, type LogRecord, payloadHash } from "../log/envelope.ts";
import { maxSeq } from "../store/admission.ts";
import type { Store } from "../store/store.ts";
import { createSession, forkSession, notes, refused, type StoreCase, TestDriver, textsOf } from "./store-world.ts";

async function* batchesOf(...batches: LogRecord[][]): AsyncGenerator<LogRecord[]> {
  yield* batches;
}

function erasureOf(record: LogRecord): ErasedPayload {
  const left = new Uint8Array(Buffer.from('{"about":"test","text":"[erased]"}'));
  return { erased: payloadHash(record.payload), left, seal: "5".repeat(32) };
}

async function recordAt(store: Store, session: string, seq: number): Promise<LogRecord> {
  const [record] = await store.read(session, { after: seq - 1, limit: 1 });
  assert.ok(record);
  return record;
}

const restoring: StoreCase[] = [
  {
    title: "a restored session reads back byte for byte: other origins, epochs and gaps included",
    async run({ store }) {
      const parent = notes("gone", 7, 0, "1", "2");
      const own = [...notes("s", 0, 2, "3"), ...notes("s", 4, 4, "5")];
      await store.restore({
        session: "s",
        head: { title: "T" },
        batches: batchesOf(parent, own.slice(0, 1), own.slice(1)),
      });
      assert.deepEqual(await store.read("s"), [...parent, ...own]);
      for (let after = 0; after <= 5; after += 1) {
        const rest = [...parent, ...own].filter(({ seq }) => seq > after);
        assert.deepEqual(await store.read("s", { after }), rest);
        assert.deepEqual(await store.read("s", { after, limit: 1 }), rest.slice(0, 1));
        const before = [...parent, ...own].filter(({ seq }) => seq < after);
        assert.deepEqual(await store.readTail("s", { before: after }), before);
      }
      const summary = await store.get("s");
      assert.deepEqual([summary?.seq, summary?.epoch, summary?.head], [5, 4, { title: "T" }]);
      assert.equal(summary?.parent, undefined);
    },
  },
  {
    title: "a restored session goes on, is forked in the middle of another's records, and deleted",
    async run({ store, world }) {
      const batches = batchesOf([...notes("a", 3, 0, "1", "2"), ...notes("b", 9, 2, "3", "4")], notes("s", 2, 4, "5"));
      await store.restore({ session: "s", head: {}, batches });
      const driver = await TestDriver.take(store, "s", world.holder());
      assert.deepEqual([driver.epoch, driver.seq], [3, 5]);
      await driver.append("6");
      for (const cut of [1, 2, 3, 4, 5, 6]) {
        await forkSession(store, `f${cut}`, "s", cut);
        const records = await store.read(`f${cut}`);
        const whole = ["1", "2", "3", "4", "5", "6"].slice(0, cut);
        assert.deepEqual(textsOf(records), [...whole, `f${cut} begins`]);
        const origins = ["a", "a", "b", "b", "s", "s"].slice(0, cut);
        assert.deepEqual(
          records.map(({ session }) => session),
          [...origins, `f${cut}`],
        );
      }
      await store.delete("s");
      assert.deepEqual(textsOf(await store.read("f4")), ["1", "2", "3", "4", "f4 begins"]);
    },
  },
  {
    title: "a restored session goes on to the last seq: numbers of a record at their bounds come back as they were",
    async run({ store, world }) {
      const epoch = 3_000_000_000;
      const all = [...notes("s", 0, 0, "1"), ...notes("s", epoch, maxSeq - 13, "restored")];
      await store.restore({ session: "s", head: {}, batches: batchesOf(all) });
      const driver = await TestDriver.take(store, "s", world.holder());
      assert.ok(driver.epoch > epoch);
      const bounds = [Number.MIN_SAFE_INTEGER, -1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER];
      for (const count of [1, 2, 9]) {
        const batch = driver.batch(...Array(count).fill("goes on"));
        batch.records = batch.records.map((record) => {
          const bound = bounds[record.seq % bounds.length] ?? 0;
          return { ...record, time: bound, version: -bound, ignorable: record.seq % 2 === 0 };
        });
        await store.append(batch);
        driver.seq += count;
        all.push(...batch.records);
      }
      assert.deepEqual(await store.read("s"), all);
      assert.equal((await store.get("s"))?.seq, maxSeq);
    },
  },
  {
    title: "a restored session knows the posts that its records have consumed, for ever; a child has its own alone",
    async run(scene) {
      const { store, world } = scene;
      const posts: string[] = [];
      async function* batches(): AsyncGenerator<LogRecord[]> {
        yield notes("s", 0, 0, "1");
        // Known when the last batch has been given, as the head is.
        posts.push("p", "q", "p");
      }
      await store.restore({ session: "s", head: {}, posts, batches: batches() });
      const input = (id: string) => ({ id, kind: "input" as const, body: id });
      for (const id of ["p", "q", "p"]) assert.equal(await store.post("s", input(id)), "duplicate");
      assert.deepEqual(await store.mailbox("s"), []);
      assert.deepEqual(await store.claimWork(world.holder(), { limit: 1, ttlMs: 1_000 }), [], "nothing waits");
      assert.equal(await store.post("s", input("r")), "accepted");
      const driver = await TestDriver.take(store, "s", world.holder());
      await refused(
        scene,
        "s",
        "INVALID_INPUT",
        () => store.append({ session: "s", epoch: driver.epoch, expectedSeq: 1, records: [], consume: ["p"] }),
        '"p"',
      );
      await forkSession(store, "f", "s", 1);
      assert.equal(await store.post("f", input("p")), "accepted", "a child has its own posts only");
      const odd = () =>
        store.restore({ session: "t", head: {}, posts: ["a b"], batches: batchesOf(notes("t", 0, 0, "1")) });
      await refused(scene, "t", "INVALID_INPUT", odd, '"a b"');
    },
  },
  {
    title: "nobody sees a session before it is whole; where its source fails there is none, and it may be tried again",
    async run(scene) {
      const { store } = scene;
      async function* torn(): AsyncGenerator<LogRecord[]> {
        yield notes("s", 0, 0, "1", "2");
        assert.equal(await store.get("s"), undefined);
        assert.deepEqual(await store.list(), []);
        throw new Error("line 3 is torn");
      }
      await assert.rejects(store.restore({ session: "s", head: {}, batches: torn() }), /line 3 is torn/);
      assert.equal(await store.get("s"), undefined);
      const wrong = () =>
        store.restore({
          session: "s",
          head: {},
          batches: batchesOf(notes("s", 0, 0, "1", "2"), notes("s", 0, 1, "2")),
        });
      await refused(scene, "s", "INVALID_INPUT", wrong, "greater than 2");
      await store.restore({ session: "s", head: {}, batches: batchesOf(notes("s", 0, 0, "1", "2")) });
      assert.deepEqual(textsOf(await store.read("s")), ["1", "2"]);
      assert.equal((await store.list()).length, 1);
    },
  },
  {
    title: "an id that exists, or did, is not restored over; of two restores of one id exactly one wins",
    async run(scene) {
      const { store } = scene;
      await createSession(store, "s", "first");
      const restore = (session: string) => () =>
        store.restore({ session, head: {}, batches: batchesOf(notes(session, 0, 0, "1")) });
      await refused(scene, "s", "SESSION_EXISTS", restore("s"), "s");
      await store.delete("s");
      await refused(scene, "s", "SESSION_EXISTS", restore("s"), "s");
      await refused(scene, "a b", "INVALID_INPUT", restore("a b"), '"a b"');
      const tries = await Promise.allSettled([restore("t")(), restore("t")()]);
      assert.deepEqual(tries.map((one) => one.status).sort(), ["fulfilled", "rejected"]);
      assert.deepEqual(textsOf(await store.read("t")), ["1"]);
    },
  },
];

const erasing: StoreCase[] = [
  {
    title: "an erased payload is replaced by what is left; envelope and hash stay, for every reader",
    async run({ store, world }) {
      await createSession(store, "s", "secret", "3");
      await forkSession(store, "c", "s", 2);
      for (const session of ["s", "c"])
        await store.saveSnapshot(session, {
          reducer: "r",
          version: 1,
          seq: 2,
          checksum: "",
          bytes: new Uint8Array([1]),
        });
      const before = await recordAt(store, "s", 2);
      const { epoch } = await TestDriver.take(store, "s", world.holder());
      const payload = erasureOf(before);
      await store.erase({ session: "s", epoch, seq: 2, payload });
      for (const session of ["s", "c"]) {
        assert.deepEqual(await recordAt(store, session, 2), { ...before, payload });
        assert.equal(await store.loadSnapshot(session, "r"), undefined, "a snapshot may hold what was erased");
      }
      await store.erase({ session: "s", epoch, seq: 2, payload: { ...payload, left: new Uint8Array() } });
      assert.deepEqual(await recordAt(store, "s", 2), { ...before, payload });
      assert.deepEqual((await store.get("s"))?.seq, 3);
    },
  },
  {
    title: "erasing is fenced, of own records alone, and of the payload that was seen",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s", "2");
      await forkSession(store, "c", "s", 2);
      const payload = erasureOf(await recordAt(store, "s", 2));
      const old = await TestDriver.take(store, "s", world.holder());
      await store.releaseLease("s", old.epoch);
      const erase =
        (session: string, epoch: number, seq: number, what = payload) =>
        () =>
          store.erase({ session, epoch, seq, payload: what });
      await refused(scene, "s", "FENCED", erase("s", old.epoch, 2), old.epoch);
      const { epoch } = await TestDriver.take(store, "s", world.holder());
      await refused(scene, "s", "CONFLICT", erase("s", epoch, 1), payload.erased);
      await refused(scene, "s", "INVALID_INPUT", erase("s", epoch, 3), "not there", 3);
      await refused(scene, "s", "INVALID_INPUT", erase("s", epoch, 0), 0);
      await refused(scene, "s", "INVALID_INPUT", erase("s", epoch, 2, { ...payload, seal: "x" }), '"x"');
      const child = await TestDriver.take(store, "c", world.holder());
      await refused(scene, "c", "INVALID_INPUT", erase("c", child.epoch, 2), "forked from");
    },
  },
];

export const transferCases: StoreCase[] = [...restoring, ...erasing];
