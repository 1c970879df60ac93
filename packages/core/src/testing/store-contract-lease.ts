/** Contract cases: leases and epochs, the partial journal, claiming work. */
import assert from "node:assert/strict";
import { createSession, refused, type StoreCase, TestDriver } from "./store-world.ts";

const leasing: StoreCase[] = [
  {
    title: "one holder at a time; who is refused learns who holds it and until when",
    async run({ store, world }) {
      await createSession(store, "s", "2");
      const holder = world.holder();
      const expiresAt = world.clock.now() + 100;
      assert.deepEqual(await store.acquireLease("s", holder, 100), { granted: true, epoch: 1, seq: 2 });
      const held = { epoch: 1, holder, expiresAt };
      assert.deepEqual(await store.acquireLease("s", world.holder(), 100), { granted: false, held });
      const summary = await store.get("s");
      assert.deepEqual(summary?.lease, held);
      assert.equal(summary?.epoch, 1);
      assert.deepEqual((await store.list())[0], summary);
    },
  },
  {
    title: "of many who ask at once exactly one is granted",
    async run({ store, world }) {
      await createSession(store, "s");
      const answers = await Promise.all(Array.from({ length: 8 }, () => store.acquireLease("s", world.holder(), 100)));
      assert.equal(answers.filter((answer) => answer.granted).length, 1);
    },
  },
  {
    title: "a lease ends by the store's clock, exactly at its moment, and the next epoch is greater",
    async run({ store, world }) {
      await createSession(store, "s");
      await TestDriver.take(store, "s", world.holder(), 100);
      world.advance(99);
      assert.equal((await store.acquireLease("s", world.holder(), 100)).granted, false);
      assert.ok((await store.get("s"))?.lease);
      world.advance(1);
      assert.equal((await store.get("s"))?.lease, undefined);
      assert.equal((await TestDriver.take(store, "s", world.holder(), 100)).epoch, 2);
    },
  },
  {
    title: "renewing moves the end; an expired lease that nobody took is still ours",
    async run({ store, world }) {
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder(), 100);
      world.advance(60);
      assert.equal(await store.renewLease("s", driver.epoch, 100), true);
      world.advance(60);
      assert.equal((await store.acquireLease("s", world.holder(), 100)).granted, false);
      world.advance(500);
      await driver.append("late, but nobody else drives");
      assert.equal(await store.renewLease("s", driver.epoch, 100), true);
      assert.equal((await store.acquireLease("s", world.holder(), 100)).granted, false);
    },
  },
  {
    title: "who was taken over cannot renew, release, append or write the partial journal",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      const old = await TestDriver.take(store, "s", world.holder(), 100);
      world.advance(100);
      const next = await TestDriver.take(store, "s", world.holder(), 100);
      assert.equal(await store.renewLease("s", old.epoch, 1_000), false);
      await store.releaseLease("s", old.epoch);
      assert.equal((await store.get("s"))?.lease?.epoch, next.epoch);
      await store.writePartial("s", old.epoch, "attempt", "stale");
      assert.equal(await store.readPartial("s"), undefined);
      await refused(scene, "s", "FENCED", () => old.append("stale"), old.epoch, next.epoch);
      await next.append("mine");
    },
  },
  {
    title: "a released lease is free at once, cannot be renewed, and its epoch is not given out again",
    async run({ store, world }) {
      await createSession(store, "s");
      const first = await TestDriver.take(store, "s", world.holder());
      await store.releaseLease("s", first.epoch);
      await store.releaseLease("s", first.epoch);
      assert.equal((await store.get("s"))?.lease, undefined);
      assert.equal(await store.renewLease("s", first.epoch, 100), false);
      assert.equal((await TestDriver.take(store, "s", world.holder())).epoch, first.epoch + 1);
    },
  },
  {
    title: "the lease of a dead holder is granted at once and shown by nobody; of an unknown one it counts",
    async run({ store, world }) {
      await createSession(store, "s");
      const here = world.holder();
      const first = await TestDriver.take(store, "s", here, 1_000_000);
      world.kill(here);
      assert.equal((await store.get("s"))?.lease, undefined);
      assert.equal((await store.list())[0]?.lease, undefined);
      const there = world.holder("elsewhere");
      const second = await TestDriver.take(store, "s", there, 1_000_000);
      assert.equal(second.epoch, first.epoch + 1);
      await assert.rejects(first.append("from the dead"), { code: "FENCED" });
      world.kill(there);
      assert.equal((await store.acquireLease("s", world.holder(), 100)).granted, false);
    },
  },
  {
    title: "of many who ask for a dead holder's lease at once exactly one is granted",
    async run({ store, world }) {
      await createSession(store, "s");
      const holder = world.holder();
      await TestDriver.take(store, "s", holder, 1_000_000);
      world.kill(holder);
      const answers = await Promise.all(Array.from({ length: 8 }, () => store.acquireLease("s", world.holder(), 100)));
      assert.equal(answers.filter((answer) => answer.granted).length, 1);
    },
  },
  {
    title: "a lease without length, or of a session that is not there, is refused",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      for (const ttl of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
        await refused(scene, "s", "INVALID_INPUT", () => store.acquireLease("s", world.holder(), ttl));
      }
      await refused(scene, "n", "SESSION_NOT_FOUND", () => store.acquireLease("n", world.holder(), 1), "n");
    },
  },
];

const hour = 3_600_000;

const jumping: StoreCase[] = [
  {
    title: "a clock that goes back makes no lease last: it is counted anew from when somebody asks",
    async run({ store, world }) {
      await createSession(store, "s");
      const first = await TestDriver.take(store, "s", world.holder("elsewhere"), 100);
      world.jump(-5 * hour);
      const answer = await store.acquireLease("s", world.holder(), 100);
      assert.deepEqual(answer.granted || answer.held.expiresAt, world.clock.now() + 100);
      world.advance(99);
      assert.equal((await store.acquireLease("s", world.holder(), 100)).granted, false);
      world.advance(1);
      assert.equal((await TestDriver.take(store, "s", world.holder(), 100)).epoch, first.epoch + 1);
      await assert.rejects(first.append("late"), { code: "FENCED" });
    },
  },
  {
    title: "a holder that renews after the clock went back is not taken over",
    async run({ store, world }) {
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder("elsewhere"), 100);
      world.jump(-5 * hour);
      for (let round = 0; round < 5; round += 1) {
        assert.equal((await store.acquireLease("s", world.holder(), 100)).granted, false);
        world.advance(60);
        assert.equal(await store.renewLease("s", driver.epoch, 100), true);
      }
      await driver.append("still mine");
    },
  },
  {
    title: "a clock that goes ahead ends a lease, and its holder is fenced: never two (L8)",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      const old = await TestDriver.take(store, "s", world.holder("elsewhere"), 100);
      world.jump(5 * hour);
      const next = await TestDriver.take(store, "s", world.holder(), 100);
      await refused(scene, "s", "FENCED", () => old.append("stale"), old.epoch, next.epoch);
      assert.equal(await store.renewLease("s", old.epoch, 100), false);
      world.jump(-9 * hour);
      await next.append("mine");
      await refused(scene, "s", "FENCED", () => old.append("stale"), old.epoch, next.epoch);
    },
  },
  {
    title: "work whose lease the clock has left in the future is claimed in the end",
    async run({ store, world }) {
      await createSession(store, "s");
      await store.post("s", { id: "p", kind: "input", body: null });
      await TestDriver.take(store, "s", world.holder("elsewhere"), 100);
      world.jump(-5 * hour);
      assert.deepEqual(await store.claimWork(world.holder(), { limit: 9, ttlMs: 100 }), []);
      world.advance(100);
      assert.equal((await store.claimWork(world.holder(), { limit: 9, ttlMs: 100 })).length, 1);
    },
  },
];

const partials: StoreCase[] = [
  {
    title: "the partial journal keeps an attempt's chunks in order, through a take-over",
    async run({ store, world }) {
      await createSession(store, "s");
      assert.equal(await store.readPartial("s"), undefined);
      const driver = await TestDriver.take(store, "s", world.holder(), 100);
      const chunks = ["one ", "", "zwei ✓", "x".repeat(10_000)];
      await Promise.all(chunks.map((chunk) => store.writePartial("s", driver.epoch, "attempt-1", chunk)));
      world.advance(100);
      const next = await TestDriver.take(store, "s", world.holder(), 100);
      assert.deepEqual(await store.readPartial("s"), { attempt: "attempt-1", epoch: driver.epoch, chunks });
      await store.writePartial("s", next.epoch, "attempt-2", "new");
      assert.deepEqual(await store.readPartial("s"), { attempt: "attempt-2", epoch: next.epoch, chunks: ["new"] });
    },
  },
  {
    title: "the batch that ends the attempt drops its journal; a refused one and another attempt's do not",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      await store.writePartial("s", driver.epoch, "a", "x");
      await store.append({ ...driver.batch("1"), dropPartial: "b" });
      driver.seq += 1;
      assert.deepEqual((await store.readPartial("s"))?.chunks, ["x"]);
      const wrong = { ...driver.batch("2"), expectedSeq: 0, records: [], dropPartial: "a" };
      await refused(scene, "s", "CONFLICT", () => store.append(wrong));
      await store.append({ ...driver.batch("2"), dropPartial: "a" });
      assert.equal(await store.readPartial("s"), undefined);
    },
  },
];

const claiming: StoreCase[] = [
  {
    title: "work is an open turn or a waiting post without a live lease; each is claimed once, up to the limit",
    async run({ store, world }) {
      for (const id of ["idle", "open", "posted", "driven", "orphaned"]) await createSession(store, id);
      const dead = world.holder();
      for (const [id, holder] of [
        ["open", world.holder()],
        ["orphaned", dead],
        ["driven", world.holder()],
      ] as const) {
        const driver = await TestDriver.take(store, id, holder, 1_000_000);
        await store.append({ ...driver.batch("turn"), head: { openTurn: "turn-1" } });
        if (id === "open") await store.releaseLease(id, driver.epoch);
      }
      world.kill(dead);
      await store.post("posted", { id: "p", kind: "input", body: null });
      const worker = world.holder();
      const two = await store.claimWork(worker, { limit: 2, ttlMs: 100 });
      assert.equal(two.length, 2);
      const rest = await store.claimWork(worker, { limit: 9, ttlMs: 100 });
      assert.deepEqual([...two, ...rest].map((claim) => claim.session).sort(), ["open", "orphaned", "posted"]);
      for (const { session, epoch } of [...two, ...rest]) {
        assert.deepEqual((await store.get(session))?.lease?.epoch, epoch);
      }
      assert.deepEqual(await store.claimWork(worker, { limit: 9, ttlMs: 100 }), []);
    },
  },
  {
    title: "sessions take turns, and a turn that nobody drives comes before all posts",
    async run({ store, world }) {
      const ids = ["a", "b", "c"];
      for (const id of ids) await createSession(store, id);
      for (const post of ["1", "2", "3"])
        for (const id of ids) await store.post(id, { id: post, kind: "input", body: null });
      const worker = world.holder();
      const driven: string[] = [];
      const next = async () => {
        world.advance(10);
        const [claim] = await store.claimWork(worker, { limit: 1, ttlMs: 1_000_000 });
        return claim ?? assert.fail("nothing to do");
      };
      for (let turn = 0; turn < 6; turn += 1) {
        const { session, epoch } = await next();
        driven.push(session);
        const seq = (await store.get(session))?.seq ?? 0;
        const driver = new TestDriver(store, session, worker, epoch, seq);
        await store.append({ ...driver.batch("turn"), consume: [`${1 + Math.floor(turn / ids.length)}`] });
        await store.releaseLease(session, epoch);
      }
      assert.deepEqual(driven, [...ids, ...ids]);

      // Written to last of all, and left in the middle of a turn.
      const left = await TestDriver.take(store, "c", worker);
      await store.append({ ...left.batch("open"), head: { openTurn: "t" } });
      await store.releaseLease("c", left.epoch);
      assert.deepEqual([(await next()).session, (await next()).session], ["c", "a"]);
    },
  },
  {
    title: "the session of a task is no work of its own: whoever drives the call that gave it can take its lease",
    async run({ store, world }) {
      await createSession(store, "task_a");
      await createSession(store, "taskless");
      for (const session of ["task_a", "taskless"]) await store.post(session, { id: "p", kind: "input", body: null });
      const claims = await store.claimWork(world.holder(), { limit: 9, ttlMs: 100 });
      assert.deepEqual(
        claims.map(({ session }) => session),
        ["taskless"],
      );
      assert.equal((await store.acquireLease("task_a", world.holder(), 100)).granted, true);
    },
  },
];

export const leaseCases: StoreCase[] = [...leasing, ...jumping, ...partials, ...claiming];
