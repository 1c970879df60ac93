/** Through a real PgBouncer in transaction mode: the store contract, two workers, a follower; and what a wrong mode says. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openSession } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { storeContract } from "@pawl/core/testing";
import pg from "pg";
import { postgresStore } from "../src/index.ts";
import { Bouncer, noBouncer } from "./bouncer.ts";
import { allEnded, Fleet, makeSessions } from "./fleet.ts";
import { PostgresServer } from "./server.ts";

if (noBouncer !== undefined) test("through PgBouncer", { skip: noBouncer }, () => {});
else await throughBouncer();

async function throughBouncer(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "pawl-pooler-"));
  const server = await PostgresServer.start();
  const bouncer = await Bouncer.before(server.port);
  const url = server.url("postgres", bouncer.port);
  after(async () => {
    await bouncer.end();
    await server.end();
    await rm(root, { recursive: true, force: true });
  });

  storeContract("postgres, through PgBouncer", async ({ clock, isAlive }) => {
    const options = { url, schema: server.schema(), connections: 4, mode: "pooled" as const, clock, isAlive };
    let store = await postgresStore(options);
    const first = store;
    const reopen = async () => {
      await store.close();
      store = await postgresStore(options);
      return store;
    };
    return { store: first, reopen, close: () => store.close() };
  });

  describe("through PgBouncer", () => {
    test("L3 L4 L8: two workers with more connections than it has end every input; a follower sees every fact", {
      timeout: 60_000,
    }, async () => {
      const schema = server.schema();
      const store = await postgresStore({ url, schema, mode: "pooled" });
      const runtime = { store, effects: nodeEffects(), holder: thisHolder() };
      const fleet = new Fleet({ args: [`pooled:${url}`, schema], runtime }, join(root, "effects"), 5);
      try {
        const ids = await makeSessions(runtime, 8, 1);
        const end = new AbortController();
        const followed = (async () => {
          const seqs: number[] = [];
          for await (const { seq, event } of (await openSession(runtime, "s0")).follow({ signal: end.signal })) {
            seqs.push(seq);
            if (event.type === "turn.ended") return seqs;
          }
          return seqs;
        })();
        await Promise.all([fleet.start(), fleet.start()]);
        await allEnded(runtime, ids, 1);
        const seqs = await followed;
        assert.deepEqual(
          seqs,
          seqs.map((_, at) => at + 1),
        );
        await fleet.drain();
        await fleet.reckon(ids, 1);
      } finally {
        fleet.killAll();
        await store.close();
      }
    });

    test("a mode that takes it for the server itself is refused, and says what to do", {
      timeout: 20_000,
    }, async () => {
      const refused = { code: "INVALID_INPUT", message: /pooler.*mode "pooled"/ };
      await assert.rejects(postgresStore({ url, schema: server.schema() }), refused);
      const pool = new pg.Pool({ connectionString: url, max: 3 });
      pool.on("error", () => {});
      await assert.rejects(postgresStore({ pool, schema: server.schema() }), refused);
      const store = await postgresStore({ pool, schema: server.schema(), mode: "pooled" });
      await store.close();
      await pool.end();
    });
  });
}
