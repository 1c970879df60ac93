/** Retention on PostgreSQL, beside a worker and people who go on posting. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { collectBlobs, createSession, createWorker, isPawlError, prune } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import postgres from "postgres";
import { postgresStore } from "../src/index.ts";
import { PostgresServer } from "./server.ts";

const server = await PostgresServer.start();
const url = server.url("postgres");
const sql = postgres(url, { max: 1, onnotice: () => {} });
after(async () => {
  await sql.end({ timeout: 1 });
  await server.end();
});

async function open(schema: string) {
  const store = await postgresStore({ url, schema, connections: 4 });
  return { store, effects: nodeEffects(), holder: thisHolder() };
}

describe("pruning", () => {
  test("L3: beside a worker, everything that was accepted is acted on before its session goes", {
    timeout: 120_000,
  }, async () => {
    const schema = server.schema();
    const [people, working, pruning] = await Promise.all([open(schema), open(schema), open(schema)]);
    const asked = new Set<string>();
    const accepted = new Set<string>();
    const model = scriptedModel([]);
    const worker = createWorker({
      runtime: working,
      agent: () => ({
        model: {
          ...model,
          doStream: (options) => {
            for (const [word] of JSON.stringify(options.prompt).matchAll(/post-\d+-\d+/g)) asked.add(word);
            return scriptedModel([[...say("done"), finish()]]).doStream(options);
          },
        },
      }),
      wake: (notify) => working.store.watchWork(notify),
    });
    const talk = async (n: number) => {
      const session = await createSession(people, `s${n}`).catch(() => undefined);
      for (let nth = 0; session && nth < 6; nth += 1) {
        try {
          await session.post("input", `post-${n}-${nth}`);
          accepted.add(`post-${n}-${nth}`);
        } catch (error) {
          // It has gone, and says so.
          assert.ok(isPawlError(error, "SESSION_NOT_FOUND"), String(error));
          return;
        }
      }
    };
    let talking = true;
    const talks = (async () => {
      for (let n = 0; n < 40; n += 4) await Promise.all([0, 1, 2, 3].map((more) => talk(n + more)));
      talking = false;
    })();
    let deleted = 0;
    while (talking || (await people.store.list()).length > 0)
      deleted += (await prune(pruning, { olderThanMs: 0 })).deleted.length;
    await talks;
    assert.equal(deleted, 40);
    assert.deepEqual(
      [...accepted].filter((word) => !asked.has(word)),
      [],
    );
    assert.ok(accepted.size > 0);
    await worker.drain();
    for (const { store } of [people, working, pruning]) await store.close();
    for (const table of ["record", "mail", "post", "partial", "snapshot", "name"]) {
      const [row] = await sql.unsafe(`SELECT count(*)::int AS left FROM ${schema}.${table}`);
      assert.equal(row?.["left"], 0, table);
    }
  });

  test("a blob that is put again while it is dropped is there, whoever comes first", { timeout: 120_000 }, async () => {
    const schema = server.schema();
    const { store } = await open(schema);
    const bytes = new Uint8Array([1]);
    let dropped = 0;
    for (let round = 0; round < 30; round += 1) {
      const name = await store.putBlob(bytes);
      await sql.unsafe(`UPDATE ${schema}.blob SET put_at = 1`);
      const before = Date.now() - 60_000;
      const both = [() => store.dropBlobs([name], before), () => store.putBlob(bytes)];
      const order = round % 2 === 0 ? both : both.toReversed();
      const [went] = await Promise.all(order.map((work) => work()));
      dropped += went === 1 ? 1 : 0;
      assert.ok(await store.getBlob(name), `round ${round}`);
    }
    assert.deepEqual(await store.oldBlobs({ before: Date.now() - 60_000 }), []);
    assert.ok(dropped > 0);
    await store.close();
  });

  test("blobs that nobody names go, those that a log or a post names stay", async () => {
    const runtime = await open(server.schema());
    const { store } = runtime;
    const names = await Promise.all([1, 2, 3].map((n) => store.putBlob(new Uint8Array([n]))));
    const [inLog = "", inPost = "", ofNobody = ""] = names;
    const session = await createSession(runtime, undefined, { labels: { blob: inLog } });
    await session.post("input", [{ type: "file", mediaType: "image/png", blob: inPost }]);
    assert.deepEqual(await collectBlobs(runtime), { old: 0, removed: 0 }, "all of them are young");
    const { clock } = runtime.effects;
    const tomorrow = { ...clock, now: () => clock.now() + 90_000_000, monotonic: () => clock.monotonic() };
    const effects = { ...runtime.effects, clock: tomorrow };
    assert.deepEqual(await collectBlobs({ ...runtime, effects }), { old: 3, removed: 1 });
    assert.equal(await store.getBlob(ofNobody), undefined);
    assert.ok((await store.getBlob(inLog)) && (await store.getBlob(inPost)));
    await store.close();
  });
});
