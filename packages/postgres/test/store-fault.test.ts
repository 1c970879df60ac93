/** A server that goes away and comes back, connections that are cut: nothing is lost, nothing is done twice. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Holder, LogRecord } from "@pawl/core";
import { nodeEffects } from "@pawl/core/node";
import { noteRecords } from "@pawl/core/testing";
import pg from "pg";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../src/index.ts";
import { Network } from "./network.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
after(() => server.end());

const holder: Holder = { id: "h", host: "here", boot: "b", pid: 1, start: "1" };
const ttlMs = 60_000;

async function created(store: PostgresStore, session = "s"): Promise<number> {
  await store.create({ session, head: {}, records: noteRecords(session, 0, 0, "created") });
  const lease = await store.acquireLease(session, holder, ttlMs);
  assert.ok(lease.granted);
  return lease.epoch;
}

function texts(records: readonly LogRecord[]): string[] {
  return records.map(({ payload }) => JSON.parse(Buffer.from(payload as Uint8Array).toString()).text);
}

/** One store behind a network that can be cut, and one that sees the truth. */
async function world(more: Partial<PostgresStoreOptions> = {}) {
  const network = await Network.to(server.port);
  const schema = server.schema();
  const isAlive = () => undefined;
  const url = server.url("postgres", network.port);
  const store = await postgresStore({ url, schema, connections: 2, isAlive, ...more });
  const truth = await postgresStore({ url: server.url("postgres"), schema, connections: 2, isAlive });
  const close = async () => {
    await Promise.all([store.close(), truth.close()]);
    await network.close();
  };
  return { network, store, truth, schema, close };
}

describe("an append whose answer is lost", () => {
  const seqs = Array.from({ length: 12 }, (_, index) => index);

  for (const way of ["the answer is lost after the commit", "the request is lost before the server has it"] as const) {
    test(`L3: ${way}: each record is there once, in order`, { timeout: 20_000 }, async () => {
      const { network, store, truth, close } = await world();
      const epoch = await created(store);
      for (const nth of seqs) {
        let struck = false;
        // The first piece that carries this append, or answers it.
        network.onRequest = (bytes, line) => {
          if (struck || !bytes.includes(`"note ${nth}"`)) return;
          struck = true;
          if (way.startsWith("the request")) return network.cut();
          line.loseAnswer();
        };
        const records = noteRecords("s", epoch, nth + 1, `note ${nth}`);
        await store.append({ session: "s", epoch, expectedSeq: nth + 1, records });
        assert.ok(struck, "the fault came to pass");
      }
      assert.deepEqual(texts(await truth.read("s")), ["created", ...seqs.map((nth) => `note ${nth}`)]);
      await close();
    });
  }

  test("a post that came before it is tried again does not make it one of an unread mailbox: it is done", {
    timeout: 20_000,
  }, async () => {
    const { network, store, truth, close } = await world();
    const epoch = await created(store);
    let tries = 0;
    const again = Promise.withResolvers<() => void>();
    network.onRequest = (bytes, line) => {
      if (!bytes.includes('"mine"')) return undefined;
      tries += 1;
      if (tries === 1) return line.loseAnswer();
      if (tries > 2) return undefined;
      again.resolve(network.hold());
      return undefined;
    };
    const records = noteRecords("s", epoch, 1, "mine");
    const append = store.append({ session: "s", epoch, expectedSeq: 1, records, expectedPosts: 0 });
    const goOn = await again.promise;
    await truth.post("s", { id: "p", kind: "steer", body: {} });
    goOn();
    await append;
    assert.deepEqual(texts(await truth.read("s")), ["created", "mine"]);
    await close();
  });

  test("L8: taken over in between it is refused, and what stands there is the other's", {
    timeout: 20_000,
  }, async () => {
    const { network, store, truth, close } = await world();
    const epoch = await created(store);
    let taken: Promise<unknown> | undefined;
    network.onRequest = (bytes) => {
      if (taken || !bytes.includes('"mine"')) return;
      network.cut();
      taken = truth.releaseLease("s", epoch).then(() => truth.acquireLease("s", { ...holder, id: "other" }, ttlMs));
    };
    const append = store.append({ session: "s", epoch, expectedSeq: 1, records: noteRecords("s", epoch, 1, "mine") });
    const outcome = await append.then(
      () => "acknowledged",
      (error) => error.code,
    );
    await taken;
    // Cut before the server had it, or after: the answer says which.
    const there = texts(await truth.read("s"));
    assert.deepEqual(there, outcome === "acknowledged" ? ["created", "mine"] : ["created"]);
    if (outcome !== "acknowledged") assert.equal(outcome, "FENCED");
    await close();
  });
});

describe("a connection that is cut", () => {
  test("a lease whose grant got no answer is ours when it is asked again", { timeout: 20_000 }, async () => {
    const { network, store, close } = await world();
    await store.create({ session: "s", head: {}, records: noteRecords("s", 0, 0, "created") });
    let struck = false;
    network.onRequest = (bytes, line) => {
      if (struck || !bytes.includes('"id":"mine"')) return;
      struck = true;
      line.loseAnswer();
    };
    const answer = await store.acquireLease("s", { ...holder, id: "mine" }, ttlMs);
    assert.ok(struck);
    assert.ok(answer.granted);
    assert.equal((await store.get("s"))?.lease?.holder.id, "mine");
    await close();
  });

  test("L8: what asked for it first, and arrives late, fences nobody: it is the same lease", {
    timeout: 20_000,
  }, async () => {
    const { network, store, truth, close } = await world();
    await store.create({ session: "s", head: {}, records: noteRecords("s", 0, 0, "created") });
    let arrive: (() => void) | undefined;
    network.onRequest = (bytes, line) => {
      if (arrive || !bytes.includes('"id":"mine"')) return undefined;
      arrive = line.delay(bytes);
      return "drop";
    };
    const answer = await store.acquireLease("s", { ...holder, id: "mine" }, ttlMs);
    assert.ok(answer.granted && arrive);
    const { epoch } = answer;
    const before = (await truth.get("s"))?.lease?.expiresAt ?? 0;
    arrive();
    // It shows in the row that it has been carried out.
    while ((await truth.get("s"))?.lease?.expiresAt === before);
    await store.append({ session: "s", epoch, expectedSeq: 1, records: noteRecords("s", epoch, 1, "driven") });
    assert.deepEqual(texts(await truth.read("s")), ["created", "driven"]);
    await close();
  });

  test("a watcher still hears of others, and the beacon shines again", { timeout: 20_000 }, async () => {
    const { network, store, truth, close } = await world();
    const epoch = await created(store);
    network.cut();
    const heard = new Promise<void>((resolve) => {
      const end = store.watch("s", (news) => {
        if (news === "records" || news === "any") resolve();
      });
      void end;
    });
    await truth.append({ session: "s", epoch, expectedSeq: 1, records: noteRecords("s", epoch, 1, "news") });
    await heard;
    await close();
  });
});

describe("a holder whose connection has ended", () => {
  test("of another host: its lease is free at once, and it is fenced if it lives all the same (L8)", {
    timeout: 20_000,
  }, async () => {
    const { store, truth, close } = await world();
    const epoch = await created(store);
    const other = { ...holder, id: "other", host: "elsewhere" };
    assert.equal((await truth.acquireLease("s", other, ttlMs)).granted, false);
    await store.close();
    const { promise, resolve } = Promise.withResolvers<void>();
    const ask = async (): Promise<void> => {
      const answer = await truth.acquireLease("s", other, ttlMs);
      if (answer.granted) return resolve();
      // The server notices the end of a connection in its own time.
      setImmediate(() => void ask());
    };
    await ask();
    await promise;
    const records = noteRecords("s", epoch, 1, "late");
    await assert.rejects(truth.append({ session: "s", epoch, expectedSeq: 1, records }), { code: "FENCED" });
    await close();
  });

  test("behind a pooler there is no beacon: the lease counts until it expires", { timeout: 20_000 }, async () => {
    const { store, truth, close } = await world({ mode: "pooled" });
    await created(store);
    await store.close();
    const answer = await truth.acquireLease("s", { ...holder, id: "other", host: "elsewhere" }, ttlMs);
    assert.equal(answer.granted, false);
    await close();
  });
});

describe("a server that goes away", () => {
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    test(`L3: ended by ${signal} and started again in the middle of appends and posts: all go through, once`, {
      timeout: 20_000,
    }, async () => {
      const pool = new pg.Pool({ connectionString: server.url("postgres"), max: 4 });
      pool.on("error", () => {});
      const schema = server.schema();
      const stores = [
        await postgresStore({ url: server.url("postgres"), schema, isAlive: () => undefined }),
        await postgresStore({ pool, schema, isAlive: () => undefined }),
      ];
      const work = stores.map(async (store, index) => {
        const session = `s${index}`;
        const epoch = await created(store, session);
        for (let nth = 0; nth < 40; nth += 1) {
          if (nth === 10 && index === 0) restarted = server.halt(signal).then(() => server.boot());
          const records = noteRecords(session, epoch, nth + 1, `${nth}`);
          await store.append({ session, epoch, expectedSeq: nth + 1, records });
          await store.post(session, { id: `p${nth}`, kind: "input", body: nth });
        }
        return session;
      });
      let restarted: Promise<void> | undefined;
      for (const [index, done] of work.entries()) {
        const session = await done;
        const store = stores[index];
        assert.ok(store);
        const expected = ["created", ...Array.from({ length: 40 }, (_, nth) => `${nth}`)];
        assert.deepEqual(texts(await store.read(session)), expected);
        assert.equal((await store.mailbox(session)).length, 40);
      }
      await restarted;
      for (const store of stores) await store.close();
      await pool.end();
    });
  }

  test("for longer than the patience: STORE_UNAVAILABLE says so, and it works again afterwards", {
    timeout: 20_000,
  }, async () => {
    const { store, close } = await world({ patienceMs: 100, answerMs: 300 });
    const epoch = await created(store);
    await server.halt("SIGINT");
    const batch = { session: "s", epoch, expectedSeq: 1, records: noteRecords("s", epoch, 1, "x") };
    await assert.rejects(store.append(batch), { code: "STORE_UNAVAILABLE", message: /look at the server/ });
    await server.boot();
    await store.append(batch);
    assert.deepEqual(texts(await store.read("s")), ["created", "x"]);
    await close();
  });

  test("an address where nobody listens, a database that is not there: said with what to do", {
    timeout: 20_000,
  }, async () => {
    const network = await Network.to(server.port);
    const { port } = network;
    await network.close();
    const { timers } = nodeEffects();
    const options = { timers, patienceMs: 0 };
    await assert.rejects(postgresStore({ ...options, url: server.url("postgres", port) }), {
      code: "STORE_UNAVAILABLE",
      message: /ECONNREFUSED/,
    });
    await assert.rejects(postgresStore({ ...options, url: server.url("nowhere") }), {
      code: "STORE_UNAVAILABLE",
      message: /no such database.*nowhere/,
    });
    await assert.rejects(postgresStore({ ...options, url: server.url("postgres"), schema: 'a"b' }), {
      code: "INVALID_INPUT",
    });
  });
});

describe("a connection that the server ends with its greeting", () => {
  /** As one `pg_terminate_backend` in that moment: both arrive in one piece, before anybody could have been given the connection. */
  function endNext(network: Network): () => number {
    const lines = new Set<object>();
    const fields = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection due to administrator command", ""];
    const body = Buffer.from(fields.map((field) => `${field}\0`).join(""));
    const fatal = Buffer.concat([Buffer.from("E...."), body]);
    fatal.writeInt32BE(body.length + 4, 1);
    network.onAnswer = (bytes, line) => {
      const greets = bytes.at(-6) === 0x5a && bytes.includes("in_hot_standby");
      if (!greets || lines.size >= 3) return undefined;
      lines.add(line);
      return Buffer.concat([bytes, fatal]);
    };
    return () => lines.size;
  }

  for (const whose of ["ours", "the program's"] as const) {
    test(`costs another try, and not the process: with ${whose} pool`, { timeout: 20_000 }, async () => {
      const network = await Network.to(server.port);
      const url = server.url("postgres", network.port);
      const pool = new pg.Pool({ connectionString: url, max: 4 });
      pool.on("error", () => {});
      const ended = endNext(network);
      const store = await postgresStore({
        schema: server.schema(),
        ...(whose === "ours" ? { url, connections: 2 } : { pool }),
      });
      assert.equal(await created(store), 1);
      assert.equal(ended(), 3);
      await store.close();
      assert.equal(pool.listenerCount("connect"), 0, "what stays its owner's is left as it was");
      await pool.end();
      await network.close();
    });
  }
});
