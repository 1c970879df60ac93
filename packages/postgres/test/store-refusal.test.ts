/**
 * What a server may answer: it passes and goes through, or it stays and is said with the right code. Raised by a real server, at
 * the n-th statement for n = 1, 2, 3.
 */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Holder } from "@pawl/core";
import { noteRecords } from "@pawl/core/testing";
import pg from "pg";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../src/index.ts";
import { Network } from "./network.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
const admin = new pg.Client(server.url("postgres"));
await admin.connect();
after(async () => {
  await admin.end();
  await server.end();
});

const holder: Holder = { id: "h", host: "here", boot: "b", pid: 1, start: "1" };
const ttlMs = 60_000;
const isAlive = () => undefined;

/** Of the next statements that write into the schema, the server refuses so many. A sequence counts through rollbacks. */
async function faulty(schema: string): Promise<(code: string, times: number) => Promise<void>> {
  await admin.query(`CREATE SEQUENCE ${schema}.faults; CREATE TABLE ${schema}.fault (code text, times int);
    CREATE FUNCTION ${schema}.raise() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE f record;
    BEGIN
      SELECT * INTO f FROM ${schema}.fault;
      IF FOUND AND nextval('${schema}.faults') <= f.times THEN RAISE EXCEPTION 'on purpose' USING ERRCODE = f.code; END IF;
      RETURN NULL;
    END $$`);
  for (const table of ["session", "post", "blob"])
    await admin.query(`CREATE TRIGGER fault AFTER INSERT OR UPDATE ON ${schema}.${table} FOR EACH ROW
      EXECUTE FUNCTION ${schema}.raise()`);
  return async (code, times) => {
    await admin.query(`DELETE FROM ${schema}.fault; ALTER SEQUENCE ${schema}.faults RESTART`);
    await admin.query(`INSERT INTO ${schema}.fault VALUES ($1, $2)`, [code, times]);
  };
}

async function make(store: PostgresStore, session: string): Promise<void> {
  await store.create({ session, head: {}, records: noteRecords(session, 0, 0, "created") });
}

async function lease(store: PostgresStore, session: string): Promise<number> {
  const answer = await store.acquireLease(session, holder, ttlMs);
  assert.ok(answer.granted);
  return answer.epoch;
}

/** All writing, one after another; each goes through exactly once, or rejects. */
async function writeAll(store: PostgresStore, session: string): Promise<void> {
  await make(store, session);
  assert.equal(await store.post(session, { id: "p", kind: "input", body: "said" }), "accepted");
  const claims = await store.claimWork(holder, { limit: 9, ttlMs });
  const epoch = claims.find((claim) => claim.session === session)?.epoch ?? 0;
  const records = noteRecords(session, epoch, 1, "one");
  await store.append({ session, epoch, expectedSeq: 1, records, head: {}, consume: ["p"] });
  await store.putBlob(Buffer.from(session));
  await store.releaseLease(session, epoch);
  await store.delete(session);
}

describe("a server that refuses for a moment", () => {
  for (const code of ["40001", "40P01", "55P03", "57014", "53200", "25006", "57P03"]) {
    test(`${code}: once, twice, three times in a row, at every statement: all goes through`, {
      timeout: 20_000,
    }, async () => {
      const schema = server.schema();
      const store = await postgresStore({ url: server.url("postgres"), schema, isAlive });
      const fault = await faulty(schema);
      for (let times = 1; times <= 3; times += 1) {
        await fault(code, times);
        await writeAll(store, `s${times}`);
        assert.deepEqual(await store.list(), []);
      }
      await store.close();
    });
  }
});

describe("a server that goes on refusing", () => {
  for (const [code, expected, word] of [
    ["53100", "STORE_FULL", /disk is full/],
    ["53200", "STORE_UNAVAILABLE", /out of memory/],
    ["40001", "STORE_UNAVAILABLE", /look at the server/],
    ["25006", "STORE_UNAVAILABLE", /only reads/],
    ["57014", "STORE_UNAVAILABLE", /statement_timeout/],
    ["42501", "STORE_UNAVAILABLE", /grant it/],
    ["XX001", "CORRUPT", /backup/],
    ["22012", "STORE_UNAVAILABLE", /did not do/],
  ] as const) {
    test(`${code} is ${expected}; nothing is written, and the same goes through afterwards`, {
      timeout: 20_000,
    }, async () => {
      const schema = server.schema();
      const store = await postgresStore({ url: server.url("postgres"), schema, isAlive, patienceMs: 50 });
      const fault = await faulty(schema);
      await make(store, "s");
      const epoch = await lease(store, "s");
      const append = () =>
        store.append({ session: "s", epoch, expectedSeq: 1, records: noteRecords("s", epoch, 1, "one") });
      const refused = { code: expected, message: word };
      await fault(code, 1_000_000);
      await assert.rejects(append(), refused);
      await assert.rejects(store.post("s", { id: "p", kind: "input", body: 1 }), refused);
      await assert.rejects(make(store, "other"), refused);
      await assert.rejects(store.putBlob(Buffer.from("b")), refused);
      await assert.rejects(store.delete("s"), refused);
      await fault(code, 0);
      assert.deepEqual([(await store.read("s")).length, (await store.mailbox("s")).length], [1, 0]);
      assert.equal(await store.get("other"), undefined);
      await append();
      await store.close();
    });
  }
});

describe("a server whose settings end things", () => {
  /** A role of its own, which may be changed while the store uses it. */
  async function role(): Promise<{ name: string; url: string }> {
    const name = `role_${server.schema()}`;
    await admin.query(`CREATE ROLE ${name} LOGIN SUPERUSER`);
    return { name, url: server.url("postgres").replace("postgres@", `${name}@`) };
  }
  const sendAway = (name: string) =>
    admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", [name]);

  test("backends are terminated all the time: every append and post is there once, in order", {
    timeout: 60_000,
  }, async () => {
    const { name, url } = await role();
    const store = await postgresStore({ url, schema: server.schema(), isAlive });
    await make(store, "s");
    const epoch = await lease(store, "s");
    for (let nth = 1; nth <= 60; nth += 1) {
      const records = noteRecords("s", epoch, nth, `${nth}`);
      const append = store.append({ session: "s", epoch, expectedSeq: nth, records });
      const post = store.post("s", { id: `p${nth}`, kind: "input", body: nth });
      await Promise.all([append, post, nth % 3 === 0 ? sendAway(name) : undefined]);
    }
    assert.equal((await store.read("s")).length, 61);
    const bodies = (await store.mailbox("s")).map(({ body }) => body);
    assert.deepEqual(
      bodies,
      Array.from({ length: 60 }, (_, at) => at + 1),
    );
    await store.close();
  });

  test("it has no connection left, or no longer lets us in: waited for, then said, and over when it is over", {
    timeout: 20_000,
  }, async () => {
    const { name, url } = await role();
    const schema = server.schema();
    const store = await postgresStore({ url, schema, isAlive, patienceMs: 200 });
    await make(store, "s");
    for (const [shut, open, code, word] of [
      ["NOSUPERUSER CONNECTION LIMIT 0", "SUPERUSER CONNECTION LIMIT -1", "STORE_UNAVAILABLE", /no connection left/],
      ["NOLOGIN", "LOGIN", "STORE_UNAVAILABLE", /refuses the user/],
    ] as const) {
      await admin.query(`ALTER ROLE ${name} ${shut}`);
      await sendAway(name);
      // Of those that were terminated a statement may still hear; the next ones meet the closed door.
      await assert.rejects(
        (async () => {
          for (;;) await store.get("s");
        })(),
        { code, message: word },
      );
      await assert.rejects(postgresStore({ url, schema, patienceMs: 0 }), { code, message: word });
      await admin.query(`ALTER ROLE ${name} ${open}`);
      assert.equal((await store.get("s"))?.seq, 1);
    }
    await store.close();
  });

  test("it only reads for a while, as after a fail-over: the connections that say so are thrown away", {
    timeout: 20_000,
  }, async () => {
    const { name, url } = await role();
    const store = await postgresStore({ url, schema: server.schema(), isAlive });
    await make(store, "s");
    await admin.query(`ALTER ROLE ${name} SET default_transaction_read_only = on`);
    await sendAway(name);
    const posted = store.post("s", { id: "p", kind: "input", body: 1 });
    // A setting of new connections: those that stand keep the old one until they are closed.
    while ((await asked(name)) === 0);
    await admin.query(`ALTER ROLE ${name} RESET default_transaction_read_only`);
    assert.match(await posted, /accepted|duplicate/);
    assert.equal((await store.mailbox("s")).length, 1);
    await store.close();
  });

  /** Connections of `name` on which our post was asked for. */
  async function asked(name: string): Promise<number> {
    const sql = "SELECT 1 FROM pg_stat_activity WHERE usename = $1 AND query LIKE '%INTO%post%'";
    return (await admin.query(sql, [name])).rows.length;
  }

  test("a transaction that rests too long is ended: an import fails whole, and its id is free", {
    timeout: 20_000,
  }, async () => {
    const { name, url } = await role();
    await admin.query(`ALTER ROLE ${name} SET idle_in_transaction_session_timeout = 20`);
    const store = await postgresStore({ url, schema: server.schema(), isAlive });
    const records = noteRecords("s", 0, 0, "one", "two");
    async function* slow() {
      yield records.slice(0, 1);
      const rests = "SELECT 1 FROM pg_stat_activity WHERE usename = $1 AND state = 'idle in transaction'";
      while ((await admin.query(rests, [name])).rows.length > 0);
      yield records.slice(1);
    }
    await assert.rejects(store.restore({ session: "s", head: {}, batches: slow() }), { code: "STORE_UNAVAILABLE" });
    assert.equal(await store.get("s"), undefined);
    await make(store, "s");
    await store.close();
  });

  test("a row that another transaction keeps locked: waited for in bounds, and done once", {
    timeout: 20_000,
  }, async () => {
    const schema = server.schema();
    const store = await postgresStore({ url: server.url("postgres"), schema, isAlive, answerMs: 100, patienceMs: 300 });
    await make(store, "s");
    const epoch = await lease(store, "s");
    const append = (seq: number) =>
      store.append({ session: "s", epoch, expectedSeq: seq, records: noteRecords("s", epoch, seq, `${seq}`) });
    await admin.query(`BEGIN; SELECT 1 FROM ${schema}.session FOR UPDATE`);
    await assert.rejects(append(1), { code: "STORE_UNAVAILABLE", message: /lock/ });
    await admin.query("COMMIT");
    const left = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    assert.deepEqual((await admin.query(left)).rows, [], "no backend waits on for somebody who has gone");
    await append(1);
    assert.equal((await store.read("s")).length, 2);
    await store.close();
  });
});

describe("a batch that is too large for one statement", () => {
  const megabyte = 1024 * 1024;

  async function large(more: Partial<PostgresStoreOptions> = {}) {
    const schema = server.schema();
    const store = await postgresStore({ url: server.url("postgres"), schema, isAlive, connections: 1, ...more });
    await make(store, "s");
    await store.post("s", { id: "p", kind: "input", body: 1 });
    const epoch = await lease(store, "s");
    const payload = new Uint8Array(12 * megabyte);
    const records = noteRecords("s", epoch, 1, "1", "2", "3", "4").map((record) => ({ ...record, payload }));
    const append = () =>
      store.append({ session: "s", epoch, expectedSeq: 1, records, head: { title: "t" }, consume: ["p"] });
    const trace = async () => {
      const summary = await store.get("s");
      return [summary?.seq, summary?.head, (await store.read("s")).length, (await store.mailbox("s")).length];
    };
    return { store, schema, append, trace };
  }

  test("its last statement is refused: no trace of the others, and the same goes through afterwards", {
    timeout: 30_000,
  }, async () => {
    const { store, schema, append, trace } = await large();
    await admin.query(`ALTER TABLE ${schema}.record ADD CONSTRAINT fault CHECK (seq < 5)`);
    await assert.rejects(append(), { code: "STORE_UNAVAILABLE", message: /fault/ });
    assert.deepEqual(await trace(), [1, {}, 1, 1]);
    await admin.query(`ALTER TABLE ${schema}.record DROP CONSTRAINT fault`);
    await append();
    assert.deepEqual(await trace(), [5, { title: "t" }, 5, 0]);
    await store.close();
  });

  for (const way of ["the last statement", "the answer to its end"] as const)
    test(`the connection breaks with ${way}: it is done once`, { timeout: 30_000 }, async () => {
      const network = await Network.to(server.port);
      const { store, append, trace } = await large({ url: server.url("postgres", network.port) });
      let strikes = 0;
      const from = network.sent + 40 * megabyte;
      network.onRequest = (bytes, line) => {
        if (strikes > 0 || network.sent < from) return;
        if (way === "the last statement") line.reset();
        else if (bytes.includes("COMMIT")) line.loseAnswer();
        else return;
        strikes += 1;
      };
      await append();
      assert.equal(strikes, 1);
      assert.deepEqual(await trace(), [5, { title: "t" }, 5, 0]);
      await store.close();
      await network.close();
    });
});

test("a pool whose client does not say how many rows it has changed is refused before anything is written", {
  timeout: 20_000,
}, async () => {
  const pool = new pg.Pool({ connectionString: server.url("postgres") });
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (statement: object) => Promise<{ rows: unknown[] }>;
    Object.assign(client, { query: async (statement: object) => ({ rows: (await query(statement)).rows }) });
  });
  const schema = server.schema();
  for (const mode of ["own", "pooled"] as const)
    await assert.rejects(postgresStore({ pool, schema, mode }), { code: "INVALID_INPUT", message: /rowCount/ });
  const there = await admin.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
  assert.equal(there.rowCount, 0);
  await pool.end();
});
