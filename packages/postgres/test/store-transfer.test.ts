/** Sessions move between SQLite and PostgreSQL unchanged. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { exportSession, forkSession, importSession, openSession, type Store, verify } from "@pawl/core";
import { nodeEffects, openRuntime, thisHolder } from "@pawl/core/node";
import { call, finish, noteRecords, say, scriptedModel } from "@pawl/core/testing";
import { postgresStore } from "../src/index.ts";
import { makeSessions } from "./fleet.ts";
import { PostgresServer } from "./server.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-transfer-"));
const server = await PostgresServer.start();
after(async () => {
  await server.end();
  await rm(root, { recursive: true, force: true });
});

const effects = nodeEffects();
const open = {
  sqlite: async () => openRuntime({ dir: await mkdtemp(join(root, "store-")) }),
  postgres: async () => {
    const store = await postgresStore({ url: server.url("postgres"), schema: server.schema() });
    return { store, effects, holder: thisHolder() };
  },
};

async function exported(store: Store, session: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportSession(store, session)) lines.push(line);
  return lines;
}

describe("a session that is moved", () => {
  for (const [from, to] of [
    ["sqlite", "postgres"],
    ["postgres", "sqlite"],
    ["postgres", "postgres"],
  ] as const) {
    test(`from ${from} to ${to}: same records, same checksums, exported again the same lines; it goes on there`, async () => {
      const [source, target] = [await open[from](), await open[to]()];
      const agent = () => ({
        model: scriptedModel([
          [...call("look", {}), finish("tool-calls")],
          [...say("seen ✓ \u0000"), finish()],
        ]),
        tools: { look: { inputSchema: { type: "object" as const }, execute: () => "a door" } },
      });
      await makeSessions(source, 1, 0);
      await (await openSession(source, "s0")).run(agent(), "look").result;
      const fork = await forkSession(source, { session: "s0", seq: 6 }, "fork");
      await fork.run(agent(), "again").result;
      for (const id of ["s0", "fork"]) {
        const lines = await exported(source.store, id);
        assert.equal(await importSession(target.store, lines, { now: 1 }), id);
        assert.deepEqual(await target.store.read(id), await source.store.read(id));
        assert.deepEqual(await exported(target.store, id), lines);
        const moved = await openSession(target, id);
        await moved.run(agent(), "and here").result;
        const broken = verify(await moved.entries()).flatMap(({ violations }) => violations);
        assert.deepEqual(broken, []);
      }
      await Promise.all([source.store.close(), target.store.close()]);
    });
  }

  test("an import that breaks off in the middle leaves nothing, and its id is free", async () => {
    const { store } = await open.postgres();
    const records = noteRecords("s", 0, 0, ...Array.from({ length: 50 }, String));
    async function* broken() {
      yield records.slice(0, 30);
      throw new Error("the line is dead");
    }
    await assert.rejects(store.restore({ session: "s", head: {}, batches: broken() }));
    assert.equal(await store.get("s"), undefined);
    await store.create({ session: "s", head: {}, records: records.slice(0, 1) });
    await store.close();
  });

  test("what somebody makes under its id meanwhile stays, and the import is refused", async () => {
    const { store } = await open.postgres();
    const records = noteRecords("s", 0, 0, "one", "two");
    async function* slow() {
      yield records.slice(0, 1);
      await store.create({ session: "s", head: {}, records: noteRecords("s", 0, 0, "mine") });
      yield records.slice(1);
    }
    await assert.rejects(store.restore({ session: "s", head: {}, batches: slow() }), { code: "SESSION_EXISTS" });
    assert.equal((await store.read("s")).length, 1);
    await store.close();
  });
});
