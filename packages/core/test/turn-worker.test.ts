/** Workers: claims, places, turns in turn, handing over, parking. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PawlError } from "../src/error.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { finish, say, call as toolCall } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { createSession, forkSession, type Session } from "../src/turn/session.ts";
import { createWorker, type Worker, type WorkerOptions } from "../src/turn/worker.ts";
import { agentOf, assertLawful, deferred, eventsOf, TurnWorld } from "./turn-world.ts";

const answer = () => [...say("done"), finish()];

function worker(world: TurnWorld, agent: WorkerOptions["agent"], more: Partial<WorkerOptions> = {}): Worker {
  return createWorker({ runtime: world.process(), agent, ...more });
}

/** Lets the world turn until `done`; the runner's timeout is the bound. */
async function until(world: TurnWorld, done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) {
    await world.effects.settle();
    world.effects.advance(50);
  }
}

async function ended(session: Session): Promise<number> {
  return eventsOf(await session.entries(), "turn.ended").length;
}

async function sessions(world: TurnWorld, count: number, inputs = 1): Promise<Session[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const session = await createSession(world.process(), `s${index}`);
      for (let nth = 0; nth < inputs; nth += 1) await session.post("input", `input ${nth}`);
      return session;
    }),
  );
}

describe("a worker", () => {
  test("drives what was posted, by anybody, at any time, and gives it back", { timeout: 20_000 }, async () => {
    const world = new TurnWorld();
    const [one] = await sessions(world, 1);
    assert.ok(one);
    const driver = worker(world, () => agentOf(Array(9).fill(answer())));
    await until(world, async () => (await ended(one)) === 1);
    await one.post("input", "another");
    await until(world, async () => (await ended(one)) === 2);
    await until(world, async () => (await one.summary())?.lease === undefined);
    assertLawful(await one.entries());
    await driver.drain();
    await one.post("input", "to nobody");
    world.effects.advance(60_000);
    await world.effects.settle();
    assert.equal(await ended(one), 2);
  });

  test("never drives more than its places, and another worker takes what is left", { timeout: 20_000 }, async () => {
    const world = new TurnWorld();
    const all = await sessions(world, 5);
    const gate = deferred();
    const tool = defineTool({
      inputSchema: { type: "object" },
      locks: () => [],
      execute: () => gate.promise.then(() => "ok"),
    });
    const agent = (): Agent =>
      agentOf([[...toolCall("wait", {}), finish("tool-calls")], answer()], { tools: { wait: tool } });
    const first = worker(world, agent, { concurrency: 2 });
    await until(world, () => first.driving.length === 2);
    const second = worker(world, agent, { concurrency: 2 });
    await until(world, () => second.driving.length === 2);
    assert.equal(new Set([...first.driving, ...second.driving]).size, 4);
    gate.resolve();
    for (const session of all) await until(world, async () => (await ended(session)) === 1);
    await Promise.all([first.drain(), second.drain()]);
  });

  test("a claim opens one turn: inputs of many sessions take turns", { timeout: 20_000 }, async () => {
    const world = new TurnWorld();
    const [one] = await sessions(world, 1, 3);
    assert.ok(one);
    const epochs = async () => eventsOf(await one.entries(), "turn.started").length;
    const driver = worker(world, () => agentOf(Array(9).fill(answer())), { concurrency: 1 });
    await until(world, async () => (await ended(one)) === 3);
    assert.equal(await epochs(), 3);
    const starts = (await one.entries()).filter(({ event }) => event.type === "turn.started");
    assert.deepEqual(
      starts.map(({ epoch }) => epoch),
      [1, 2, 3],
    );
    await driver.drain();
  });

  test("L7: drained between two steps the turn stays open, and the next worker goes on inside it", {
    timeout: 20_000,
  }, async () => {
    const world = new TurnWorld();
    const [one] = await sessions(world, 1);
    assert.ok(one);
    let entered = 0;
    const gate = deferred();
    const tool = defineTool({
      inputSchema: { type: "object" },
      execute: async () => {
        entered += 1;
        await gate.promise;
        return "ok";
      },
    });
    const first = worker(world, () =>
      agentOf([[...toolCall("act", {}), finish("tool-calls")], answer()], { tools: { act: tool } }),
    );
    await until(world, () => entered === 1);
    const drained = first.drain();
    gate.resolve();
    await world.effects.run(drained);
    const summary = await one.summary();
    assert.ok(summary?.head.openTurn);
    assert.equal(summary.lease, undefined);
    const second = worker(world, () => agentOf([answer()], { tools: { act: tool } }));
    await until(world, async () => (await ended(one)) === 1);
    await second.drain();
    const entries = await one.entries();
    assertLawful(entries);
    assert.equal(entered, 1);
    assert.equal(eventsOf(entries, "turn.ended")[0]?.outcome.type, "completed");
    assert.equal(eventsOf(entries, "turn.started").length, 1);
  });

  test("a drain with a grace returns while a body still runs", { timeout: 20_000 }, async () => {
    const world = new TurnWorld();
    await sessions(world, 1);
    const gate = deferred();
    let entered = 0;
    const tool = defineTool({
      inputSchema: { type: "object" },
      execute: async () => {
        entered += 1;
        await gate.promise;
      },
    });
    const driver = worker(world, () =>
      agentOf([[...toolCall("act", {}), finish("tool-calls")], answer()], { tools: { act: tool } }),
    );
    await until(world, () => entered === 1);
    await world.effects.run(driver.drain({ graceMs: 1_000 }));
    assert.deepEqual(driver.driving, ["s0"]);
    gate.resolve();
    await until(world, () => driver.driving.length === 0);
  });

  test("a session that cannot be driven is parked, said once, and tried again when its lease has run out or after news", {
    timeout: 20_000,
  }, async () => {
    const world = new TurnWorld();
    const [one] = await sessions(world, 1);
    assert.ok(one);
    const said: unknown[] = [];
    let asked = 0;
    const driver = worker(
      world,
      () => {
        asked += 1;
        if (asked < 3) throw new Error("no agent for this one");
        return agentOf([answer(), answer()]);
      },
      { onError: (error, session) => said.push(`${session}: ${(error as Error).message}`) },
    );
    await until(world, () => said.length === 1);
    for (let turn = 0; turn < 20; turn += 1) {
      await world.effects.settle();
      world.effects.advance(100);
    }
    assert.equal(asked, 1);
    await one.post("input", "news");
    await until(world, () => asked === 2);
    await until(world, async () => (await ended(one)) === 2);
    assert.deepEqual(said, Array(2).fill("s0: no agent for this one"));
    await driver.drain();
  });

  test("drained while a session is being parked, it keeps neither the lease nor a timer", {
    timeout: 20_000,
  }, async () => {
    const world = new TurnWorld();
    const [one] = await sessions(world, 1);
    assert.ok(one);
    const [asked, gate] = [deferred(), deferred()];
    const mailbox = async (session: string) => {
      asked.resolve();
      await gate.promise;
      return world.store.mailbox(session);
    };
    const store = new Proxy(world.store, {
      get(target, name) {
        const member: unknown = name === "mailbox" ? mailbox : Reflect.get(target, name);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
    const agent = () => Promise.reject(new Error("no agent for this one"));
    const driver = createWorker({ runtime: world.process(store), agent });
    await world.effects.run(asked.promise);
    const drained = driver.drain();
    await world.effects.settle();
    gate.resolve();
    await world.effects.run(drained);
    assert.equal((await one.summary())?.lease, undefined);
    assert.equal(world.effects.waiting, 0);
  });

  test("who hears of errors and throws stops nothing", { timeout: 20_000 }, async () => {
    const world = new TurnWorld();
    const [one] = await sessions(world, 1);
    assert.ok(one);
    let asked = 0;
    const agent = () => {
      asked += 1;
      if (asked === 1) throw new Error("no agent for this one");
      return agentOf([answer()]);
    };
    const onError = () => {
      throw new Error("who hears of it fails");
    };
    const driver = worker(world, agent, { onError });
    await until(world, async () => (await ended(one)) === 1);
    await driver.drain();
  });

  test("a post that nobody waits for is not claimed in a loop", { timeout: 20_000 }, async () => {
    const world = new TurnWorld();
    const [one] = await sessions(world, 1, 0);
    assert.ok(one);
    await world.store.post("s0", { id: "odd", kind: "edit", body: { input: "nobody", content: [] } });
    const driver = worker(world, () => agentOf([answer()]));
    for (let turn = 0; turn < 100; turn += 1) {
      await world.effects.settle();
      world.effects.advance(100);
    }
    assert.ok(((await one.summary())?.epoch ?? 0) <= 2);
    await driver.drain();
  });

  test("a session whose lease ran out under a deaf body is gone on with when that has ended, and only then", {
    timeout: 20_000,
  }, async () => {
    const world = new TurnWorld();
    const [one] = await sessions(world, 1);
    assert.ok(one);
    const runtime = world.process();
    let away = false;
    const store = new Proxy(runtime.store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        return (...given: unknown[]) => {
          if (away && name === "renewLease") return Promise.reject(new PawlError("STORE_UNAVAILABLE", "away"));
          return Reflect.apply(member, target, given);
        };
      },
    });
    const gates = [deferred(), deferred()];
    const told: string[] = [];
    let entered = 0;
    const act = defineTool({
      inputSchema: { type: "object" },
      effect: "idempotent",
      execute: async () => {
        const gate = gates[entered];
        entered += 1;
        away = entered === 1;
        await gate?.promise;
        return "ok";
      },
    });
    const agent = (): Agent =>
      agentOf([...(entered === 0 ? [[...toolCall("act", {}), finish("tool-calls")]] : []), answer()], {
        tools: { act },
        toolGraceMs: 60_000,
      });
    const driver = createWorker({ runtime: { ...runtime, store }, agent, on: ({ type }) => void told.push(type) });
    await until(world, () => entered === 1);
    await until(world, async () => ((await one.summary())?.epoch ?? 0) > 1);
    away = false;
    assert.deepEqual(told, ["claimed"], "the first drive has not ended");
    gates[0]?.resolve();
    await until(world, () => entered === 2);
    assert.deepEqual(told, ["claimed", "lost", "claimed"]);
    assert.deepEqual(driver.driving, ["s0"]);
    let left = false;
    const drained = driver.drain().then(() => {
      left = true;
    });
    await world.effects.settle();
    assert.equal(left, false, "what is driven is waited for");
    gates[1]?.resolve();
    await world.effects.run(drained);
    assertLawful(await one.entries());
  });

  test("L3: a session that no worker would claim, by its id, is not made", async () => {
    const world = new TurnWorld();
    const runtime = world.process();
    await createSession(runtime, "tasks");
    const refused = { code: "INVALID_INPUT", message: /begin with task_ are those of tasks/ };
    await assert.rejects(createSession(runtime, "task_clean"), refused);
    await assert.rejects(forkSession(runtime, { session: "tasks", seq: 1 }, "task_clean"), refused);
    assert.equal((await world.store.list()).length, 1);
  });

  test("a figure with which nothing would be done is refused", () => {
    const world = new TurnWorld();
    for (const more of [{ concurrency: 0 }, { pollMs: Number.NaN }])
      assert.throws(() => worker(world, () => agentOf([]), more), { code: "INVALID_INPUT" });
  });

  for (const where of ["before", "after"] as const) {
    test(`L3: a store that is away for one append (${where} it) costs no turn, and no result that is there`, {
      timeout: 20_000,
    }, async () => {
      for (let append = 1; ; append += 1) {
        const world = new TurnWorld();
        const [session] = await sessions(world, 1);
        assert.ok(session);
        let acts = 0;
        const act = defineTool({ inputSchema: { type: "object" }, execute: () => `did ${++acts}` });
        const agent = (): Agent => {
          const did = acts > 0;
          return agentOf([...(did ? [] : [[...toolCall("act", {}), finish("tool-calls")]]), answer(), answer()], {
            tools: { act },
          });
        };
        const store = faultyStore(world.store, { append, where, lasts: "once" });
        const driver = createWorker({ runtime: world.process(store), agent });
        await until(world, async () => (await ended(session)) === 1);
        await driver.drain();
        const entries = await session.entries();
        assertLawful(entries);
        const [end] = eventsOf(entries, "turn.ended");
        assert.equal(end?.outcome.type, "completed", `append ${append}`);
        // Entered, and not begun since nobody knew: then its outcome is unknown, and it has not happened.
        const results = eventsOf(entries, "tool.settled").map(({ output }) => output.code ?? "done");
        assert.equal(results.filter((result) => result === "done").length, acts, `append ${append}: ${results}`);
        assert.ok(acts <= 1);
        if (!store.failed) break;
      }
    });
  }
});
