/**
 * The database goes away while worker processes drive: shut down, or killed. They wait and
 * go on: every input ends as completed, no side effect twice, the laws hold.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { postgresStore } from "../src/index.ts";
import { allEnded, Fleet, makeSessions } from "./fleet.ts";
import { actsPerTurn } from "./fleet-agent.ts";
import { PostgresServer } from "./server.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-outage-"));
const server = await PostgresServer.start();
after(async () => {
  await server.end();
  await rm(root, { recursive: true, force: true });
});

const sessions = 8;
const inputs = 1;
const whole = sessions * inputs * actsPerTurn;

describe("L3 L4 L7 L8: two workers whose database is", () => {
  for (const [signal, word] of [
    ["SIGINT", "shut down fast"],
    ["SIGKILL", "killed, and recovers, twice"],
  ] as const) {
    test(word, { timeout: 120_000 }, async () => {
      const url = server.url("postgres");
      const schema = server.schema();
      // Who looks on waits as long as it takes.
      const store = await postgresStore({ url, schema, patienceMs: 60_000 });
      const runtime = { store, effects: nodeEffects(), holder: thisHolder() };
      const fleet = new Fleet({ args: [`postgres:${url}`, schema], runtime }, join(root, schema), 5);
      try {
        const ids = await makeSessions(runtime, sessions, inputs);
        await Promise.all([fleet.start(), fleet.start()]);
        const ended = allEnded(runtime, ids, inputs);
        for (const share of signal === "SIGKILL" ? [0.2, 0.6] : [0.4]) {
          await fleet.reached(whole * share);
          await server.halt(signal);
          await server.boot();
        }
        await ended;
        await fleet.drain();
        const unknown = await fleet.unknown(ids);
        assert.equal(unknown, 0, "a worker that lives keeps what it drives, and records what it did");
        await fleet.reckon(ids, inputs);
      } finally {
        fleet.killAll();
        await store.close();
      }
    });
  }
});
