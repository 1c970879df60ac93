import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, type ScriptStep, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { forkSession, openSession, type Session } from "../src/turn/session.ts";
import { agentOf, assertLawful, eventsOf, TurnWorld } from "./turn-world.ts";

const act = defineTool({ inputSchema: { type: "object" as const }, locks: () => [], execute: () => "acted" });
const tools = { act };

function signed(text: string, signature: string): ScriptStep[] {
  return [
    { type: "reasoning-start", id: signature },
    { type: "reasoning-delta", id: signature, delta: text },
    { type: "reasoning-end", id: signature, providerMetadata: { test: { signature } } },
  ];
}

/** Thought, call, thought, three calls: interleaved, with odd bytes that nothing may tidy up. */
const thinking: ScriptEntry = [
  ...signed("  First look.\u2028\n\n", "sig/one+=="),
  ...call("act", {}, "c1"),
  ...signed("\tThen all three: \u00a0", "sig/two+=="),
  ...call("act", {}, "c2"),
  ...call("act", {}, "c3"),
  ...call("act", {}, "c4"),
  finish("tool-calls"),
];
const answer: ScriptEntry = [...say("done"), finish()];
const reset = { fail: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) };
/** The same thoughts with other signatures, in an attempt that breaks. */
const broken: ScriptEntry = [...signed("  First look.\u2028\n\n", "sig/lost=="), reset];

/** The thoughts that a request sends back, in place among the calls. */
function replayed(prompt: LanguageModelV4Prompt | undefined): unknown[] {
  return (prompt ?? []).flatMap((message) =>
    message.role === "assistant"
      ? message.content.map((part) =>
          part.type === "reasoning" ? [part.text, part.providerOptions?.["test"]?.["signature"]] : part.type,
        )
      : [],
  );
}

const whole = [
  ["  First look.\u2028\n\n", "sig/one+=="],
  "tool-call",
  ["\tThen all three: \u00a0", "sig/two+=="],
  "tool-call",
  "tool-call",
  "tool-call",
];

async function next(world: TurnWorld, session: Session, how: "run" | "resume", rest: Partial<Agent> = {}) {
  const agent = agentOf([answer, answer], { tools, ...rest });
  const turn = how === "run" ? session.run(agent, "and now?") : session.resume(agent);
  await world.effects.run(turn.result);
  assertLawful(await session.entries());
  return agent.model.requests.at(-1)?.prompt;
}

describe("signatures of an interleaved turn", () => {
  test("R43: byte-equal in the next request, after a retry whose own thoughts never come back", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const agent = agentOf([broken, thinking, answer], { tools });
    await world.effects.run(session.run(agent, "go").result);
    assert.deepEqual(replayed(agent.model.requests[2]?.prompt), whole);
    assert.doesNotMatch(JSON.stringify(agent.model.requests.slice(1)), /sig\/lost/);
  });

  test("R43: byte-equal after a crash at any append, resumed, and in a fork of what was left", async () => {
    let seen = 0;
    for (let append = 1; append <= 8; append += 1) {
      for (const where of ["before", "after"] as const) {
        const world = new TurnWorld();
        await world.session();
        const process = world.process(faultyStore(world.store, { append, where, lasts: "for-good" }));
        const dying = await openSession(process, "s");
        await world.effects.run(dying.run(agentOf([thinking, answer], { tools }), "go").result).catch(() => {});
        process.die();
        const left = await world.open();
        const { seq = 0, head } = (await left.summary()) ?? {};
        const committed = eventsOf(await left.entries(), "message.committed").length > 0;
        const fork = await forkSession(world.process(), { session: "s", seq }, "fork");
        if (!committed) continue;
        seen += 1;
        const at = `append ${append}, ${where}`;
        assert.deepEqual(replayed(await next(world, fork, "run")).slice(0, whole.length), whole, `${at}, fork`);
        const how = head?.openTurn === undefined ? "run" : "resume";
        assert.deepEqual(replayed(await next(world, left, how)).slice(0, whole.length), whole, `${at}, ${how}`);
      }
    }
    assert.ok(seen >= 4, `${seen} crashes after the message`);
  });

  test("R45: to another model no thought goes, and they are back when the first one is", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await world.effects.run(session.run(agentOf([thinking, answer], { tools }), "go").result);
    const other = agentOf([answer], { tools });
    const elsewhere = { ...other, model: { ...other.model, modelId: "another" } };
    await world.effects.run(session.run(elsewhere, "you, too").result);
    assert.deepEqual(
      replayed(other.model.requests[0]?.prompt).filter((part) => typeof part !== "string"),
      [],
    );
    assert.deepEqual(replayed(await next(world, session, "run")).slice(0, whole.length), whole);
  });
});
