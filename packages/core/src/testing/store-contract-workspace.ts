/** Contract cases: what a session needs of a worker, and since when it waits. */
import assert from "node:assert/strict";
import type { ClaimOptions, Head, Store } from "../store/store.ts";
import { notes, refused, type StoreCase, type StoreWorld, TestDriver } from "./store-world.ts";

async function create(store: Store, session: string, head: Head): Promise<void> {
  await store.create({ session, head, records: notes(session, 0, 0, "created") });
}

function post(store: Store, session: string, id = "p"): Promise<unknown> {
  return store.post(session, { id, kind: "input", body: null });
}

/** Claims and gives back. */
async function claimed(store: Store, world: StoreWorld, rest: Partial<ClaimOptions> = {}): Promise<string[]> {
  const claims = await store.claimWork(world.holder(), { limit: 9, ttlMs: 1_000, ...rest });
  for (const { session, epoch } of claims) await store.releaseLease(session, epoch);
  return claims.map(({ session }) => session).sort();
}

export const workspaceCases: StoreCase[] = [
  {
    title: "who needs a workspace is claimed by who has it, who needs none by anybody",
    async run({ store, world }) {
      for (const [session, workspace] of [["plain"], ["at-a", "a"], ["at-b", "b"]] as const) {
        await create(store, session, workspace === undefined ? {} : { workspace });
        await post(store, session);
      }
      await create(store, "open-a", { workspace: "a", openTurn: "t" });
      assert.deepEqual(await claimed(store, world), ["plain"]);
      assert.deepEqual(await claimed(store, world, { workspaces: [] }), ["plain"]);
      assert.deepEqual(await claimed(store, world, { workspaces: ["a"] }), ["at-a", "open-a", "plain"]);
      assert.deepEqual(await claimed(store, world, { workspaces: ["b", "a"] }), ["at-a", "at-b", "open-a", "plain"]);
      assert.deepEqual(await claimed(store, world, { workspaces: "any" }), ["at-a", "at-b", "open-a", "plain"]);
      // Not a pattern, not a prefix, and case counts.
      assert.deepEqual(await claimed(store, world, { workspaces: ["A", "a ", "%", "any"] }), ["plain"]);
    },
  },
  {
    title: "a turn that a dead holder left waits for its workspace, too",
    async run({ store, world }) {
      await create(store, "s", { workspace: "a" });
      const holder = world.holder();
      const driver = await TestDriver.take(store, "s", holder, 1_000_000);
      await store.append({ ...driver.batch("turn"), head: { workspace: "a", openTurn: "t" } });
      world.kill(holder);
      assert.deepEqual(await claimed(store, world, { workspaces: ["b"] }), []);
      assert.deepEqual(await claimed(store, world, { workspaces: ["a"] }), ["s"]);
    },
  },
  {
    title: "what waits for elsewhere takes no place of what can be driven here",
    async run({ store, world }) {
      // More than a store looks at in one go.
      for (let n = 0; n < 250; n += 1) {
        await create(store, `away-${n}`, n % 2 === 0 ? { workspace: "away", openTurn: "t" } : { workspace: "away" });
        if (n % 2 === 1) await post(store, `away-${n}`);
      }
      await create(store, "here", { workspace: "here" });
      await post(store, "here");
      await create(store, "plain", {});
      await post(store, "plain");
      const options = { limit: 1, workspaces: ["here"] };
      const [first] = await store.claimWork(world.holder(), { ...options, ttlMs: 1_000 });
      const [second] = await store.claimWork(world.holder(), { ...options, ttlMs: 1_000 });
      assert.deepEqual([first?.session, second?.session].sort(), ["here", "plain"]);
      assert.deepEqual(await claimed(store, world, options), []);
    },
  },
  {
    title: "what a session needs is said once: no later head takes it away, or names another",
    async run({ store, world }) {
      await create(store, "s", {});
      await post(store, "s", "before");
      assert.deepEqual(await claimed(store, world), ["s"]);
      const driver = await TestDriver.take(store, "s", world.holder());
      const append = async (head: Head) => {
        await store.append({ ...driver.batch("next"), head });
        driver.seq += 1;
        return (await store.get("s"))?.head;
      };
      assert.deepEqual(await append({ title: "T" }), { title: "T" });
      assert.deepEqual(await append({ title: "T", workspace: "a" }), { title: "T", workspace: "a" });
      assert.deepEqual(await append({ title: "U" }), { title: "U", workspace: "a" });
      assert.deepEqual(await append({ workspace: "b" }), { workspace: "a" });
      await store.releaseLease("s", driver.epoch);
      assert.deepEqual(await claimed(store, world), [], "a post that came before counts with the session");
      assert.deepEqual(await claimed(store, world, { workspaces: ["b"] }), []);
      assert.deepEqual(await claimed(store, world, { workspaces: ["a"] }), ["s"]);
    },
  },
  {
    title: "a session that is taken in needs what it needed",
    async run({ store, world }) {
      const batches = (async function* () {
        yield notes("s", 0, 0, "1");
      })();
      await store.restore({ session: "s", head: { workspace: "ä ✓" }, batches });
      await post(store, "s");
      assert.deepEqual((await store.get("s"))?.head, { workspace: "ä ✓" });
      assert.deepEqual(await claimed(store, world), []);
      assert.deepEqual(await claimed(store, world, { workspaces: ["ä ✓"] }), ["s"]);
    },
  },
  {
    title: "a workspace is a text of 1 to 256 characters",
    async run(scene) {
      const { store, world } = scene;
      await create(store, "s", { workspace: "x".repeat(256) });
      const driver = await TestDriver.take(store, "s", world.holder());
      for (const workspace of ["", "x".repeat(257), "half \ud800", 7 as unknown as string]) {
        await assert.rejects(create(store, "n", { workspace }), { code: "INVALID_INPUT", message: /workspace/ });
        const batch = { ...driver.batch("no"), head: { workspace } };
        await refused(scene, "s", "INVALID_INPUT", () => store.append(batch), "workspace");
        const claim = () => store.claimWork(world.holder(), { limit: 1, ttlMs: 1, workspaces: ["a", workspace] });
        await refused(scene, "s", "INVALID_INPUT", claim, "workspace");
      }
      assert.equal(await store.get("n"), undefined);
    },
  },
  {
    title: "a summary says since when the oldest post waits",
    async run({ store, world }) {
      await create(store, "s", {});
      assert.equal((await store.get("s"))?.waitingSince, undefined);
      const since = world.clock.now();
      await post(store, "s", "first");
      world.advance(50);
      await post(store, "s", "second");
      assert.equal((await store.get("s"))?.waitingSince, since);
      assert.equal((await store.list())[0]?.waitingSince, since);
      const driver = await TestDriver.take(store, "s", world.holder());
      await store.append({ ...driver.batch("taken"), consume: ["first"] });
      driver.seq += 1;
      assert.equal((await store.get("s"))?.waitingSince, since + 50);
      await store.append({ ...driver.batch("taken"), consume: ["second"] });
      assert.equal((await store.get("s"))?.waitingSince, undefined);
    },
  },
];
