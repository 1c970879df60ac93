/**
 * Which storage settings of PostgreSQL help: `node bench/postgres-storage.ts [rows]`, default 4000. Compression of payloads by
 * length, and how many updates of a session's row stay on their page (HOT), by fillfactor.
 *
 * The server flushes nothing: what is compared is work and space.
 */

import { thisHolder } from "@pawl/core/node";
import postgres from "postgres";
import { postgresStore } from "../packages/postgres/src/index.ts";
import { PostgresServer } from "../packages/postgres/test/server.ts";

const [rows = 4_000] = process.argv.slice(2).map(Number);
const sessions = 50;
const rounds = 40;

const server = await PostgresServer.start();
const url = server.url("postgres");
const sql = postgres(url, { max: 1, onnotice: () => {} });

/** JSON with words that repeat as those of code and prose do. */
const text = (length: number) =>
  `convert_to('{"text":"' || left((SELECT string_agg('const w' || ((i * 7919 + n) % 997) || ' = await read(', ' ')
    FROM generate_series(1, ${Math.ceil(length / 20)}) i), ${length}) || '"}', 'UTF8')`;

async function compression(): Promise<void> {
  console.log(`${rows} payloads: seconds to write, to read, MB on the disk`);
  for (const length of [1_000, 4_000, 16_000]) {
    for (const kind of ["pglz", "lz4", "none"]) {
      await sql.unsafe("CREATE TABLE kept (n int, payload bytea NOT NULL)");
      if (kind === "none") await sql.unsafe("ALTER TABLE kept ALTER payload SET STORAGE EXTERNAL");
      else {
        const changed = await sql
          .unsafe(`ALTER TABLE kept ALTER payload SET COMPRESSION ${kind}`)
          .catch((error) => error);
        if (changed instanceof Error) {
          console.log(`${String(length).padStart(6)} ${kind}: this server has it not (${changed.message})`);
          await sql.unsafe("DROP TABLE kept");
          continue;
        }
      }
      await sql.unsafe(
        `CREATE TEMP TABLE made AS SELECT n, ${text(length)} AS payload FROM generate_series(1, ${rows}) n`,
      );
      const write = await seconds(() => sql.unsafe("INSERT INTO kept SELECT n, payload || ''::bytea FROM made"));
      const read = await seconds(() => sql.unsafe("SELECT sum(length(encode(payload, 'escape'))) FROM kept"));
      const [size] = await sql.unsafe("SELECT pg_total_relation_size('kept') AS bytes");
      const megabytes = (Number(size?.["bytes"]) / 1e6).toFixed(1);
      console.log(
        `${String(length).padStart(6)} ${kind.padEnd(5)} ${write.toFixed(2)} ${read.toFixed(2)} ${megabytes}`,
      );
      await sql.unsafe("DROP TABLE kept, made");
    }
  }
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

/** Per round a session is acquired, appended to twice, renewed twice and given back. */
async function updates(): Promise<void> {
  console.log("updates of session rows: in all, on their page, MB of table and indexes at the end");
  for (const fill of [100, 80, 50]) {
    const schema = server.schema();
    const store = await postgresStore({ url, schema, connections: 4 });
    await sql.unsafe(`ALTER TABLE ${schema}.session SET (fillfactor = ${fill})`);
    const payload = new TextEncoder().encode("{}");
    const record = (session: string, epoch: number, seq: number) => ({
      ...{ session, epoch, seq, type: "note.recorded", version: 1, ignorable: true, time: 1 },
      ...{ payload, checksum: "0".repeat(32) },
    });
    const drive = async (session: string) => {
      await store.create({ session, head: {}, records: [record(session, 0, 1)] });
      for (let round = 0; round < rounds; round += 1) {
        const answer = await store.acquireLease(session, thisHolder(), 60_000);
        if (!answer.granted) throw new Error(`${session} is held`);
        const { epoch, seq } = answer;
        for (const more of [1, 2]) {
          await store.append({
            session,
            epoch,
            expectedSeq: seq + more - 1,
            records: [record(session, epoch, seq + more)],
          });
          await store.renewLease(session, epoch, 60_000);
        }
        await store.releaseLease(session, epoch);
      }
    };
    await Promise.all(Array.from({ length: sessions }, (_, n) => drive(`s${n}`)));
    await store.close();
    // The server adds up what its processes did when they are done.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const [row] =
      await sql.unsafe(`SELECT n_tup_upd AS all, n_tup_hot_upd AS hot, pg_total_relation_size(relid) AS bytes
      FROM pg_stat_user_tables WHERE schemaname = '${schema}' AND relname = 'session'`);
    const share = (100 * Number(row?.["hot"])) / Number(row?.["all"]);
    console.log(
      `fillfactor ${fill}: ${row?.["all"]} ${share.toFixed(0)}% ${(Number(row?.["bytes"]) / 1e6).toFixed(2)}`,
    );
  }
}

try {
  await compression();
  await updates();
} finally {
  await sql.end({ timeout: 1 });
  await server.end();
}
