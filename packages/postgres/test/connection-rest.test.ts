/** Connections between two statements, where they rest with us: those that end there, or on the way there, harm nobody. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { nodeEffects } from "@pawl/core/node";
import type { Timers } from "@pawl/core/store";
import { noteRecords } from "@pawl/core/testing";
import pg from "pg";
import { postgresStore } from "../src/index.ts";
import { poolDatabase } from "../src/pool-database.ts";
import { urlDatabase } from "../src/url-database.ts";
import { type Line, Network } from "./network.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
after(() => server.end());

const { timers } = nodeEffects();
/** Nothing is ever due. */
const never: Timers = { after: () => () => {} };

/** As the server says it when it ends a connection. */
function farewell(): Buffer {
  const fields = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection due to administrator command", ""];
  const body = Buffer.from(fields.map((field) => `${field}\0`).join(""));
  const message = Buffer.concat([Buffer.from("E...."), body]);
  message.writeInt32BE(body.length + 4, 1);
  return message;
}

function rows(count: number): string {
  return `SELECT generate_series(1, ${count})`;
}

/** Of ours nobody is connected any more. */
async function untilNobody(): Promise<void> {
  const sql = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'pawl'";
  const admin = new pg.Client(server.url("postgres"));
  await admin.connect();
  while ((await admin.query(sql)).rows[0].count > 0);
  await admin.end();
}

async function world({ connections = 1, answerMs = 5_000 } = {}) {
  const network = await Network.to(server.port);
  const database = urlDatabase(server.url("postgres", network.port), { connections, mode: "own", timers, answerMs });
  const close = async () => {
    await database.close();
    await network.close();
  };
  return { network, database, close };
}

describe("a connection that rests", () => {
  test("its end came in one piece with an answer: the answer counts, and nobody is given it", {
    timeout: 20_000,
  }, async () => {
    const { network, database, close } = await world();
    network.onAnswer = (bytes) => (bytes.includes("last words") ? Buffer.concat([bytes, farewell()]) : undefined);
    assert.equal((await database.ask("SELECT 'last words'")).count, 1);
    assert.equal((await database.ask(rows(3))).count, 3);
    const within = database.transaction(async (query) => {
      await query("SELECT 'last words'");
    });
    await assert.rejects(within, /not queryable|terminating/);
    assert.equal((await database.ask(rows(2))).count, 2);
    await close();
  });

  test("its end is said more than once: it is given back once, and the process lives", {
    timeout: 20_000,
  }, async () => {
    const { network, database, close } = await world();
    const lines: Line[] = [];
    network.onRequest = (_bytes, line) => void lines.push(line);
    await database.ask(rows(1));
    lines[0]?.say(Buffer.concat([farewell(), farewell()]));
    await untilNobody();
    assert.equal((await database.ask(rows(3))).count, 3);
    await close();
  });

  test("one is dead without a word: nobody is given those that rested beside it", { timeout: 20_000 }, async () => {
    const { network, database, close } = await world({ connections: 4, answerMs: 1_000 });
    await Promise.all(Array.from({ length: 4 }, () => database.ask("SELECT pg_sleep(0.05)")));
    assert.equal(network.lines, 4);
    network.forsake();
    const next = database.ask(rows(1)).catch((error) => {
      assert.equal(error.code, "ETIMEDOUT");
      return database.ask(rows(3));
    });
    assert.equal((await next).count, 3);
    await close();
  });

  test("one dies without a word within a transaction: its end is not waited for once more", {
    timeout: 20_000,
  }, async () => {
    const network = await Network.to(server.port);
    let isKnown = false;
    const until: Timers = { after: (ms, fn) => timers.after(ms, () => isKnown || fn()) };
    const url = server.url("postgres", network.port);
    const database = urlDatabase(url, { connections: 1, mode: "own", timers: until, answerMs: 1_000 });
    const work = database.transaction(async (query) => {
      network.forsake();
      await query(rows(1)).catch((error) => {
        isKnown = true;
        throw error;
      });
    });
    await assert.rejects(work, { code: "ETIMEDOUT" });
    await database.close();
    await network.close();
  });

  test("the server is restarted while ten of them rest: not one of the next ten statements is asked there", {
    timeout: 20_000,
  }, async () => {
    const { database, close } = await world({ connections: 10 });
    const ten = (text: string) => Promise.all(Array.from({ length: 10 }, () => database.ask(text)));
    await ten("SELECT pg_sleep(0.05)");
    await server.halt("SIGINT");
    await server.boot();
    for (const { count } of await ten(rows(3))) assert.equal(count, 3);
    await close();
  });

  test("closed while some rest and some work: all are answered, and no deadline is needed for the end", {
    timeout: 20_000,
  }, async () => {
    const url = server.url("postgres");
    const database = urlDatabase(url, { connections: 3, mode: "own", timers: never, answerMs: 5_000 });
    await Promise.all([1, 2, 3].map(() => database.ask("SELECT pg_sleep(0.05)")));
    const works = database.transaction((query) => query("SELECT pg_sleep(0.1)"));
    const fails = database.ask("SELECT 1/0").catch((error) => error.code);
    await database.close();
    await works;
    assert.equal(await fails, "22012");
  });

  test("hundreds of statements, some of them refused, leave no listener behind", { timeout: 20_000 }, async () => {
    const pool = new pg.Pool({ connectionString: server.url("postgres"), max: 2 });
    pool.on("error", () => {});
    const clients: pg.PoolClient[] = [];
    pool.on("connect", (client) => void clients.push(client));
    const database = poolDatabase(pool, { mode: "own", timers, answerMs: 5_000, places: 2 });
    const work = () =>
      Promise.allSettled([
        database.ask(rows(1)),
        database.ask("SELECT 1/0"),
        database.transaction((query) => query("SELECT 1/0")),
      ]);
    await work();
    const listening = () => clients.map((client) => client.eventNames().map((name) => client.listenerCount(name)));
    const before = listening();
    for (let nth = 0; nth < 200; nth += 1) await work();
    assert.deepEqual(listening(), before);
    await database.close();
    await pool.end();
  });
});

test("L3: a hint, whose commit waits for no disk, leaves its connection to those whose commits do", {
  timeout: 20_000,
}, async () => {
  const pool = new pg.Pool({ connectionString: server.url("postgres"), max: 4 });
  pool.on("error", () => {});
  const store = await postgresStore({ pool, schema: server.schema() });
  await store.create({ session: "s", head: {}, records: noteRecords("s", 0, 0, "created") });
  await store.close();
  assert.ok(pool.idleCount > 0);
  const clients = await Promise.all(Array.from({ length: pool.idleCount }, () => pool.connect()));
  for (const client of clients) {
    assert.deepEqual((await client.query("SHOW synchronous_commit")).rows, [{ synchronous_commit: "on" }]);
    client.release();
  }
  await pool.end();
});
