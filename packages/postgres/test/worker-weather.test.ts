/** Workers in bad weather: a slow network, and a clock of the database that jumps. No lease is lost by latency alone. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { createWorker, defineTool, openSession, type Runtime, verify } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { call, finish, noteRecords, say, scriptedModel } from "@pawl/core/testing";
import { type PostgresStoreOptions, postgresStore } from "../src/index.ts";
import { allEnded, Fleet, makeSessions } from "./fleet.ts";
import { Network } from "./network.ts";
import { PostgresServer } from "./server.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-weather-"));
const server = await PostgresServer.start();
after(async () => {
  await server.end();
  await rm(root, { recursive: true, force: true });
});

const effects = nodeEffects();
const dayMs = 86_400_000;

describe("a slow network", () => {
  test("L8: 20 to 60 ms each way, 300 KB a second: all ends, and nobody takes over from anybody", {
    timeout: 90_000,
  }, async () => {
    const network = await Network.to(server.port);
    network.pace = { delayMs: () => 20 + Math.random() * 40, bytesPerSecond: 300_000 };
    const schema = server.schema();
    const store = await postgresStore({ url: server.url("postgres"), schema });
    const runtime = { store, effects, holder: thisHolder() };
    const url = `postgres:${server.url("postgres", network.port)}`;
    const fleet = new Fleet({ args: [url, schema], runtime }, join(root, "slow"), 5);
    try {
      const ids = await makeSessions(runtime, 8, 1);
      await Promise.all([fleet.start(), fleet.start()]);
      await allEnded(runtime, ids, 1);
      await fleet.drain();
      await fleet.reckon(ids, 1);
      for (const id of ids) {
        const epochs = (await (await openSession(runtime, id)).entries()).map(({ epoch }) => epoch);
        assert.deepEqual([...new Set(epochs)].length, 2, `${id}: its creation, and one driver`);
      }
    } finally {
      fleet.killAll();
      await store.close();
      await network.close();
    }
  });
});

/** Stores of two machines over one database, whose clock is ours. */
class Skies {
  offsetMs = 0;
  readonly #schema = server.schema();
  readonly #stores: { close(): Promise<void> }[] = [];

  async machine(host: string): Promise<Runtime> {
    const clock = { now: () => Date.now() + this.offsetMs, monotonic: () => performance.now() };
    const options: PostgresStoreOptions = { url: server.url("postgres"), schema: this.#schema, clock, connections: 3 };
    const store = await postgresStore({ ...options, isAlive: () => undefined });
    this.#stores.push(store);
    return { store, effects, holder: { ...thisHolder(), host } };
  }

  async close(): Promise<void> {
    for (const store of this.#stores) await store.close();
  }
}

describe("a clock of the database that jumps", () => {
  for (const [word, jumpMs] of [
    ["a day forward", dayMs],
    ["a day back", -dayMs],
  ] as const) {
    test(`L4 L8: ${word} while a body runs: it ran once, every turn ends, the laws hold`, {
      timeout: 60_000,
    }, async () => {
      const skies = new Skies();
      const machines = [await skies.machine("one"), await skies.machine("two")] as const;
      const [one] = machines;
      const ids = await makeSessions(one, 3, 1);
      const ran: string[] = [];
      const begun = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      const workers = machines.map((runtime) =>
        createWorker({
          runtime,
          pollMs: 20,
          agent: ({ id }) => {
            const act = defineTool({
              inputSchema: { type: "object" as const },
              execute: async () => {
                ran.push(id);
                if (ran.length === ids.length) begun.resolve();
                await gate.promise;
                return "did";
              },
            });
            const model = scriptedModel([]);
            model.doStream = (options) => {
              const hasResult = options.prompt.some(({ role }) => role === "tool");
              const parts = hasResult ? [...say("done"), finish()] : [...call("act", {}), finish("tool-calls")];
              return scriptedModel([parts]).doStream(options);
            };
            return { model, tools: { act } };
          },
        }),
      );
      await begun.promise;
      skies.offsetMs = jumpMs;
      const ended = allEnded(one, ids, 1);
      // Forward all leases have run out, and are taken over while the bodies run; back they go on.
      if (jumpMs > 0) await ended;
      gate.resolve();
      await ended;
      await Promise.all(workers.map((worker) => worker.drain()));
      assert.deepEqual(ran.sort(), ids);
      for (const id of ids) {
        const entries = await (await openSession(one, id)).entries();
        assert.deepEqual(
          verify(entries).flatMap(({ violations }) => violations),
          [],
        );
        const results = entries.flatMap(({ event }) => (event.type === "tool.settled" ? [event.output.code] : []));
        assert.deepEqual(results, [jumpMs > 0 ? "TOOL_OUTCOME_UNKNOWN" : undefined], id);
      }
      await skies.close();
    });
  }

  test("back, and a dead driver's lease: it counts anew from when it is asked for", { timeout: 20_000 }, async () => {
    const skies = new Skies();
    const { store, holder } = await skies.machine("one");
    await makeSessions({ store, effects, holder }, 1, 1);
    const ttlMs = 15_000;
    await store.claimWork({ ...holder, host: "dead" }, { limit: 1, ttlMs });
    skies.offsetMs = -dayMs;
    const other = await skies.machine("two");
    const claim = () => other.store.claimWork(other.holder, { limit: 1, ttlMs });
    assert.deepEqual(await claim(), []);
    skies.offsetMs += ttlMs + 1_000;
    assert.equal((await claim()).length, 1);
    await skies.close();
  });

  test("back: sessions still take turns, also those that were claimed in what is now the future", {
    timeout: 20_000,
  }, async () => {
    const skies = new Skies();
    const { store, holder } = await skies.machine("one");
    const ids = ["a", "b", "c"];
    for (const session of ids) {
      await store.create({ session, head: {}, records: noteRecords(session, 0, 0, "created") });
      await store.post(session, { id: "p", kind: "input", body: 1 });
    }
    const claim = async (): Promise<string> => {
      const [claimed] = await store.claimWork(holder, { limit: 1, ttlMs: 1_000 });
      assert.ok(claimed);
      await store.releaseLease(claimed.session, claimed.epoch);
      skies.offsetMs += 10;
      return claimed.session;
    };
    for (const _ of ids) await claim();
    skies.offsetMs -= dayMs;
    const order = [await claim(), await claim(), await claim()];
    assert.deepEqual(order.sort(), ids);
    await skies.close();
  });
});
