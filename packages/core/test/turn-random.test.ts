/** Random turns: any mixture of answers, calls, faults, steers and deaths. What must hold for one must hold for all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say, think } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { openSession } from "../src/turn/session.ts";
import { emptyTranscript, readItem, transcriptOf } from "../src/view/transcript.ts";
import { runsOf } from "./ground.ts";
import { agentOf, assertLawful, TurnWorld } from "./turn-world.ts";

const reset = { fail: Object.assign(new Error("reset"), { code: "ECONNRESET" }) };
const entry = fc.constantFrom<ScriptEntry>(
  [...say("an answer"), finish()],
  [...think("thinking"), ...say("half"), ...call("act", { a: 1 }, "c1"), finish("tool-calls")],
  [...call("look", {}, "c1"), ...call("act", {}, "c1"), ...call("gone", {}, ""), finish()],
  [...call("steer", {}, "c2"), ...call("fail", {}, "c3"), finish()],
  [...call("act", '{"cut', "c4"), finish("length")],
  [...say("broken"), reset],
  [...think("broken"), reset],
  [...call("act", {}, "c5"), reset],
  [...call("look", {}, "c6"), ...call("look", {}, "c7"), reset],
  [finish()],
  { reject: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) },
);

const yes: Agent["approver"] = async () => ({ answer: "allow", by: "ann" });
const always: Agent["approver"] = async () => ({ answer: "allow", by: "ann", scope: "session", input: {} });
/** Who may do what, and when it may begin. */
const manners = fc.record({
  eagerReads: fc.boolean(),
  unanswered: fc.constantFrom("deny" as const, "abort" as const),
  permission: fc.constantFrom<NonNullable<Agent["permission"]>>(
    () => "allow",
    () => "ask",
    ({ effect }) => (effect === "read" ? "allow" : "ask"),
  ),
  approver: fc.constantFrom(yes, always, undefined),
});

function toolsOf(world: TurnWorld, runs: Map<string, number>): NonNullable<Agent["tools"]> {
  const inputSchema = { type: "object" as const };
  const execute = (_: unknown, { callId }: { callId: string }) => {
    runs.set(callId, (runs.get(callId) ?? 0) + 1);
    return "ok";
  };
  return {
    act: defineTool<unknown>({ inputSchema, execute }),
    look: defineTool<unknown>({ inputSchema, effect: "read", locks: () => [], execute: () => "seen" }),
    fail: defineTool<unknown>({ inputSchema, execute: () => assert.fail("no") }),
    steer: defineTool<unknown>({ inputSchema, execute: async () => (await world.open()).post("steer", "and this") }),
  };
}

test("L2 L4 L10: random turns over several lives: lawful, prefixes keep their bytes, a reader live sees what the log says", async () => {
  const fault = fc.record({
    append: fc.integer({ min: 1, max: 12 }),
    where: fc.constantFrom("before" as const, "after" as const),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { minLength: 1, maxLength: 10 }),
      fc.array(fault, { maxLength: 3 }),
      manners,
      async (script, faults, { approver, ...rest }) => {
        const world = new TurnWorld();
        await world.session();
        const runs = new Map<string, number>();
        const agent = agentOf([...script, ...script, ...script, ...script], {
          tools: toolsOf(world, runs),
          stepsPerTurn: 12,
          ...rest,
          ...(approver ? { approver } : {}),
        });
        for (const each of [...faults, undefined]) {
          const store = faultyStore(world.store, each && { ...each, lasts: "for-good" });
          const process = world.process(store);
          const session = await openSession(process, "s");
          const open = (await session.summary())?.head.openTurn !== undefined;
          const past = await session.entries();
          const turn = open ? session.resume(agent) : session.run(agent, "go");
          const done = world.effects.run(turn.result).catch(() => {});
          const seen = emptyTranscript();
          for (const one of past) readItem(seen, { type: "entry", entry: one });
          for await (const item of turn) readItem(seen, item);
          await done;
          process.die();
          const entries = await (await world.open()).entries();
          assertLawful(entries);
          if (!store.failed) assert.deepEqual(seen, transcriptOf(entries));
        }
        for (const times of runs.values()) assert.equal(times, 1);
        const sent = agent.model.requests.map(({ prompt }) => prompt.map((message) => JSON.stringify(message)));
        for (const [index, later] of sent.entries())
          assert.deepEqual(later.slice(0, sent[index - 1]?.length ?? 0), sent[index - 1] ?? []);
      },
    ),
    { numRuns: runsOf(80) },
  );
});
