import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isPawlError } from "../src/error.ts";
import { limit } from "../src/limit.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { openSession } from "../src/turn/session.ts";
import {
  agentOf,
  assertLawful,
  deferred,
  eventsOf,
  sleepBehindAnnouncement,
  TurnWorld,
  typesOf,
} from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];

describe("lease", () => {
  test("L8: a second run while one drives is refused as busy, and leaves no input behind", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const gate = deferred();
    const turn = session.run(agentOf([[{ until: gate.promise }, ...answer]]), "go");
    await world.effects.settle();
    for (const again of [session, await world.open()]) {
      await assert.rejects(again.run(agentOf([answer]), "me too").result, (error) =>
        isPawlError(error, "SESSION_BUSY"),
      );
      await assert.rejects(again.resume(agentOf([answer])).result, (error) => isPawlError(error, "SESSION_BUSY"));
    }
    gate.resolve();
    assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "completed" });
    assert.equal(world.accepted().length, 1);
  });

  test("L8: a driver that was taken over stops its bodies and says no further word", async () => {
    const world = new TurnWorld();
    await world.session();
    const stale = world.process();
    const entered = deferred();
    let told = false;
    const act = defineTool({
      inputSchema: schema,
      execute: async (_, { signal }) => {
        entered.resolve();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        told = true;
        return "too late";
      },
    });
    const turn = (await openSession(stale, "s")).run(
      agentOf([[...call("act", {}), finish()]], { tools: { act } }),
      "go",
    );
    await entered.promise;
    stale.die();
    const session = await world.open();
    await world.effects.run(session.resume(agentOf([answer], { tools: { act } })).result);
    const before = await session.entries();
    await assert.rejects(world.effects.run(turn.result), (error) => isPawlError(error, "FENCED"));
    assert.ok(told, "the body heard of it");
    assert.deepEqual(await session.entries(), before);
    assert.equal(eventsOf(before, "tool.settled")[0]?.output.code, "TOOL_OUTCOME_UNKNOWN");
    assertLawful(before);
  });

  test("L8: a process that slept past its lease appends nothing, although nobody took over", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const gate = deferred();
    const turn = session.run(agentOf([[{ until: gate.promise }, ...answer]]), "go");
    turn.result.catch(() => {});
    await world.effects.settle();
    const before = await session.entries();
    world.effects.advance(limit.leaseMs * 4);
    // What it asked for before it slept is answered first: an append would ask for the lease again.
    await world.effects.settle();
    gate.resolve();
    await assert.rejects(world.effects.run(turn.result), (error) => isPawlError(error, "FENCED"));
    assert.deepEqual(await session.entries(), before);
    assert.equal(world.effects.waiting, 0);
  });

  for (const steered of [false, true])
    test(`L8: a process that slept past its lease while its announcement was written sends no request (a steer waits: ${steered})`, async () => {
      const world = new TurnWorld();
      const session = await world.session();
      sleepBehindAnnouncement(world);
      if (steered) await session.post("steer", "left, please");
      const agent = agentOf([answer]);
      await assert.rejects(world.effects.run(session.run(agent, "go").result), { code: "FENCED" });
      assert.equal(typesOf(await session.entries()).at(-1), "attempt.started");
      assert.deepEqual(agent.model.requests, []);
    });

  test("L8: a store that never answers keeps no body running past its lease", async () => {
    const world = new TurnWorld();
    await world.session();
    let isMute = false;
    const mute = new Proxy(world.store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        if (name === "watch") return member.bind(target);
        return (...given: unknown[]) => (isMute ? new Promise(() => {}) : Reflect.apply(member, target, given));
      },
    });
    const entered = deferred();
    let stoppedAt: number | undefined;
    const act = defineTool({
      inputSchema: schema,
      execute: async (_, { signal }) => {
        entered.resolve();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        stoppedAt = world.effects.time;
        return "stopped";
      },
    });
    const session = await openSession(world.process(mute), "s");
    const turn = session.run(agentOf([[...call("act", {}), finish()]], { tools: { act } }), "go");
    turn.result.catch(() => {});
    const began = world.effects.time;
    await entered.promise;
    isMute = true;
    while (stoppedAt === undefined && world.effects.time < began + limit.leaseMs * 2) {
      await world.effects.settle();
      world.effects.advance(100);
    }
    assert.ok(stoppedAt !== undefined && stoppedAt <= began + limit.leaseMs, `stopped at ${stoppedAt} of ${began}`);
  });

  test("R62: a dead driver's turn reads as interrupted, and ends exactly once", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process();
    const turn = (await openSession(process, "s")).run(agentOf([[...say("one"), { silence: true }]]), "go");
    turn.result.catch(() => {});
    await world.effects.settle();
    process.die();
    const session = await world.open();
    const summary = await session.summary();
    assert.ok(summary?.head.openTurn !== undefined && summary.lease === undefined, "open, and nobody drives");
    await world.effects.run(session.run(agentOf([answer]), "and?").result);
    const entries = await session.entries();
    assert.deepEqual(
      eventsOf(entries, "turn.ended").map((event) => event.outcome.type),
      ["interrupted", "completed"],
    );
    assert.equal(typesOf(entries).filter((type) => type === "step.ended").length, 2);
    assertLawful(entries);
  });
});
