/** Store and queue behind a transaction pooler, where neither hears of anything: the queue's jobs wake the worker. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSession, createWorker } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import { postgresStore } from "@pawl/postgres";
import { Bouncer, noBouncer } from "../../postgres/test/bouncer.ts";
import { PostgresServer } from "../../postgres/test/server.ts";
import { postQueue } from "../src/index.ts";
import { startBoss, until } from "./ground.ts";

test("through PgBouncer a delayed input is posted, wakes the worker, and its turn ends", {
  skip: noBouncer ?? false,
  timeout: 120_000,
}, async () => {
  const server = await PostgresServer.start();
  const bouncer = await Bouncer.before(server.port);
  try {
    const url = server.url("postgres", bouncer.port);
    const store = await postgresStore({ url, mode: "pooled", connections: 4 });
    const runtime = { store, effects: nodeEffects(), holder: thisHolder() };
    const boss = await startBoss(url);
    const posts = await postQueue({ boss, runtime });
    const stop = await posts.work({ pollSeconds: 0.5 });
    const agent = () => ({ model: scriptedModel([[...say("done"), finish()]]) });
    const worker = createWorker({ runtime, agent, wake: posts.wake, pollMs: 3_600_000 });
    const session = await createSession(runtime);
    await posts.send(session.id, { input: "in a moment" }, { after: 1 });
    await until(async () => (await session.summary())?.head.outcome);
    assert.equal((await session.summary())?.head.outcome, "completed");
    await stop();
    await worker.drain();
    await boss.stop({ graceful: false });
    await store.close();
  } finally {
    await bouncer.end();
    await server.end();
  }
});
