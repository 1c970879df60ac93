import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isPawlError } from "../src/error.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { finish, say } from "../src/testing/model.ts";
import { forkSession, openSession } from "../src/turn/session.ts";
import { sampler } from "./ground.ts";
import { Outside, play, scenarios, toolsOf } from "./turn-scenario.ts";
import { agentOf, assertLawful, eventsOf, TurnWorld } from "./turn-world.ts";

const answer = () =>
  agentOf([
    [...say("forked"), finish()],
    [...say("forked"), finish()],
  ]);

describe("fork", () => {
  const isSampled = sampler();
  for (const scenario of scenarios) {
    test(`R42: ${scenario.title}: forked at every seq, driven, the parent untouched`, async () => {
      const world = new TurnWorld();
      const other = await world.session();
      const stage = { world, session: await world.open(), other, outside: new Outside() };
      await play(stage, scenario);
      const parent = await other.entries();
      const ran = new Map(stage.outside.entered);
      for (let seq = 1; seq <= parent.length; seq += 1) {
        if (!isSampled()) continue;
        const child = await forkSession(world.process(), { session: "s", seq }, `at-${seq}`);
        const agent = { ...answer(), tools: toolsOf(stage, scenario) };
        const result = await world.effects.run(child.run(agent, "here?").result);
        assert.equal(result.text, "forked", `at ${seq}`);
        assertLawful(await child.entries(), `at ${seq}`);
      }
      assert.deepEqual(await other.entries(), parent);
      assert.deepEqual(stage.outside.entered, ran, "L4: no body of the parent ran for a child");
    });
  }

  test("L4: a fork cut inside a turn never goes on inside it, and calls that its parent entered are unknown to it", async () => {
    const world = new TurnWorld();
    const other = await world.session();
    const scenario = scenarios.find((one) => one.title === "three tools at once") ?? assert.fail();
    const stage = { world, session: await world.open(), other, outside: new Outside() };
    await play(stage, scenario);
    const entries = await other.entries();
    const entered = entries.find((entry) => entry.event.type === "tool.entered") ?? assert.fail();
    const child = await forkSession(world.process(), { session: "s", seq: entered.seq }, "child");
    await assert.rejects(child.resume(answer()).result, (error) => isPawlError(error, "INVALID_INPUT"));
    await world.effects.run(child.run({ ...answer(), tools: toolsOf(stage, scenario) }, "and here?").result);
    const settled = eventsOf(await child.entries(), "tool.settled").map((event) => event.output.code);
    assert.deepEqual(settled, ["TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED", "TOOL_NOT_STARTED"]);
  });

  test("L3: a fork of a fork of a broken session", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process(faultyStore(world.store, { append: 2, where: "before", lasts: "for-good" }));
    const broken = await openSession(process, "s");
    await assert.rejects(world.effects.run(broken.run(answer(), "go").result));
    process.die();
    const seq = (await (await world.open()).entries()).length;
    const child = await forkSession(world.process(), { session: "s", seq }, "child");
    const grandchild = await forkSession(world.process(), { session: "child", seq: seq + 1 }, "grandchild");
    assert.equal((await world.effects.run(grandchild.run(answer(), "still?").result)).text, "forked");
    assertLawful(await grandchild.entries());
    assertLawful(await child.entries());
  });
});
