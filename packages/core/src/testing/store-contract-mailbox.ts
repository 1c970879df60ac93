/** Contract cases: posts, the mailbox, watching and following. */
import assert from "node:assert/strict";
import { follow } from "../store/follow.ts";
import type { Post } from "../store/store.ts";
import { createSession, refused, type StoreCase, TestDriver, textsOf } from "./store-world.ts";

function input(id: string, body: Post["body"] = { text: id }): Post {
  return { id, kind: "input", body };
}

const posting: StoreCase[] = [
  {
    title: "anybody may post, without a lease; the mailbox keeps order, kind, body and moment",
    async run({ store, world }) {
      await createSession(store, "s");
      const kinds = ["input", "steer", "edit", "withdrawal", "answer", "abort"] as const;
      const body = { text: "ä ✓", list: [1, null, true, { deep: [] }], empty: "" };
      for (const kind of kinds) {
        world.advance(1);
        assert.equal(await store.post("s", { id: `post-${kind}`, kind, body }), "accepted");
      }
      const entries = await store.mailbox("s");
      assert.deepEqual(
        entries.map((entry) => entry.kind),
        kinds,
      );
      const orders = entries.map((entry) => entry.order);
      assert.deepEqual(
        orders,
        [...new Set(orders)].sort((a, b) => a - b),
      );
      const now = world.clock.now();
      assert.deepEqual(
        { ...entries.at(-1), order: 0 },
        { id: "post-abort", kind: "abort", body, order: 0, postedAt: now },
      );
    },
  },
  {
    title: "a repeated id is a duplicate, whatever its body, in one session only",
    async run({ store }) {
      await createSession(store, "s");
      await createSession(store, "t");
      assert.equal(await store.post("s", input("p", "first")), "accepted");
      assert.equal(await store.post("s", input("p", "second")), "duplicate");
      assert.equal(await store.post("t", input("p", "third")), "accepted");
      assert.deepEqual(
        (await store.mailbox("s")).map((entry) => entry.body),
        ["first"],
      );
      const many = await Promise.all(Array.from({ length: 10 }, () => store.post("s", input("q"))));
      assert.equal(many.filter((answer) => answer === "accepted").length, 1);
    },
  },
  {
    title: "a batch consumes posts in its own transaction; a consumed id stays a duplicate for ever",
    async run({ store, world }) {
      await createSession(store, "s");
      for (const id of ["p", "q", "r"]) await store.post("s", input(id));
      const driver = await TestDriver.take(store, "s", world.holder());
      await store.append({ ...driver.batch("moved"), consume: ["r", "p"] });
      driver.seq += 1;
      assert.deepEqual(
        (await store.mailbox("s")).map((entry) => entry.id),
        ["q"],
      );
      assert.equal(await store.post("s", input("p")), "duplicate");
      assert.equal(await store.post("s", input("z")), "accepted");
      assert.deepEqual(
        (await store.mailbox("s")).map((entry) => entry.id),
        ["q", "z"],
      );
      await store.append({ ...driver.batch(), consume: ["q", "z"] });
      assert.equal((await store.get("s"))?.seq, 2);
      assert.equal(await store.post("s", input("late")), "accepted");
    },
  },
  {
    title: "a refused batch consumes nothing, and an unknown or spent post refuses the batch",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      await createSession(store, "t");
      await store.post("s", input("p"));
      await store.post("s", input("spent"));
      await store.post("t", input("elsewhere"));
      const driver = await TestDriver.take(store, "s", world.holder());
      await store.append({ ...driver.batch("a"), consume: ["spent"] });
      const late = { ...driver.batch("b"), consume: ["p"] };
      await refused(scene, "s", "CONFLICT", () => store.append(late));
      driver.seq += 1;
      for (const id of ["unknown", "spent", "elsewhere"]) {
        const batch = { ...driver.batch("b"), consume: ["p", id] };
        await refused(scene, "s", "INVALID_INPUT", () => store.append(batch), id);
      }
      const twice = { ...driver.batch("b"), consume: ["p", "p"] };
      await refused(scene, "s", "INVALID_INPUT", () => store.append(twice), "once");
      assert.deepEqual(
        (await store.mailbox("s")).map((entry) => entry.id),
        ["p"],
      );
    },
  },
  {
    title: "a batch says how many posts wait, and is refused where the writer has not read them all",
    async run(scene) {
      const { store, world } = scene;
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder());
      await store.append({ ...driver.batch("none"), expectedPosts: 0 });
      driver.seq += 1;
      for (const id of ["p", "q"]) await store.post("s", input(id));
      for (const expectedPosts of [0, 1, 3]) {
        const batch = { ...driver.batch("late"), consume: ["p"], expectedPosts };
        await refused(scene, "s", "UNREAD", () => store.append(batch), "2 posts wait");
      }
      // Counted before the batch takes its own away; and with a stale seq, that is what is wrong.
      await store.append({ ...driver.batch("both"), consume: ["p"], expectedPosts: 2 });
      const stale = { ...driver.batch("stale"), expectedPosts: 2 };
      await refused(scene, "s", "CONFLICT", () => store.append(stale));
      driver.seq += 1;
      await store.append({ ...driver.batch("one"), expectedPosts: 1 });
      driver.seq += 1;
      await store.append(driver.batch("whatever waits"));
      driver.seq += 1;
      const odd = { ...driver.batch("odd"), expectedPosts: -1 };
      await refused(scene, "s", "INVALID_INPUT", () => store.append(odd), "expectedPosts");
    },
  },
  {
    title: "a malformed post is refused",
    async run(scene) {
      const { store } = scene;
      await createSession(store, "s");
      await refused(scene, "s", "INVALID_INPUT", () => store.post("s", input("../x")), "../x");
      const kind = "shout" as Post["kind"];
      await refused(scene, "s", "INVALID_INPUT", () => store.post("s", { id: "p", kind, body: null }), "shout");
      const body = (() => 1) as unknown as null;
      await refused(scene, "s", "INVALID_INPUT", () => store.post("s", { id: "p", kind: "input", body }), "JSON");
      await refused(scene, "nobody", "SESSION_NOT_FOUND", () => store.post("nobody", input("p")), "nobody");
    },
  },
];

const watching: StoreCase[] = [
  {
    title: "a watcher hears of records and of posts, until it ends its watch",
    async run({ store, world }) {
      await createSession(store, "s");
      const driver = await TestDriver.take(store, "s", world.holder(), 1e9);
      let heard = 0;
      const end = store.watch("s", () => {
        heard += 1;
      });
      const also = { heard: false };
      store.watch("s", () => {
        also.heard = true;
      });
      await driver.append("a");
      await world.until(() => heard > 0 && also.heard);
      heard = 0;
      await store.post("s", input("p"));
      await world.until(() => heard > 0);
      end();
      end();
      heard = 0;
      also.heard = false;
      await driver.append("b");
      await world.until(() => also.heard);
      assert.equal(heard, 0);
    },
  },
  {
    title: "a follower gets every record once, in order: those before, those meanwhile, those after",
    async run({ store, world }) {
      await createSession(store, "s", "2", "3");
      const driver = await TestDriver.take(store, "s", world.holder(), 1e9);
      const stop = new AbortController();
      const got: string[] = [];
      const following = (async () => {
        for await (const page of follow(store, "s", { after: 1, signal: stop.signal })) got.push(...textsOf(page));
      })();
      for (let index = 0; index < 30; index += 1) await driver.append(`${index}a`, `${index}b`);
      await world.until(() => got.length >= 62);
      await driver.append("last");
      await world.until(() => got.length >= 63);
      stop.abort();
      await following;
      const expected = Array.from({ length: 30 }, (_, index) => [`${index}a`, `${index}b`]).flat();
      assert.deepEqual(got, ["2", "3", ...expected, "last"]);
    },
  },
  {
    title: "a follower fails when its session is deleted, or is not there",
    async run({ store, world }) {
      await createSession(store, "s");
      let pages = 0;
      const outcome = (async () => {
        for await (const _ of follow(store, "s")) pages += 1;
      })().catch((error) => error);
      await world.until(() => pages === 1);
      await store.delete("s");
      assert.equal((await outcome).code, "SESSION_NOT_FOUND");
      await assert.rejects(follow(store, "nobody").next(), { code: "SESSION_NOT_FOUND" });
    },
  },
];

export const mailboxCases: StoreCase[] = [...posting, ...watching];
