/** A network that swallows everything and tells nobody: it is found out in bounds, and nothing piles up before it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, describe, test } from "node:test";
import type { Holder } from "@pawl/core";
import { nodeEffects } from "@pawl/core/node";
import { noteRecords } from "@pawl/core/testing";
import pg from "pg";
import { type PostgresStoreOptions, postgresStore } from "../src/index.ts";
import { Network } from "./network.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
after(() => server.end());

const holder: Holder = { id: "h", host: "here", boot: "b", pid: 1, start: "1" };
const { timers } = nodeEffects();

async function world(more: Partial<PostgresStoreOptions> = {}) {
  const network = await Network.to(server.port);
  const schema = server.schema();
  const isAlive = () => undefined;
  const url = server.url("postgres", network.port);
  const store = await postgresStore({
    url,
    schema,
    connections: 3,
    isAlive,
    answerMs: 200,
    patienceMs: 2_000,
    ...more,
  });
  const truth = await postgresStore({ url: server.url("postgres"), schema, connections: 2, isAlive });
  await store.create({ session: "s", head: {}, records: noteRecords("s", 0, 0, "created") });
  const lease = await store.acquireLease("s", holder, 60_000);
  assert.ok(lease.granted);
  const { epoch } = lease;
  const append = (seq: number) =>
    store.append({ session: "s", epoch, expectedSeq: seq, records: noteRecords("s", epoch, seq, `${seq}`) });
  const close = async () => {
    await Promise.all([store.close(), truth.close()]);
    await network.close();
  };
  return { network, store, truth, url, append, close };
}

describe("lines that are dead, and nobody says so", () => {
  test("L3: each write goes through once, on a new line; those that rest are not tried one after another", {
    timeout: 20_000,
  }, async () => {
    const { network, store, truth, append, close } = await world();
    await Promise.all(Array.from({ length: 9 }, (_, nth) => store.putBlob(Buffer.from(`${nth}`))));
    network.forsake();
    await Promise.all([append(1), store.post("s", { id: "p", kind: "input", body: 1 })]);
    await append(2);
    assert.equal((await truth.read("s")).length, 3);
    assert.equal((await truth.mailbox("s")).length, 1);
    await close();
  });

  test("a pool of the program's own: the same", { timeout: 20_000 }, async () => {
    const { network, url, close } = await world();
    const pool = new pg.Pool({ connectionString: url, max: 3 });
    pool.on("error", () => {});
    const schema = server.schema();
    const store = await postgresStore({ pool, schema, answerMs: 200, patienceMs: 2_000 });
    network.forsake();
    await store.create({ session: "s", head: {}, records: noteRecords("s", 0, 0, "created") });
    assert.equal((await store.read("s")).length, 1);
    await store.close();
    await close();
    await pool.end();
  });

  test("the one that listens is asked now and then, and made anew: its beacon is not written into leases meanwhile", {
    timeout: 20_000,
  }, async () => {
    // Fifty times as fast: a beat is 100 ms.
    const hurried = { after: (ms: number, fn: () => void) => timers.after(ms / 50, fn) };
    const { network, close } = await world({ timers: hurried, answerMs: 5_000 });
    const listens = new Promise<void>((resolve) => {
      network.onRequest = (bytes) => bytes.includes("LISTEN") && resolve();
    });
    network.forsake();
    await listens;
    await close();
  });

  test("closing waits for none of them", { timeout: 20_000 }, async () => {
    const { network, store, close } = await world();
    await store.get("s");
    network.forsake();
    await store.close();
    await close();
  });
});

describe("a server that takes connections and never answers", () => {
  test("opening says so in bounds", { timeout: 20_000 }, async () => {
    const mute = createServer(() => {}).listen(0, "127.0.0.1");
    await once(mute, "listening");
    const address = mute.address();
    assert.ok(address && typeof address === "object");
    const url = server.url("postgres", address.port);
    for (const mode of ["own", "pooled"] as const) {
      await assert.rejects(postgresStore({ url, mode, answerMs: 100, patienceMs: 100 }), { code: "STORE_UNAVAILABLE" });
    }
    mute.close();
  });

  test("hundreds of posts and pieces of a journal in one line: all are given up together, and none is kept", {
    timeout: 20_000,
  }, async () => {
    const { network, store, truth, append, close } = await world({ patienceMs: 300 });
    const open = network.hold();
    const body = "x".repeat(10_000);
    const all = Array.from({ length: 300 }, (_, nth) => [
      store.post("s", { id: `p${nth}`, kind: "input", body }),
      store.writePartial("s", 1, "a", body),
    ]).flat();
    const ends = await Promise.allSettled([...all, append(1)]);
    for (const end of ends) assert.equal(end.status === "rejected" && end.reason.code, "STORE_UNAVAILABLE");
    // Of the hundreds, what was tried left; what waited behind it did not.
    assert.ok(network.sent < 300 * body.length, `${network.sent} bytes were sent`);
    open();
    await append(1).catch((error) => assert.equal(error.code, "CONFLICT", "it had gone through after all"));
    assert.equal(await store.post("s", { id: "after", kind: "input", body: 1 }), "accepted");
    assert.equal((await truth.read("s")).length, 2);
    await close();
  });

  test("hundreds that wait for a connection, in no line of their own: the same", { timeout: 20_000 }, async () => {
    const { network, store, close } = await world({ patienceMs: 300 });
    const open = network.hold();
    const all = Array.from({ length: 400 }, (_, nth) => store.putBlob(Buffer.from(`blob ${nth}`)));
    for (const end of await Promise.allSettled(all))
      assert.equal(end.status === "rejected" && end.reason.code, "STORE_UNAVAILABLE");
    open();
    assert.equal((await store.putBlob(Buffer.from("after"))).length, 64);
    await close();
  });

  test("held up for a while, and then going on: everything goes through, once", { timeout: 20_000 }, async () => {
    const { network, store, truth, append, close } = await world({ answerMs: 400, patienceMs: 5_000 });
    for (let seq = 1; seq < 6; seq += 1) {
      const open = network.hold();
      const asked = [append(seq), store.post("s", { id: `p${seq}`, kind: "input", body: seq })];
      // Odd ones for longer than a line may be silent: what comes late then finds that it was done anew.
      const cancel = timers.after(seq % 2 === 1 ? 600 : 50, open);
      await Promise.all(asked);
      cancel();
      open();
    }
    assert.equal((await truth.read("s")).length, 6);
    assert.deepEqual(
      (await truth.mailbox("s")).map(({ body }) => body),
      [1, 2, 3, 4, 5],
    );
    await close();
  });
});
