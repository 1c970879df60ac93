/** Contract cases: creating, appending, reading, listing. */
import assert from "node:assert/strict";
import { limit } from "../limit.ts";
import { type ErasedPayload, type LogRecord, payloadHash } from "../log/envelope.ts";
import { createSession, notes, refused, type StoreCase, TestDriver, textsOf } from "./store-world.ts";

function erased({ payload }: LogRecord): ErasedPayload {
  return { erased: payloadHash(payload), left: new TextEncoder().encode("{}"), seal: "5".repeat(32) };
}

/** Where they differ, megabytes are not shown. */
function hashed(record: LogRecord): object {
  return record.payload instanceof Uint8Array ? { ...record, payload: payloadHash(record.payload) } : record;
}

const creating: StoreCase[] = [
  {
    title: "a created session reads back byte for byte",
    async run({ store, world }) {
      const records = notes("s", 0, 0, "one", "zwei ✓ 🦀", "");
      await store.create({ session: "s", records, head: { title: "T", cwd: "/w" } });
      assert.deepEqual(await store.read("s"), records);
      const { lease, ...summary } = (await store.get("s")) ?? {};
      assert.equal(lease, undefined);
      const now = world.clock.now();
      const head = { title: "T", cwd: "/w" };
      assert.deepEqual(summary, { session: "s", seq: 3, epoch: 0, createdAt: now, updatedAt: now, head });
    },
  },
  {
    title: "a store does not look into payloads: every byte, none and many come back as they were",
    async run({ store }) {
      const every = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      const payloads = [
        every,
        new Uint8Array(),
        new Uint8Array(3),
        every.toReversed(),
        new Uint8Array(70_000).fill(0xff),
      ];
      const records = notes("s", 0, 0, ...payloads.map(String)).map((record, index) => {
        const payload = payloads[index] ?? every;
        return { ...record, payload, checksum: payloadHash(payload).slice(0, 32) };
      });
      await store.create({ session: "s", records, head: {} });
      assert.deepEqual(await store.read("s"), records);
      assert.deepEqual(await store.readTail("s", { limit: 2 }), records.slice(-2));
    },
  },
  {
    title: "an id that exists, or did, is refused and the first session stays",
    async run(scene) {
      const { store } = scene;
      await createSession(store, "s", "first");
      await refused(scene, "s", "SESSION_EXISTS", () => createSession(store, "s", "second"), "s");
      await store.delete("s");
      await refused(scene, "s", "SESSION_EXISTS", () => createSession(store, "s", "third"), "s");
    },
  },
  {
    title: "two creations of one id at once: exactly one wins",
    async run({ store }) {
      const tries = await Promise.allSettled([createSession(store, "s", "a"), createSession(store, "s", "b", "c")]);
      assert.deepEqual(tries.map((one) => one.status).sort(), ["fulfilled", "rejected"]);
      const winner = tries[0]?.status === "fulfilled" ? ["created", "a"] : ["created", "b", "c"];
      assert.deepEqual(textsOf(await store.read("s")), winner);
    },
  },
  {
    title: "a malformed creation is refused and names what is wrong",
    async run(scene) {
      const { store } = scene;
      for (const session of ["", "../x", "a/b", "a b", "x".repeat(65)]) {
        const work = () => store.create({ session, records: notes(session, 0, 0, "x"), head: {} });
        await refused(scene, session, "INVALID_INPUT", work, JSON.stringify(session).slice(0, 40));
      }
      const create = (records: LogRecord[]) => () => store.create({ session: "s", records, head: {} });
      await refused(scene, "s", "INVALID_INPUT", create([]), "at least one");
      await refused(scene, "s", "INVALID_INPUT", create(notes("s", 0, 1, "x")), "seq must be 1", 2);
      await refused(scene, "s", "INVALID_INPUT", create(notes("s", 7, 0, "x")), "epoch must be 0", 7);
      await refused(scene, "s", "INVALID_INPUT", create(notes("other", 0, 0, "x")), "other");
    },
  },
];

const appending: StoreCase[] = [
  {
    title: "batches follow one another, and appends that wait keep their order",
    async run({ store, world }) {
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      await driver.append("a", "b");
      await Promise.all([driver.append("c"), driver.append("d"), driver.append("e", "f")]);
      assert.deepEqual(textsOf(await store.read("s")), ["created", "a", "b", "c", "d", "e", "f"]);
      assert.equal((await store.get("s"))?.seq, 7);
    },
  },
  {
    title: "a batch of any number and weight, erased payloads among them, is kept byte for byte, or refused whole",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      const all = await store.read("s");
      const heavy = 12 * 1024 * 1024;
      // Null: a batch may be a copy of what somebody has erased.
      for (const sizes of [
        [],
        [0],
        [1, 2, 3],
        [null],
        [4, null, 6],
        Array(8).fill(5),
        Array(9).fill(5),
        Array.from({ length: 300 }, (_, at) => (at % 5 === 4 ? null : 70)),
        [heavy, heavy, heavy, heavy, null],
      ]) {
        const batch = driver.batch(...sizes.map(String));
        batch.records = batch.records.map((record, at) => {
          const size = sizes[at] ?? null;
          if (size === null) return { ...record, payload: erased(record) };
          const payload = new Uint8Array(size).fill(at);
          return { ...record, payload, checksum: payloadHash(payload).slice(0, 32) };
        });
        const stale = { ...batch, epoch: 9, records: batch.records.map((record) => ({ ...record, epoch: 9 })) };
        await refused(scene, "s", "FENCED", () => store.append(stale), 9);
        await store.append(batch);
        driver.seq += sizes.length;
        all.push(...batch.records);
        const tail = await store.readTail("s", { limit: sizes.length + 1 });
        assert.deepEqual(tail.map(hashed), all.slice(-sizes.length - 1).map(hashed));
      }
      assert.equal((await store.get("s"))?.seq, all.length);
    },
  },
  {
    title: "a batch of another epoch is FENCED (L8), shows both epochs and leaves no trace",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      const first = await TestDriver.take(store, "s", world.holder());
      await store.releaseLease("s", first.epoch);
      const second = await TestDriver.take(store, "s", world.holder());
      await refused(scene, "s", "FENCED", () => first.append("late"), first.epoch, second.epoch);
      second.epoch += 1;
      await refused(scene, "s", "FENCED", () => second.append("early"), second.epoch);
      second.epoch -= 1;
      await second.append("on time");
      assert.deepEqual(textsOf(await store.read("s")), ["created", "on time"]);
    },
  },
  {
    title: "nobody appends without a lease: neither before the first nor after it was given back",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      const batch = { session: "s", epoch: 0, expectedSeq: 1, records: notes("s", 0, 1, "x") };
      await refused(scene, "s", "FENCED", () => store.append(batch), 0);
      const driver = await TestDriver.take(store, "s", world.holder());
      await store.releaseLease("s", driver.epoch);
      await refused(scene, "s", "FENCED", () => driver.append("x"), driver.epoch);
    },
  },
  {
    title: "a wrong expectedSeq is a CONFLICT that shows both ends and leaves no trace",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s", "a", "b");
      const driver = await TestDriver.take(store, "s", world.holder());
      for (const seq of [0, 2, 4, 1_000]) {
        driver.seq = seq;
        await refused(scene, "s", "CONFLICT", () => driver.append("x"), seq, 3);
      }
    },
  },
  {
    title: "of two batches for the same place exactly one wins",
    async run({ store, world }) {
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      const tries = await Promise.allSettled([store.append(driver.batch("a")), store.append(driver.batch("b"))]);
      assert.deepEqual(tries.map((one) => one.status).sort(), ["fulfilled", "rejected"]);
      assert.deepEqual(textsOf(await store.read("s")), ["created", tries[0]?.status === "fulfilled" ? "a" : "b"]);
    },
  },
  {
    title: "a malformed batch is refused before anything is written",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      const good = driver.batch("a", "b");
      const [a, b] = good.records;
      assert.ok(a && b);
      const append =
        (records: LogRecord[], more = {}) =>
        () =>
          store.append({ ...good, records, ...more });
      await refused(scene, "s", "INVALID_INPUT", append([b, a]), "seq must be 2", 3);
      await refused(scene, "s", "INVALID_INPUT", append([a, { ...b, seq: 4 }]), "seq must be 3", 4);
      await refused(scene, "s", "INVALID_INPUT", append([a, { ...b, session: "t" }]), '"t"');
      await refused(scene, "s", "INVALID_INPUT", append([a, { ...b, epoch: 9 }]), "epoch", 9);
      await refused(scene, "s", "INVALID_INPUT", append([a, { ...b, checksum: "zz" }]), "checksum", '"zz"');
      await refused(scene, "s", "INVALID_INPUT", append([a, { ...b, type: "half \ud83e" }]), "type", "half");
      await refused(
        scene,
        "s",
        "INVALID_INPUT",
        append([a, { ...b, payload: { ...erased(b), erased: "zz" } }]),
        '"zz"',
      );
      await refused(scene, "s", "INVALID_INPUT", append([a, { ...b, payload: { ...erased(b), seal: "yy" } }]), '"yy"');
      await refused(scene, "s", "INVALID_INPUT", append([a, b], { expectedSeq: -1 }), "expectedSeq", -1);
      const payload = new Uint8Array(limit.recordBytes + 1);
      await refused(scene, "s", "INVALID_INPUT", append([{ ...a, payload }]), payload.byteLength, "blob");
      const many = notes("s", driver.epoch, 1, ...Array.from({ length: limit.batchRecords + 1 }, String));
      await refused(scene, "s", "INVALID_INPUT", append(many), limit.batchRecords);
      await refused(scene, "s", "SESSION_NOT_FOUND", () => store.append({ ...good, session: "t", records: [] }), "t");
    },
  },
  {
    title: "a refused batch among good ones of other sessions harms none of them",
    async run({ store, world }) {
      const ids = Array.from({ length: 20 }, (_, index) => `s${index}`);
      const drivers = await Promise.all(
        ids.map(async (id) => {
          await createSession(store, id);
          return TestDriver.take(store, id, world.holder());
        }),
      );
      for (const [index, driver] of drivers.entries()) if (index % 3 === 0) driver.seq += 5;
      const tries = await Promise.allSettled(drivers.map((driver) => driver.append("x")));
      for (const [index, id] of ids.entries()) {
        const good = index % 3 !== 0;
        assert.equal(tries[index]?.status, good ? "fulfilled" : "rejected");
        assert.deepEqual(textsOf(await store.read(id)), good ? ["created", "x"] : ["created"]);
      }
    },
  },
  {
    title: "the head is replaced where a batch brings one, and stays otherwise",
    async run({ store, world }) {
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      world.advance(5);
      await store.append({ ...driver.batch("a"), head: { title: "T", openTurn: "turn-1" } });
      driver.seq += 1;
      assert.deepEqual((await store.get("s"))?.head, { title: "T", openTurn: "turn-1" });
      world.advance(5);
      await driver.append("b");
      const summary = await store.get("s");
      assert.deepEqual(summary?.head, { title: "T", openTurn: "turn-1" });
      assert.equal(summary?.updatedAt, world.clock.now());
      assert.equal(summary?.createdAt, world.clock.now() - 10);
      await store.append({ ...driver.batch("c"), head: { outcome: "completed" } });
      assert.deepEqual((await store.get("s"))?.head, { outcome: "completed" });
    },
  },
  {
    title: "empty, large, erased and foreign payloads are kept byte for byte",
    async run({ store, world }) {
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      const batch = driver.batch("a", "b", "c", "d");
      const [a, b, c, d] = batch.records;
      assert.ok(a && b && c && d);
      const large = Uint8Array.from({ length: 3_000_000 }, (_, index) => index * 7);
      const records: LogRecord[] = [
        { ...a, payload: new Uint8Array() },
        { ...b, payload: large },
        { ...c, payload: erased(c) },
        { ...d, payload: Buffer.from("a view of a pool"), type: "x.unknown", version: 12, ignorable: false },
      ];
      await store.append({ ...batch, records });
      const read = await store.read("s", { after: 1 });
      assert.deepEqual(read, [
        ...records.slice(0, 2),
        { ...records[2], payload: { ...erased(c), left: new Uint8Array(Buffer.from("{}")) } },
        { ...records[3], payload: new Uint8Array(Buffer.from("a view of a pool")) },
      ]);
    },
  },
];

const reading: StoreCase[] = [
  {
    title: "pages go forward from a seq and from the tail, ascending",
    async run({ store }) {
      await createSession(store, "s", "2", "3", "4", "5", "6");
      const seqs = async (page: Promise<LogRecord[]>) => (await page).map((record) => record.seq);
      assert.deepEqual(await seqs(store.read("s", { limit: 2 })), [1, 2]);
      assert.deepEqual(await seqs(store.read("s", { after: 2, limit: 3 })), [3, 4, 5]);
      assert.deepEqual(await seqs(store.read("s", { after: 5 })), [6]);
      assert.deepEqual(await seqs(store.read("s", { after: 6 })), []);
      assert.deepEqual(await seqs(store.read("s", { after: 600 })), []);
      assert.deepEqual(await seqs(store.readTail("s", { limit: 2 })), [5, 6]);
      assert.deepEqual(await seqs(store.readTail("s", { before: 5, limit: 3 })), [2, 3, 4]);
      assert.deepEqual(await seqs(store.readTail("s", { before: 3, limit: 9 })), [1, 2]);
      assert.deepEqual(await seqs(store.readTail("s", { before: 1 })), []);
      assert.deepEqual(await seqs(store.readTail("s", { before: 100, limit: 1 })), [6]);
    },
  },
  {
    title: "a long session is read in pages without gap or duplicate, large records or not",
    async run({ store, world }) {
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      const large = "x".repeat(700_000);
      for (let batch = 0; batch < 4; batch += 1) {
        await driver.append(...Array.from({ length: 600 }, (_, index) => (index % 100 === 7 ? large : `${index}`)));
      }
      const page = await store.read("s");
      assert.equal(page.length, limit.pageRecords);
      const rest = await store.read("s", { after: limit.pageRecords, limit: 5_000 });
      const seqs = [...page, ...rest].map((record) => record.seq);
      assert.deepEqual(
        seqs,
        Array.from({ length: 2_401 }, (_, index) => index + 1),
      );
      assert.deepEqual(
        await store.readTail("s", { before: 1_500, limit: 700 }),
        rest.slice(0, 0).concat(page, rest).slice(799, 1_499),
      );
    },
  },
  {
    title: "a session that is not there: reads fail, get is undefined; nonsense limits are refused",
    async run(scene) {
      const { store } = scene;
      await refused(scene, "s", "SESSION_NOT_FOUND", () => store.read("s"), "s");
      await refused(scene, "s", "SESSION_NOT_FOUND", () => store.readTail("s"), "s");
      assert.equal(await store.get("s"), undefined);
      await createSession(store, "s");
      await refused(scene, "s", "INVALID_INPUT", () => store.read("s", { limit: 0 }), 0);
      await refused(scene, "s", "INVALID_INPUT", () => store.list({ limit: -1 }), -1);
    },
  },
  {
    title: "what was handed in or out may be changed without changing the store",
    async run({ store }) {
      const records = notes("s", 0, 0, "kept");
      const head = { title: "kept" };
      await store.create({ session: "s", records, head });
      for (const record of [...records, ...(await store.read("s"))]) record.type = "changed";
      head.title = "changed";
      const summary = await store.get("s");
      if (summary) summary.head.title = "changed";
      assert.deepEqual(await store.read("s"), notes("s", 0, 0, "kept"));
      assert.deepEqual((await store.get("s"))?.head, { title: "kept" });
    },
  },
  {
    title: "lists show the latest update first, and a cursor visits each session once",
    async run({ store, world }) {
      const at = ["d", "b", "a", "c", "e"];
      for (const [index, id] of at.entries()) {
        if (index !== 2) world.advance(10);
        await createSession(store, id);
      }
      const ids = async (options?: Parameters<typeof store.list>[0]) =>
        (await store.list(options)).map((s) => s.session);
      assert.deepEqual(await ids(), ["e", "c", "b", "a", "d"]);
      world.advance(10);
      await (await TestDriver.take(store, "d", world.holder())).append("x");
      assert.deepEqual(await ids(), ["d", "e", "c", "b", "a"]);
      const visited: string[] = [];
      for (let page = await store.list({ limit: 2 }); page.length > 0; ) {
        visited.push(...page.map((entry) => entry.session));
        const last = page.at(-1);
        assert.ok(last);
        page = await store.list({ limit: 2, cursor: { updatedAt: last.updatedAt, session: last.session } });
      }
      assert.deepEqual(visited, ["d", "e", "c", "b", "a"]);
      for (const entry of await store.list()) assert.deepEqual(entry, await store.get(entry.session));
    },
  },
];

export const logCases: StoreCase[] = [...creating, ...appending, ...reading];
