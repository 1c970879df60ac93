/**
 * What sessions cost on PostgreSQL, for planning: `node --expose-gc bench/postgres-sizing.ts [sessions] [turns] [driven]`, default 100, 4
 * and 200.
 *
 * Measured: real turns (four tool calls and a last word: five steps) driven by one worker in this process, on a server of
 * its own beside it; a scripted model answers at once, with texts of 500 characters and results of 2,000. Not measured: a
 * real model's waiting, a network between worker and server, flushes (the server is that of the tests: it does not wait for
 * the disk and writes no page images, so that work is measured; a step takes about two flushes).
 */
import { readFileSync } from "node:fs";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Agent, createSession, createWorker, defineTool, openSession, type Runtime } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";
import postgres from "postgres";
import { type PostgresStore, postgresStore } from "../packages/postgres/src/index.ts";
import { PostgresServer } from "../packages/postgres/test/server.ts";
import { settle } from "./gauge.ts";

const [sessions = 100, turns = 4, driven = 200] = process.argv.slice(2).map(Number);
const callsPerTurn = 4;
const stepsPerTurn = callsPerTurn + 1;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const server = await PostgresServer.start();
const url = server.url("postgres");
const sql = postgres(url, { max: 1, onnotice: () => {} });
const store: PostgresStore = await postgresStore({ url });
const runtime: Runtime = { store, effects: nodeEffects(), holder: thisHolder() };

/** Words, not one letter: what is stored is compressed above two kilobytes. */
const words = (length: number, seed: number) =>
  Array.from({ length: Math.ceil(length / 7) }, (_, n) =>
    ((n * 7919 + seed * 104_729) % 999_983).toString(36).padStart(6, "w"),
  )
    .join(" ")
    .slice(0, length);

const look = defineTool({
  effect: "read",
  inputSchema: { type: "object" as const },
  execute: async (input) => words(2_000, Number((input as { n: number }).n)),
});

/** What it says depends on the request alone, so that one model serves every session. */
const model: LanguageModelV4 = {
  ...scriptedModel([]),
  doStream: (options) => {
    const last = options.prompt.findLastIndex(({ role }) => role === "user");
    const results = options.prompt.slice(last + 1).filter(({ role }) => role === "tool").length;
    const n = options.prompt.length;
    const said = say(words(500, n));
    const entry =
      results < callsPerTurn ? [...said, ...call("look", { n }), finish("tool-calls")] : [...said, finish()];
    return scriptedModel([entry]).doStream(options);
  },
};
const agent: Agent = { model, tools: { look } };

async function figure(text: string, values: (string | number)[] = []): Promise<number> {
  const [row] = await sql.unsafe(text, values);
  return Number(Object.values(row ?? {})[0]);
}

/** Until nothing is open and nothing waits. */
async function idle(): Promise<void> {
  const left = "SELECT (SELECT count(*) FROM pawl.session WHERE open_turn) + (SELECT count(*) FROM pawl.mail)";
  while ((await figure(left)) > 0) await pause(50);
}

async function rate(concurrency: number): Promise<void> {
  for (let n = 0; n < sessions; n += 1) {
    const session = await createSession(runtime, `s${concurrency}-${n}`);
    for (let turn = 0; turn < turns; turn += 1) await session.post("input", words(200, n + turn));
  }
  const before = { cpu: process.cpuUsage(), ...(await counters()), at: performance.now() };
  const worker = createWorker({ runtime, agent: () => agent, concurrency, wake: (notify) => store.watchWork(notify) });
  await idle();
  const seconds = (performance.now() - before.at) / 1_000;
  const { user, system } = process.cpuUsage(before.cpu);
  await worker.drain();
  const after = await counters();
  const steps = sessions * turns * stepsPerTurn;
  console.log(
    `${String(concurrency).padStart(3)} at once: ${(steps / seconds).toFixed(0)} steps/s, ${((user + system) / steps).toFixed(0)} us CPU of the worker and ${((after.server - before.server) / steps).toFixed(0)} of the server a step, ` +
      `${((after.commits - before.commits) / steps).toFixed(1)} transactions and ${((after.wal - before.wal) / steps).toFixed(0)} bytes of WAL a step`,
  );
}

/** Of every process of the server that serves us, us; Linux counts in hundredths of a second. */
async function serverCpu(): Promise<number> {
  const rows = await sql.unsafe("SELECT pid FROM pg_stat_activity");
  const ticks = rows.map(({ pid }) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return Number(fields[11]) + Number(fields[12]);
    } catch {
      return 0;
    }
  });
  return ticks.reduce((sum, each) => sum + each, 0) * 10_000;
}

async function counters(): Promise<{ commits: number; wal: number; server: number }> {
  // The server adds up what its processes did once a second at most.
  await pause(1_500);
  return {
    server: await serverCpu(),
    commits: await figure("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"),
    wal: await figure("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"),
  };
}

async function space(): Promise<void> {
  await sql.unsafe("VACUUM FULL");
  const total = await figure("SELECT count(*) FROM pawl.session WHERE id LIKE 's%'");
  const records = await figure("SELECT count(*) FROM pawl.record");
  const steps = total * turns * stepsPerTurn;
  const bytes =
    await figure(`SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'pawl' AND c.relkind = 'r'`);
  const of = (table: string) => figure(`SELECT pg_total_relation_size('pawl.${table}')`);
  const payload = await figure("SELECT avg(octet_length(payload)) FROM pawl.record");
  console.log(`${total} sessions of ${turns} turns, ${steps} steps, ${records} records`);
  console.log(
    `space: ${(bytes / total / 1_000).toFixed(1)} kB a session, ${(bytes / steps).toFixed(0)} bytes a step, ` +
      `${((await of("record")) / records).toFixed(0)} bytes a record (payload ${payload.toFixed(0)}), ${(records / steps).toFixed(1)} records a step, ` +
      `${((await of("session")) / total).toFixed(0)} bytes of a session's row and indexes, ${((await of("post")) / total / turns).toFixed(0)} a post's id`,
  );
}

/** Turns whose model does not answer: what is held for them is what a driven session costs. */
async function memory(title: string, ids: readonly string[]): Promise<void> {
  const gate = Promise.withResolvers<void>();
  const entry = [{ until: gate.promise }, ...say("done"), finish()];
  const doStream = () => scriptedModel([entry]).doStream({ prompt: [] });
  const waiting = { ...agent, model: { ...scriptedModel([]), doStream } };
  settle();
  const before = process.memoryUsage();
  for (const id of ids) await (await openSession(runtime, id)).post("input", "go");
  const worker = createWorker({ runtime, agent: () => waiting, concurrency: ids.length });
  const open = "SELECT count(*) FROM pawl.session WHERE open_turn";
  while ((await figure(open)) < ids.length) await pause(50);
  // Each has begun its request by then.
  await pause(1_000);
  settle();
  const after = process.memoryUsage();
  const client = "backend_type = 'client backend' AND pid <> pg_backend_pid()";
  const connections = await figure(`SELECT count(*) FROM pg_stat_activity WHERE ${client}`);
  const each = (from: number, to: number) => ((to - from) / ids.length / 1_000).toFixed(0);
  console.log(
    `${ids.length} driven at once, ${title}: heap ${each(before.heapUsed, after.heapUsed)} kB and RSS ${each(before.rss, after.rss)} kB a session, ` +
      `${connections} connections, ${(await perSecond()).toFixed(1)} transactions a second while they wait`,
  );
  gate.resolve();
  await idle();
  await worker.drain();
}

/** In ten seconds in which nothing happens. */
async function perSecond(): Promise<number> {
  const before = await counters();
  const began = performance.now();
  await pause(10_000);
  return ((await counters()).commits - before.commits) / ((performance.now() - began) / 1_000);
}

async function idling(): Promise<void> {
  const worker = createWorker({ runtime, agent: () => agent, wake: (notify) => store.watchWork(notify) });
  console.log(`an idle worker: ${(await perSecond()).toFixed(1)} transactions a second`);
  await worker.drain();
}

try {
  const fresh = Array.from({ length: driven }, (_, n) => `m${n}`);
  for (const id of fresh) await createSession(runtime, id);
  await memory("new sessions", fresh);
  for (const concurrency of [1, 4, 16]) await rate(concurrency);
  await space();
  await idling();
  await memory(
    `of ${turns} turns before`,
    Array.from({ length: Math.min(driven, sessions) }, (_, n) => `s16-${n}`),
  );
} finally {
  await store.close();
  await sql.end({ timeout: 1 });
  await server.end();
}
