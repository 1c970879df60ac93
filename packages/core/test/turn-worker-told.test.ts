/** What a worker tells of itself: each claim once, each end of a claim once, in the order it happened. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PawlError } from "../src/error.ts";
import type { Store } from "../src/store/store.ts";
import { finish, say, call as toolCall } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { createSession, type Session } from "../src/turn/session.ts";
import { createWorker, type WorkerOptions } from "../src/turn/worker.ts";
import type { WorkerEvent } from "../src/turn/worker-event.ts";
import { agentOf, deferred, TurnWorld } from "./turn-world.ts";

const answer = () => [...say("done"), finish()];

/** Lets the world turn until `done`; the runner's timeout is the bound. */
async function until(world: TurnWorld, done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) {
    await world.effects.settle();
    world.effects.advance(50);
  }
}

async function posted(world: TurnWorld): Promise<Session> {
  const session = await createSession(world.process(), "s");
  await session.post("input", "do it");
  return session;
}

/** A worker and what it tells, a line each. */
function told(world: TurnWorld, agent: WorkerOptions["agent"], more: Partial<WorkerOptions> = {}) {
  const lines: string[] = [];
  const on = (event: WorkerEvent) => {
    const about = "session" in event ? ` ${event.session}` : "";
    const open = event.type === "claimed" && event.takesOver !== undefined ? " open" : "";
    const outcome = event.type === "ended" ? ` ${event.outcome.type}` : "";
    const error = "error" in event ? `: ${(event.error as Error).message}` : "";
    lines.push(event.type + about + open + outcome + error);
  };
  return { lines, worker: createWorker({ runtime: world.process(), agent, on, ...more }) };
}

/** The store of `world`, with one operation that `refuse` may fail. */
function refusing(world: TurnWorld, name: keyof Store, refuse: () => boolean): WorkerOptions["runtime"] {
  const runtime = world.process();
  const store = new Proxy(runtime.store, {
    get(target, key) {
      const value = Reflect.get(target, key) as unknown;
      if (typeof value !== "function") return value;
      if (key !== name) return value.bind(target) as unknown;
      return (...args: unknown[]) => {
        if (refuse()) return Promise.reject(new PawlError("STORE_UNAVAILABLE", "nobody answers"));
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  return { ...runtime, store };
}

describe("a worker tells", { timeout: 20_000 }, () => {
  test("a turn: claimed, ended, released", async () => {
    const world = new TurnWorld();
    await posted(world);
    const { lines, worker } = told(world, () => agentOf([answer()]));
    await until(world, () => lines.length >= 3);
    await worker.drain();
    assert.deepEqual(lines, ["claimed s", "ended s completed", "released s"]);
  });

  test("L7: a drain in the middle of a turn, and the claim that goes on there", async () => {
    const world = new TurnWorld();
    await posted(world);
    const entered = deferred();
    const gate = deferred();
    const act = defineTool({
      inputSchema: { type: "object" },
      execute: async () => {
        entered.resolve();
        await gate.promise;
        return "ok";
      },
    });
    const first = told(world, () =>
      agentOf([[...toolCall("act", {}), finish("tool-calls")], answer()], { tools: { act } }),
    );
    await world.effects.run(entered.promise);
    const drained = first.worker.drain();
    gate.resolve();
    await world.effects.run(drained);
    assert.deepEqual(first.lines, ["claimed s", "handed-over s"]);
    const second = told(world, () => agentOf([answer()], { tools: { act } }));
    await until(world, () => second.lines.length >= 3);
    await second.worker.drain();
    assert.deepEqual(second.lines, ["claimed s open", "ended s completed", "released s"]);
  });

  test("a session that cannot be driven: parked, and why", async () => {
    const world = new TurnWorld();
    await posted(world);
    const { lines, worker } = told(world, () => {
      throw new Error("its folder is not here");
    });
    await until(world, () => lines.length >= 2);
    await worker.drain();
    assert.deepEqual(lines, ["claimed s", "parked s: its folder is not here"]);
  });

  test("a store that is away, once, and that it is back", async () => {
    const world = new TurnWorld();
    await posted(world);
    let refusals = 3;
    const runtime = refusing(world, "claimWork", () => refusals-- > 0);
    const { lines, worker } = told(world, () => agentOf([answer()]), { runtime });
    await until(world, () => lines.length >= 5);
    await worker.drain();
    assert.deepEqual(lines, [
      "store-away: nobody answers",
      "store-back",
      "claimed s",
      "ended s completed",
      "released s",
    ]);
  });

  test("a drive that breaks off with the store is lost, not handed over", async () => {
    const world = new TurnWorld();
    await posted(world);
    let away = false;
    const runtime = refusing(world, "append", () => away);
    const { lines, worker } = told(
      world,
      () => {
        away = true;
        return agentOf([answer()]);
      },
      { runtime },
    );
    await until(world, () => lines.some((line) => line.startsWith("lost")));
    await worker.drain();
    assert.deepEqual(lines.slice(0, 3), ["claimed s", "store-away: nobody answers", "lost s: nobody answers"]);
  });

  test("what is said live, to whoever subscribes with the claim; a listener that throws stops nothing", async () => {
    const world = new TurnWorld();
    const session = await posted(world);
    const types: string[] = [];
    const over = deferred();
    const worker = createWorker({
      runtime: world.process(),
      agent: () => agentOf([answer()]),
      on(event) {
        if (event.type !== "claimed") throw new Error("not mine");
        void (async () => {
          for await (const item of event.live) types.push(item.type === "entry" ? item.entry.event.type : item.type);
          over.resolve();
        })();
      },
    });
    await world.effects.run(over.promise);
    await worker.drain();
    assert.deepEqual(types[0], "input.accepted");
    assert.ok(types.includes("part.delta"));
    assert.deepEqual(types.at(-1), "turn.ended");
    assert.equal((await session.summary())?.head.outcome, "completed");
  });
});
