/** Workers that look after one another: who learns of an end at once, and who is not robbed for it. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Holder } from "@pawl/core";
import { nodeEffects } from "@pawl/core/node";
import { noteRecords } from "@pawl/core/testing";
import pg from "pg";
import postgres from "postgres";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../src/index.ts";
import { Network } from "./network.ts";
import { PostgresServer, untilJudged } from "./server.ts";

const server = await PostgresServer.start();
const sql = postgres(server.url("postgres"), { max: 1, onnotice: () => {} });
after(async () => {
  await sql.end({ timeout: 1 });
  await server.end();
});

const ttlMs = 600_000;
const patient = { timeout: 30_000 };
const holderOf = (name: string): Holder => ({ id: name, host: name, boot: "b", pid: 1, start: "1" });

/** Until `sql` says so: what happens in other processes has no event here. */
async function until(question: () => Promise<boolean>): Promise<void> {
  while (!(await question())) await new Promise((resolve) => setImmediate(resolve));
}

await untilJudged(sql);

/** How many wait for another's end, and how many of those stand alone in it. */
async function waits(): Promise<{ waiting: number; waitedFor: number }> {
  const [row] = await sql`SELECT count(*)::int AS waiting, count(DISTINCT objid)::int AS "waitedFor" FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND NOT granted`;
  return row as unknown as { waiting: number; waitedFor: number };
}

const standing = (count: number) =>
  until(async () => {
    const { waiting, waitedFor } = await waits();
    return waiting === count && waitedFor === count;
  });

/** Timers of which some are held back until the test lets them go. */
function heldTimers(holds: (ms: number) => boolean) {
  const { timers } = nodeEffects();
  const held: (() => void)[] = [];
  const after = (ms: number, fn: () => void) => {
    if (!holds(ms)) return timers.after(ms, fn);
    held.push(fn);
    return () => {};
  };
  return { timers: { after }, held, letGo: () => held.splice(0).forEach((fn) => fn()) };
}

/** A worker's store behind a network of its own, and how often it was told of work. */
async function worker(schema: string, more: Partial<PostgresStoreOptions> = {}) {
  const network = await Network.to(server.port);
  const url = server.url("postgres", network.port);
  const store = await postgresStore({ url, schema, connections: 2, isAlive: () => undefined, ...more });
  const bell = { told: 0, next: Promise.withResolvers<void>() };
  store.watchWork(() => {
    bell.told += 1;
    bell.next.resolve();
    bell.next = Promise.withResolvers<void>();
  });
  /** As the end of its process: no connection stays, none comes. */
  const die = () => network.close();
  return { store, network, bell, die };
}

/** A session that `name` holds, with an open turn. */
async function drives(store: PostgresStore, name: string, session = name): Promise<void> {
  await store.create({ session, head: { openTurn: "t" }, records: noteRecords(session, 0, 0, "created") });
  assert.ok((await store.acquireLease(session, holderOf(name), ttlMs)).granted);
}

const claimed = async (store: PostgresStore, name: string) =>
  (await store.claimWork(holderOf(name), { limit: 10, ttlMs })).map(({ session }) => session).sort();

describe("a worker whose process ends", () => {
  test("another one is told, and finds its turns free at once", patient, async () => {
    const schema = server.schema();
    const [one, two] = [await worker(schema), await worker(schema)];
    await drives(one.store, "one");
    await standing(2);
    assert.deepEqual(await claimed(two.store, "two"), []);
    const told = two.bell.next.promise;
    await one.die();
    await told;
    assert.deepEqual(await claimed(two.store, "two"), ["one"]);
    await two.store.close();
    await two.die();
    await one.store.close();
  });

  test(
    "of four, two neighbours end together: both who are left are told, and each turn is claimed once",
    patient,
    async () => {
      const schema = server.schema();
      const all = [];
      for (const _ of [1, 2, 3, 4]) all.push(await worker(schema));
      await standing(4);
      const [a, b, c, d] = all;
      assert.ok(a && b && c && d);
      await drives(a.store, "a");
      await drives(b.store, "b");
      const told = [c.bell.next.promise, d.bell.next.promise];
      await Promise.all([a.die(), b.die()]);
      await Promise.all(told);
      await standing(2);
      const claims: string[] = [];
      while (claims.length < 2)
        for (const both of await Promise.all([claimed(c.store, "c"), claimed(d.store, "d")])) claims.push(...both);
      assert.deepEqual(claims.sort(), ["a", "b"]);
      for (const { store, die } of [c, d]) await store.close().then(die);
      await Promise.all([a.store.close(), b.store.close()]);
    },
  );

  test("a ring takes in who comes, also through a pool of pg, and leaves nothing when it closes", patient, async () => {
    const schema = server.schema();
    const pool = new pg.Pool({ connectionString: server.url("postgres"), max: 4 });
    pool.on("error", () => {});
    const small = new pg.Pool({ connectionString: server.url("postgres"), max: 2 });
    small.on("error", () => {});
    const workers = [await worker(schema), await worker(schema, { pool })];
    await standing(2);
    // Too small to keep a second connection: it is waited for, and waits for nobody.
    workers.push(await worker(schema, { pool: small }));
    await until(async () => (await waits()).waiting === 2);
    workers.push(await worker(schema));
    await until(async () => (await waits()).waiting === 3);
    for (const { store, die } of workers) await store.close().then(die);
    await until(async () => {
      const [row] = await sql`SELECT count(*)::int AS "left" FROM pg_locks WHERE locktype = 'advisory'`;
      return row?.["left"] === 0;
    });
    await Promise.all([pool.end(), small.end()]);
  });

  test("behind a pooler nobody waits for anybody", patient, async () => {
    const { store, die } = await worker(server.schema(), { mode: "pooled" });
    assert.deepEqual(await claimed(store, "one"), []);
    assert.equal((await waits()).waiting, 0);
    await store.close();
    await die();
  });
});

describe("a worker that lives", () => {
  test("its line breaks and it connects again: the other is told, and takes nothing", patient, async () => {
    const schema = server.schema();
    const { timers, held, letGo } = heldTimers((ms) => ms === 50);
    const [one, two] = [await worker(schema), await worker(schema, { timers })];
    await drives(one.store, "one");
    await standing(2);
    one.network.cut();
    await until(async () => held.length > 0);
    // Its next mark has come up, and somebody waits for that one.
    await standing(2);
    const told = two.bell.next.promise;
    letGo();
    await told;
    assert.deepEqual(await claimed(two.store, "two"), []);
    for (const { store, die } of [one, two]) await store.close().then(die);
  });

  test(
    "the server was away: who is back first does not take all that others drive; what is still nobody's then, it takes",
    patient,
    async () => {
      const schema = server.schema();
      const { timers, held, letGo } = heldTimers((ms) => ms === 3_000);
      const [one, two] = [await worker(schema), await worker(schema, { timers })];
      await drives(one.store, "one");
      await standing(2);
      await one.die();
      await server.halt("SIGINT");
      await server.boot();
      await until(async () => held.length > 0);
      assert.deepEqual(await claimed(two.store, "two"), []);
      assert.equal((await two.store.acquireLease("one", holderOf("two"), ttlMs)).granted, false);
      letGo();
      assert.deepEqual(await claimed(two.store, "two"), ["one"]);
      await two.store.close();
      await two.die();
      await one.store.close();
    },
  );
});
