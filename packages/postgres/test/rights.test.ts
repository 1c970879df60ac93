/** The SQL of the page for operators: rights that are enough and no more, questions that are answered. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { createSession, erasePayloadOf, openSession, prune } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import postgres from "postgres";
import { postgresStore } from "../src/index.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
const sql = postgres(server.url("postgres"), { max: 1, onnotice: () => {} });
after(async () => {
  await sql.end({ timeout: 1 });
  await server.end();
});

const page = await readFile(join(import.meta.dirname, "../../../docs/operation.md"), "utf8");
const [, rights = ""] = page.match(/```sql rights\n([\s\S]*?)```/) ?? [];

test("each question of the page is one that PostgreSQL answers", async () => {
  const store = await postgresStore({ url: server.url("postgres") });
  const runtime = { store, effects: nodeEffects(), holder: thisHolder() };
  await (await createSession(runtime, "s")).post("input", "waits");
  const questions = [...page.matchAll(/```sql watch\n([\s\S]*?)```/g)].flatMap(([, block = ""]) => block.split(/;\n/));
  const asked = questions.filter((question) => question.trim() !== "");
  assert.equal(asked.length, 5);
  const answers = [];
  for (const question of asked) answers.push([...(await sql.unsafe(question))]);
  const [[waiting] = [], [turns] = [], [unerased] = [], , [listed] = []] = answers;
  assert.equal(waiting?.["waiting"], "1");
  assert.ok(Number(waiting?.["oldest_seconds"]) >= 0);
  assert.deepEqual([turns, unerased], [{ driven: "0", interrupted: "0" }, { unerased: "0" }]);
  assert.deepEqual(listed, { id: "s", open_turn: false, waiting: "1" });
  await store.close();
  await sql.unsafe("DROP SCHEMA pawl CASCADE");
});

test("with the rights on the page a worker drives, erases and prunes; it cannot change the schema", async () => {
  await (await postgresStore({ url: server.url("postgres") })).close();
  await sql.unsafe(rights);
  const url = server.url("postgres").replace("postgres@", "pawl_worker@");
  const store = await postgresStore({ url, connections: 2 });
  const runtime = { store, effects: nodeEffects(), holder: thisHolder() };
  const session = await createSession(runtime);
  const model = scriptedModel([[...say("done"), finish()]]);
  assert.equal((await session.run({ model }, "go").result).outcome.type, "completed");
  const input = (await session.entries()).find(({ event }) => event.type === "input.accepted");
  await erasePayloadOf(store, runtime.holder, session.id, input?.seq ?? 0);

  const reading = await postgresStore({ url: url.replace("pawl_worker", "pawl_reader"), connections: 2 });
  const reader = await openSession({ ...runtime, store: reading }, session.id);
  assert.deepEqual(await reader.entries(), await session.entries());
  for await (const { seq } of reader.follow({ signal: AbortSignal.timeout(30_000) })) if (seq >= 1) break;
  await assert.rejects(reader.post("input", "no"), { code: "STORE_UNAVAILABLE", message: /permission denied/ });
  await reading.close();

  const blob = await store.putBlob(new Uint8Array([1]));
  assert.equal(await store.dropBlobs([blob], Number.MAX_SAFE_INTEGER), 1);
  assert.equal((await prune(runtime, { olderThanMs: 0 })).deleted.length, 1);
  await store.close();

  const worker = postgres(url, { max: 1 });
  for (const change of ["ALTER TABLE pawl.session ADD COLUMN x int", "DROP TABLE pawl.record", "TRUNCATE pawl.record"])
    await assert.rejects(worker.unsafe(change), { code: "42501" });
  await worker.end();
});
