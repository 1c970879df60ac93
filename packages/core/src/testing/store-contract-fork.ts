/** Contract cases: copy on write, lineage, deletion. */
import assert from "node:assert/strict";
import type { Store } from "../store/store.ts";
import { createSession, forkSession, notes, refused, type StoreCase, TestDriver, textsOf } from "./store-world.ts";

async function texts(store: Store, session: string): Promise<string[]> {
  return textsOf(await store.read(session));
}

export const forkCases: StoreCase[] = [
  {
    title: "a fork reads its parent up to the cut, then itself; the parent's records keep the parent's id",
    async run({ store }) {
      await createSession(store, "p", "2", "3", "4");
      await forkSession(store, "c", "p", 2);
      const records = await store.read("c");
      assert.deepEqual(textsOf(records), ["created", "2", "c begins"]);
      assert.deepEqual(records.slice(0, 2), (await store.read("p")).slice(0, 2));
      assert.deepEqual(
        records.map(({ session, seq }) => [session, seq]),
        [
          ["p", 1],
          ["p", 2],
          ["c", 3],
        ],
      );
      const summary = await store.get("c");
      assert.deepEqual(summary?.parent, { session: "p", seq: 2 });
      assert.equal(summary?.seq, 3);
      assert.equal(summary?.epoch, 0);
    },
  },
  {
    title: "parent and child go on apart; lease, epoch, mailbox and partial journal are each one's own",
    async run({ store, world }) {
      await createSession(store, "p", "2");
      const parent = await TestDriver.take(store, "p", world.holder());
      await store.post("p", { id: "post", kind: "input", body: null });
      await store.writePartial("p", parent.epoch, "attempt", "x");
      await forkSession(store, "c", "p", 2);
      const child = await TestDriver.take(store, "c", world.holder());
      await parent.append("p3", "p4");
      await child.append("c4");
      assert.deepEqual(await texts(store, "p"), ["created", "2", "p3", "p4"]);
      assert.deepEqual(await texts(store, "c"), ["created", "2", "c begins", "c4"]);
      assert.deepEqual(await store.mailbox("c"), []);
      assert.equal(await store.readPartial("c"), undefined);
      assert.equal(await store.post("c", { id: "post", kind: "input", body: null }), "accepted");
    },
  },
  {
    title: "forks of forks, cut above and below the cut of their parent, page across every seam in both directions",
    async run({ store }) {
      await createSession(store, "a", "a2", "a3", "a4", "a5", "a6");
      await forkSession(store, "b", "a", 4);
      await forkSession(store, "c", "b", 5);
      await forkSession(store, "d", "c", 6);
      await forkSession(store, "e", "d", 2);
      const whole = ["created", "a2", "a3", "a4", "b begins", "c begins", "d begins"];
      assert.deepEqual(await texts(store, "d"), whole);
      assert.deepEqual(await texts(store, "e"), ["created", "a2", "e begins"]);
      for (let from = 0; from <= 7; from += 1) {
        for (let count = 1; count <= 7; count += 1) {
          const forward = await store.read("d", { after: from, limit: count });
          assert.deepEqual(textsOf(forward), whole.slice(from, from + count));
          const back = await store.readTail("d", { before: from + 1, limit: count });
          assert.deepEqual(textsOf(back), whole.slice(Math.max(0, from - count), from));
        }
      }
    },
  },
  {
    title: "a fork at a parent that is not there, or too short, is refused",
    async run(scene) {
      const { store } = scene;
      await createSession(store, "p", "2");
      await refused(scene, "c", "SESSION_NOT_FOUND", () => forkSession(store, "c", "nobody", 1), "nobody");
      await refused(scene, "c", "SESSION_NOT_FOUND", () => forkSession(store, "c", "p", 3), "p", 3, 2);
      await refused(scene, "c", "INVALID_INPUT", () => forkSession(store, "c", "p", 0), "cut", 0);
      const records = notes("c", 0, 0, "x");
      const wrong = () => store.create({ session: "c", head: {}, parent: { session: "p", seq: 2 }, records });
      await refused(scene, "c", "INVALID_INPUT", wrong, "seq must be 3");
      await store.delete("p");
      await refused(scene, "c", "SESSION_NOT_FOUND", () => forkSession(store, "c", "p", 1), "p");
      assert.deepEqual(await store.list(), []);
    },
  },
  {
    title: "a fork of a live session in the middle of its appends",
    async run({ store, world }) {
      await createSession(store, "p");
      const driver = await TestDriver.take(store, "p", world.holder());
      await Promise.all([driver.append("2"), forkSession(store, "c", "p", 1), driver.append("3")]);
      assert.deepEqual(await texts(store, "p"), ["created", "2", "3"]);
      assert.deepEqual(await texts(store, "c"), ["created", "c begins"]);
    },
  },
  {
    title: "a deleted session is gone in every way",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      await createSession(store, "other");
      const driver = await TestDriver.take(store, "s", world.holder());
      await store.setName("name", "s");
      await store.delete("s");
      assert.equal(await store.get("s"), undefined);
      assert.deepEqual(
        (await store.list()).map((entry) => entry.session),
        ["other"],
      );
      assert.equal(await store.resolveName("name"), undefined);
      const post = { id: "p", kind: "input" as const, body: null };
      const works: (() => Promise<unknown>)[] = [
        () => store.read("s"),
        () => store.readTail("s"),
        () => driver.append("x"),
        () => store.delete("s"),
        () => store.post("s", post),
        () => store.mailbox("s"),
        () => store.setName("n", "s"),
        () => store.acquireLease("s", world.holder(), 10),
        () => store.renewLease("s", 1, 10),
        () => store.releaseLease("s", 1),
        () => store.writePartial("s", 1, "a", "x"),
        () => store.readPartial("s"),
        () => store.loadSnapshot("s", "r"),
      ];
      for (const work of works) await refused(scene, "s", "SESSION_NOT_FOUND", work, "s");
      assert.deepEqual(await texts(store, "other"), ["created"]);
    },
  },
  {
    title: "a delete of what was seen unchanged is refused where it has changed, and to who does not drive",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s", "2");
      const driver = await TestDriver.take(store, "s", world.holder());
      const seen = () => ({ epoch: driver.epoch, expectedSeq: driver.seq });
      const remove = (unchanged: { epoch: number; expectedSeq: number }) => () => store.delete("s", unchanged);
      await refused(scene, "s", "FENCED", remove({ ...seen(), epoch: 0 }));
      await refused(scene, "s", "FENCED", remove({ ...seen(), epoch: driver.epoch + 1 }));
      await refused(scene, "s", "CONFLICT", remove({ ...seen(), expectedSeq: 1 }), 1, 2);
      await store.post("s", { id: "p", kind: "input", body: null });
      await refused(scene, "s", "CONFLICT", remove(seen()), "a post waits");
      await store.append({ ...driver.batch("3"), consume: ["p"] });
      driver.seq += 1;
      await store.delete("s", seen());
      assert.equal(await store.get("s"), undefined);
      await assert.rejects(store.delete("s", seen()), { code: "SESSION_NOT_FOUND" });
    },
  },
  {
    title: "L3: of a post and such a delete that come at once, one is refused",
    async run({ store, world }) {
      for (let round = 0; round < 20; round += 1) {
        const session = `s${round}`;
        await createSession(store, session);
        const { epoch, seq } = await TestDriver.take(store, session, world.holder());
        const post = () => store.post(session, { id: "p", kind: "input", body: null });
        const remove = () => store.delete(session, { epoch, expectedSeq: seq });
        const works = round % 2 === 0 ? [post, remove] : [remove, post];
        // The last two one after another: which of two at once comes first is nobody's word.
        const first = round < 18 ? undefined : works[0]?.();
        await first;
        const ends = await Promise.allSettled(works.map((work, at) => (at === 0 && first) || work()));
        const [posted, removed] = round % 2 === 0 ? ends : ends.toReversed();
        assert.notEqual(posted?.status, removed?.status, session);
        assert.equal((await store.get(session)) !== undefined, posted?.status === "fulfilled");
        if (first) assert.equal(posted?.status === "fulfilled", round % 2 === 0);
      }
    },
  },
  {
    title: "a parent's delete hides the parent and keeps what a living child reads, through generations",
    async run({ store, world }) {
      await createSession(store, "a", "a2", "a3", "a4");
      await forkSession(store, "b", "a", 3);
      await forkSession(store, "c", "b", 4);
      await forkSession(store, "d", "b", 2);
      await store.delete("a");
      assert.equal(await store.get("a"), undefined);
      assert.deepEqual(await texts(store, "b"), ["created", "a2", "a3", "b begins"]);
      await store.delete("b");
      assert.deepEqual(await texts(store, "c"), ["created", "a2", "a3", "b begins", "c begins"]);
      await store.delete("c");
      assert.deepEqual(await texts(store, "d"), ["created", "a2", "d begins"]);
      await (await TestDriver.take(store, "d", world.holder())).append("goes on");
      await forkSession(store, "e", "d", 3);
      assert.deepEqual(await texts(store, "e"), ["created", "a2", "d begins", "e begins"]);
      await store.delete("d");
      await store.delete("e");
      assert.deepEqual(await store.list(), []);
    },
  },
];
