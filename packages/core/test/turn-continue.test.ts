import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { openSession } from "../src/turn/session.ts";
import { agentOf, assertLawful, eventsOf, TurnWorld } from "./turn-world.ts";

const answer: ScriptEntry = [...say("done"), finish()];
const refused: ScriptEntry = { reject: Object.assign(new Error("no credit"), { statusCode: 402 }) };
const act = defineTool({ inputSchema: { type: "object" as const }, execute: () => "acted" });

describe("continue", () => {
  test("a turn that failed is followed by one without an input, which has what the first had reached", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const first = agentOf([[...call("act", {}), finish()], refused], { tools: { act } });
    const failed = await world.effects.run(session.run(first, "go").result);
    assert.notEqual(failed.outcome.type, "completed");
    const second = agentOf([answer], { tools: { act } });
    const result = await world.effects.run(session.continue(second).result);
    assert.deepEqual(result.outcome, { type: "completed" });
    assert.equal(result.text, "done");
    const [, turn] = eventsOf(await session.entries(), "turn.started");
    assert.deepEqual([turn?.inputs, turn?.continues, turn?.turn], [[], failed.turn, result.turn]);
    assert.deepEqual(
      second.model.requests[0]?.prompt.map(({ role }) => role),
      ["user", "assistant", "tool"],
    );
    assertLawful(await session.entries());
  });

  test("where the words of the broken answer came last, the model is asked to go on", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const broken = { fail: Object.assign(new Error("no credit"), { statusCode: 402 }) };
    await world.effects.run(session.run(agentOf([[...say("half of"), broken]]), "go").result);
    const second = agentOf([answer]);
    await world.effects.run(session.continue(second).result);
    const prompt = second.model.requests[0]?.prompt ?? [];
    assert.deepEqual(
      prompt.map(({ role }) => role),
      ["user", "assistant", "user"],
    );
    assert.match(JSON.stringify(prompt[1]), /half of \[interrupted\]/);
    assertLawful(await session.entries());
  });

  test("an open turn of a dead driver is closed first", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process(faultyStore(world.store, { append: 2, where: "before", lasts: "for-good" }));
    const dead = await openSession(process, "s");
    await world.effects.run(dead.run(agentOf([answer]), "go").result).catch(() => {});
    process.die();
    const session = await world.open();
    const result = await world.effects.run(session.continue(agentOf([answer])).result);
    assert.equal(result.outcome.type, "completed");
    assert.deepEqual(
      eventsOf(await session.entries(), "turn.ended").map(({ outcome }) => outcome.type),
      ["interrupted", "completed"],
    );
    assertLawful(await session.entries());
  });

  test("there is nothing to continue where the last turn completed, or none was", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await assert.rejects(session.continue(agentOf([])).result, /nothing to continue: it has no turn yet/);
    await world.effects.run(session.run(agentOf([answer]), "go").result);
    const seq = (await session.summary())?.seq;
    await assert.rejects(session.continue(agentOf([])).result, { code: "INVALID_INPUT" });
    assert.equal((await session.summary())?.seq, seq, "nothing was written");
  });

  test("stopped at every append, continued again: one turn follows another, never two of one", async () => {
    for (let append = 1; append <= 4; append += 1) {
      for (const where of ["before", "inside", "after"] as const) {
        const world = new TurnWorld();
        const session = await world.session();
        await world.effects.run(session.run(agentOf([refused]), "go").result);
        const process = world.process(faultyStore(world.store, { append, where, lasts: "for-good" }));
        const dying = await openSession(process, "s");
        await world.effects.run(dying.continue(agentOf([answer])).result).catch(() => {});
        process.die();
        const last = eventsOf(await session.entries(), "turn.ended").at(-1);
        const next = await world.open();
        if (last?.outcome.type !== "completed") await world.effects.run(next.continue(agentOf([answer])).result);
        const followed = eventsOf(await session.entries(), "turn.started").flatMap(({ continues }) => continues ?? []);
        assert.equal(new Set(followed).size, followed.length, `append ${append}, ${where}`);
        assertLawful(await session.entries(), `append ${append}, ${where}`);
      }
    }
  });
});
