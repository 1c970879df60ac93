/** The schema: old databases and new ones end up the same, and what a format was cannot change unnoticed. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { fakeHolder } from "@pawl/core/testing";
import postgres from "postgres";
import { migrateSchema, postgresStore, schemaFormat } from "../src/index.ts";
import { format, steps } from "../src/schema.ts";
import { catalogue } from "./catalogue.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
const sql = postgres(server.url("postgres"), { max: 1, onnotice: () => {} });
after(async () => {
  await sql.end({ timeout: 1 });
  await server.end();
});

const url = server.url("postgres");
const fixture = (name: string) => readFile(fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url)), "utf8");

describe("the schema", () => {
  test("a new one has every table, column, index and constraint of the format as it was published", async () => {
    const schema = server.schema();
    await (await postgresStore({ url, schema })).close();
    // Made anew with: node packages/postgres/test/catalogue.ts > packages/postgres/test/fixtures/format-N.txt
    assert.equal(await catalogue(sql, schema), await fixture(`format-${format}.txt`));
  });

  test("stores that open an empty database at once make one schema", async () => {
    const schema = server.schema();
    const stores = await Promise.all(Array.from({ length: 6 }, () => postgresStore({ url, schema, connections: 1 })));
    for (const store of stores) await store.close();
    assert.equal(await catalogue(sql, schema), await fixture(`format-${format}.txt`));
    assert.deepEqual([...(await sql.unsafe(`SELECT format FROM ${schema}.format`))], [{ format }]);
  });

  test("an old one is brought to the same, with what is in it; whoever has it open goes on working", async () => {
    const schema = server.schema();
    await sql.unsafe(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.format (format integer NOT NULL);
      INSERT INTO ${schema}.format VALUES (1); ${steps[0]?.sql.replaceAll("pawl.", `${schema}.`)}`);
    assert.equal(await catalogue(sql, schema), await fixture("format-1.txt"));
    const old = `INSERT INTO ${schema}.session (id, seq, created_at, updated_at, head, open_turn)`;
    await sql.unsafe(`${old} VALUES ('before', 1, 1, 1, '{}', true)`);
    const store = await postgresStore({ url, schema });
    assert.equal(await catalogue(sql, schema), await fixture(`format-${format}.txt`));
    assert.deepEqual([...(await sql.unsafe(`SELECT format FROM ${schema}.format`))], [{ format }]);
    await sql.unsafe(`${old} VALUES ('after', 1, 1, 1, '{}', true)`);
    const claims = await store.claimWork(fakeHolder("worker"), { limit: 9, ttlMs: 1_000 });
    assert.deepEqual(claims.map(({ session }) => session).sort(), ["after", "before"]);
    await store.close();
  });

  test("one of the first format takes the steps since, and what is in it stays", async () => {
    const schema = server.schema();
    const [first] = steps;
    await sql.unsafe(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.format (format integer NOT NULL);
      INSERT INTO ${schema}.format VALUES (1); ${first?.sql.replaceAll("pawl.", `${schema}.`)}`);
    assert.equal(await catalogue(sql, schema), await fixture("format-1.txt"));
    const bytes = new Uint8Array([7]);
    const name = hash("sha256", bytes, "hex");
    await sql.unsafe(`INSERT INTO ${schema}.blob (hash, bytes) VALUES ($1, $2)`, [Buffer.from(name, "hex"), bytes]);

    const store = await postgresStore({ url, schema });
    assert.equal(await catalogue(sql, schema), await fixture(`format-${format}.txt`));
    assert.deepEqual([...((await store.getBlob(name)) ?? [])], [7]);
    // Of a blob from before nobody knows when it was put; of one that a process of the first format puts, the database does.
    assert.deepEqual(await store.oldBlobs({ before: 1 }), [name]);
    await sql.unsafe(`INSERT INTO ${schema}.blob (hash, bytes) VALUES ($1, $2)`, [Buffer.alloc(32), bytes]);
    assert.deepEqual(await store.oldBlobs({ before: 1_500_000_000_000 }), [name]);
    await store.close();
  });

  test("in one that had many sessions, too, a row that changes stays in its page; a process of before appends and lists", async () => {
    const schema = server.schema();
    const first = steps.slice(0, 3).map((step) => step.sql.replaceAll("pawl.", `${schema}.`));
    await sql.unsafe(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.format (format integer NOT NULL);
      INSERT INTO ${schema}.format VALUES (3); ${first.join("\n")}`);
    await sql.unsafe(`INSERT INTO ${schema}.session (id, seq, created_at, updated_at, head, open_turn)
      SELECT 's' || n, 1, 1, n * 10, '{}', false FROM generate_series(1, 2000) n`);
    const store = await postgresStore({ url, schema });
    const append = `UPDATE ${schema}.session SET seq = seq + 1, updated_at = updated_at + 1 WHERE id = 's500' RETURNING ctid::text AS place`;
    const pages = new Set<string>();
    const [before] = await sql.unsafe(`SELECT ctid::text AS place FROM ${schema}.session WHERE id = 's500'`);
    for (const row of [before, ...(await sql.unsafe(append)), ...(await sql.unsafe(append))])
      pages.add(String(row?.["place"]).split(",")[0] ?? "");
    assert.equal(pages.size, 1);
    const listed = [];
    for (let page = await store.list({ limit: 300 }); page.length > 0; ) {
      listed.push(...page.map(({ session }) => session));
      const { updatedAt, session } = page.at(-1) ?? { updatedAt: 0, session: "" };
      page = await store.list({ limit: 300, cursor: { updatedAt, session } });
    }
    // The order of the version before.
    const old = await sql.unsafe(`SELECT id FROM ${schema}.session WHERE state = 0 ORDER BY updated_at DESC, id DESC`);
    assert.deepEqual(
      listed,
      old.map(({ id }) => id),
    );
    await store.close();
  });

  test("of a newer format it is refused, before anything in it changes", async () => {
    const schema = server.schema();
    await (await postgresStore({ url, schema })).close();
    await sql.unsafe(`UPDATE ${schema}.format SET format = 99`);
    await assert.rejects(postgresStore({ url, schema }), {
      code: "STORE_UNAVAILABLE",
      message: /format 99.*update Pawl/,
    });
    assert.equal(await catalogue(sql, schema), await fixture(`format-${format}.txt`));
  });

  test("two schemas in one database know nothing of each other", async () => {
    const stores = [
      await postgresStore({ url, schema: server.schema() }),
      await postgresStore({ url, schema: server.schema() }),
    ];
    for (const store of stores) assert.deepEqual(await store.list(), []);
    await stores[0]?.setName("nothing", null);
    const hash = await stores[0]?.putBlob(new Uint8Array([1]));
    assert.equal(await stores[1]?.getBlob(hash ?? ""), undefined);
    for (const store of stores) await store.close();
  });
});

describe("a migration by hand", () => {
  test("what may not change tables refuses a schema that is not there, or older, with what to do", async () => {
    const schema = server.schema();
    const byHand = { url, schema, migration: "by-hand" } as const;
    await assert.rejects(postgresStore(byHand), { code: "STORE_UNAVAILABLE", message: /no schema .*`pawl migrate`/ });
    assert.deepEqual(await schemaFormat({ url, schema }), { found: 0, needed: format });
    assert.deepEqual(await migrateSchema({ url, schema }), { found: 0, needed: format });
    assert.deepEqual(await migrateSchema({ url, schema }), { found: format, needed: format });
    assert.equal(await catalogue(sql, schema), await fixture(`format-${format}.txt`));
    await (await postgresStore(byHand)).close();
    await sql.unsafe(`UPDATE ${schema}.format SET format = 0`);
    await assert.rejects(postgresStore(byHand), { code: "STORE_UNAVAILABLE", message: /`pawl migrate`/ });
    await sql.unsafe(`UPDATE ${schema}.format SET format = 99`);
    await assert.rejects(postgresStore(byHand), { code: "STORE_UNAVAILABLE", message: /format 99.*update Pawl/ });
    await assert.rejects(migrateSchema({ url, schema }), { code: "STORE_UNAVAILABLE", message: /update Pawl/ });
  });

  test("many at once make one schema, and behind a pooler, too", async () => {
    const schema = server.schema();
    const asked = Array.from({ length: 6 }, (_, n) => migrateSchema({ url, schema, mode: n % 2 ? "own" : "pooled" }));
    for (const { needed } of await Promise.all(asked)) assert.equal(needed, format);
    assert.deepEqual([...(await sql.unsafe(`SELECT format FROM ${schema}.format`))], [{ format }]);
  });

  test("a role is granted rows and no tables, whatever it is called; one that is not there is named", async () => {
    const schema = server.schema();
    const role = `odd "role" ${schema}`;
    await sql.unsafe(`CREATE ROLE "odd ""role"" ${schema}"`);
    await migrateSchema({ url, schema, grant: role });
    const may = async (table: string, right: string) => {
      const [row] = await sql`SELECT has_table_privilege(${role}, ${`${schema}.${table}`}, ${right}) AS may`;
      return row?.["may"] as boolean;
    };
    assert.equal(await may("session", "UPDATE"), true);
    assert.equal(await may("record", "TRUNCATE"), false);
    assert.deepEqual([await may("format", "SELECT"), await may("format", "UPDATE")], [true, false]);
    await assert.rejects(migrateSchema({ url, schema, grant: "nobody" }), { message: /no such role.*"nobody"/ });
  });
});
