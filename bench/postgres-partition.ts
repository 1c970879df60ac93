/**
 * Does it help to spread the records of a large PostgreSQL over hash partitions? `node bench/postgres-partition.ts [sessions]
 * [records] [partitions] [rounds]`, default 4000, 500, 16 and 4: about 1.5 GB a table on the disk.
 *
 * Measured: the same statements on a plain table and on a partitioned one, in alternating order, on a server of its own that
 * flushes nothing (so that work, not the disk, is compared). Not measured: concurrent load during a vacuum.
 */
import { thisHolder } from "@pawl/core/node";
import type { Store } from "@pawl/core/store";
import postgres from "postgres";
import { postgresStore } from "../packages/postgres/src/index.ts";
import { PostgresServer } from "../packages/postgres/test/server.ts";

const [sessions = 4_000, records = 500, partitions = 16, rounds = 4] = process.argv.slice(2).map(Number);
const appendSeconds = 10;
const writers = 16;
const tails = 500;
const deleted = Math.ceil(sessions / 20);

const server = await PostgresServer.start();
const url = server.url("postgres");
const sql = postgres(url, { max: 1, onnotice: () => {} });
const payload = new TextEncoder().encode(JSON.stringify({ about: "bench", text: "x".repeat(250) }));
const figures = new Map<string, { [kind: string]: number[] }>();

function note(kind: string, what: string, value: number): void {
  const row = figures.get(what) ?? {};
  row[kind] = [...(row[kind] ?? []), value];
  figures.set(what, row);
}

async function timed(kind: string, what: string, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  note(kind, what, (performance.now() - began) / 1_000);
}

/** The same table in pieces. */
async function partition(schema: string): Promise<void> {
  await sql.unsafe(`ALTER TABLE ${schema}.record RENAME TO whole`);
  const like = `(LIKE ${schema}.whole INCLUDING DEFAULTS, PRIMARY KEY (session, seq))`;
  await sql.unsafe(`CREATE TABLE ${schema}.record ${like} PARTITION BY HASH (session)`);
  for (let n = 0; n < partitions; n += 1) {
    const values = `FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${n})`;
    await sql.unsafe(`CREATE TABLE ${schema}.record_${n} PARTITION OF ${schema}.record ${values}`);
  }
  await sql.unsafe(`DROP TABLE ${schema}.whole`);
}

/** In the order of many sessions that are driven at once: each record of a session far from the one before. */
async function load(schema: string): Promise<void> {
  await sql.unsafe(`INSERT INTO ${schema}.session (id, seq, created_at, updated_at, head, open_turn)
    SELECT 's_' || n, ${records}, n, n, '{}', false FROM generate_series(1, ${sessions}) n`);
  await sql.unsafe(`INSERT INTO ${schema}.record (session, seq, epoch, time, version, ignorable, type, checksum, payload)
    SELECT s.key, n, 1, 1764547200000 + n, 1, false, 'message.committed', substring(sha256((s.key || ' ' || n)::bytea) FOR 16),
      convert_to('{"text":"' || repeat(md5(s.key || ' ' || n), 16) || '"}', 'UTF8')
    FROM generate_series(1, ${records}) n CROSS JOIN ${schema}.session s ORDER BY n, s.key`);
}

async function append(store: Store, kind: string): Promise<void> {
  const holder = thisHolder();
  const end = performance.now() + appendSeconds * 1_000;
  let done = 0;
  const write = async (session: string) => {
    const answer = await store.acquireLease(session, holder, 600_000);
    if (!answer.granted) throw new Error(`${session} is held`);
    for (let seq = answer.seq; performance.now() < end; seq += 1) {
      const envelope = {
        session,
        epoch: answer.epoch,
        seq: seq + 1,
        type: "note.recorded",
        version: 1,
        ignorable: true,
      };
      const record = { ...envelope, time: 1, payload, checksum: "0".repeat(32) };
      await store.append({ session, epoch: answer.epoch, expectedSeq: seq, records: [record] });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, n) => write(`s_${sessions - n}`)));
  note(kind, "appends a second", done / appendSeconds);
}

async function sizes(schema: string, kind: string): Promise<void> {
  const [row] = await sql.unsafe(`SELECT sum(pg_table_size(c.oid)) AS heap, sum(pg_indexes_size(c.oid)) AS index
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '${schema}' AND c.relname LIKE 'record%' AND c.relkind = 'r'`);
  note(kind, "table, MB", Number(row?.["heap"]) / 1e6);
  note(kind, "index, MB", Number(row?.["index"]) / 1e6);
}

async function round(kind: "plain" | "partitioned"): Promise<void> {
  const schema = server.schema();
  const store = await postgresStore({ url, schema, connections: 8 });
  if (kind === "partitioned") await partition(schema);
  await timed(kind, "load, s", () => load(schema));
  await timed(kind, "first vacuum, s", () => sql.unsafe(`VACUUM (ANALYZE) ${schema}.record`));
  await sizes(schema, kind);
  await append(store, kind);
  await timed(kind, `${tails} tails of 50, s`, async () => {
    for (let n = 0; n < tails; n += 1) await store.readTail(`s_${1 + ((n * 7919) % sessions)}`, { limit: 50 });
  });
  await timed(kind, `delete ${deleted} sessions, s`, async () => {
    for (let n = 0; n < deleted; n += 1) await store.delete(`s_${1 + n * 20}`);
  });
  await timed(kind, "vacuum after the deletes, s", () => sql.unsafe(`VACUUM (ANALYZE) ${schema}.record`));
  await store.close();
  await sql.unsafe(`DROP SCHEMA ${schema} CASCADE`);
}

try {
  for (let n = 0; n < rounds; n += 1) {
    for (const kind of n % 2 === 0 ? (["plain", "partitioned"] as const) : (["partitioned", "plain"] as const))
      await round(kind);
  }
  console.log(`${sessions} sessions of ${records} records, ${partitions} partitions, median of ${rounds} rounds`);
  console.log(`${" ".repeat(32)} plain (every round)            partitioned (every round)      ratio`);
  for (const [what, { plain = [], partitioned = [] }] of figures) {
    const ratio = median(partitioned) / median(plain);
    console.log(`${what.padEnd(32)} ${told(plain)} ${told(partitioned)} x ${ratio.toFixed(2)}`);
  }
} finally {
  await sql.end({ timeout: 1 });
  await server.end();
}

function median(values: readonly number[] = []): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1
    ? (sorted[Math.floor(middle)] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

function told(values: readonly number[]): string {
  const each = values.map((value) => (value < 100 ? value.toFixed(1) : value.toFixed(0))).join(" ");
  return `${median(values).toFixed(1).padStart(7)} (${each})`.padEnd(30);
}
