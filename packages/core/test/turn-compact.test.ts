import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, type ScriptedModel, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { openSession, type Session } from "../src/turn/session.ts";
import { transcriptOf } from "../src/view/transcript.ts";
import { agentOf, assertLawful, deferred, eventsOf, sleepBehindAnnouncement, TurnWorld } from "./turn-world.ts";

const long = (about: string, chars = 3_500) => `${about} `.repeat(Math.ceil(chars / (about.length + 1)));
const answer: ScriptEntry = [...say("done"), finish()];
const summary: ScriptEntry = [...say("the sum of it"), finish()];
const tooLarge: ScriptEntry = {
  reject: Object.assign(new Error("prompt is too long: 210000 tokens > 200000 maximum"), { statusCode: 400 }),
};
/** Four thousand tokens of window; a turn of `talk` takes about two thousand. */
const windowTokens = 4_000;

/** A session with `turns` turns behind it, each with a long question and a long answer. */
async function talk(
  turns: number,
  after?: Session,
  world = new TurnWorld(),
): Promise<{ world: TurnWorld; session: Session }> {
  const session = after ?? (await world.session());
  for (let turn = 1; turn <= turns; turn += 1) {
    const agent = agentOf([[...say(long(`answer ${turn}`)), finish()]]);
    await world.effects.run(session.run(agent, long(`question ${turn}`)).result);
  }
  return { world, session };
}

function isSummaryRequest(prompt: LanguageModelV4Prompt | undefined): boolean {
  return JSON.stringify(prompt?.at(-1) ?? "").includes("Write a summary");
}

function compactions(model: ScriptedModel): number {
  return model.requests.filter(({ prompt }) => isSummaryRequest(prompt)).length;
}

async function outcomeOf(world: TurnWorld, session: Session, agent: Agent, input = "go") {
  const result = await world.effects.run(session.run(agent, input).result);
  assertLawful(await session.entries());
  return result;
}

describe("compaction", () => {
  test("a crowded step begins with a summary of what is old; the prefix serves once more, the transcript keeps all", async () => {
    const { world, session } = await talk(3);
    const agent = agentOf([summary, answer], { windowTokens });
    const result = await outcomeOf(world, session, agent);
    assert.deepEqual(result.outcome, { type: "completed" });
    const [asked, next] = agent.model.requests.map(({ prompt }) => prompt);
    assert.ok(isSummaryRequest(asked));
    const texts = JSON.stringify(next);
    assert.match(texts, /the sum of it/);
    assert.doesNotMatch(texts, /question 1/);
    assert.match(texts, /question 3|answer 3/);
    assert.match(texts, /"go"/);
    // What was asked begins with what had been sent, byte for byte.
    const before = agentOf([answer]);
    const twin = await talk(3);
    await outcomeOf(twin.world, twin.session, before);
    const sent = before.model.requests[0]?.prompt ?? [];
    const prefix = asked?.slice(0, -1) ?? [];
    assert.ok(prefix.length > 1);
    assert.deepEqual(prefix, sent.slice(0, prefix.length));
    const [compacted] = eventsOf(await session.entries(), "context.compacted");
    assert.ok((compacted?.tokensAfter ?? 0) < (compacted?.tokensBefore ?? 0) * 0.75);
    const inputs = transcriptOf(await session.entries()).items.filter(({ type }) => type === "input");
    assert.equal(inputs.length, 4);
    assert.equal(result.books.committed.attempts, 2, "the summary is paid for, and counted");
  });

  test("L8: a process that slept past its lease while the announcement of a summary was written asks for none", async () => {
    const { world, session } = await talk(3);
    sleepBehindAnnouncement(world);
    const agent = agentOf([summary, answer], { windowTokens });
    await assert.rejects(world.effects.run(session.run(agent, "go").result), { code: "FENCED" });
    assert.equal(eventsOf(await session.entries(), "attempt.started").at(-1)?.purpose, "compaction");
    assert.deepEqual(agent.model.requests, []);
  });

  test("R29: usage that is missing, or zero, hides nothing: our own estimate triggers it", async () => {
    for (const inputTokens of [undefined, 0]) {
      const { world, session } = await talk(3);
      const counted = { total: inputTokens, noCache: inputTokens, cacheRead: undefined, cacheWrite: undefined };
      const outputTokens = { total: inputTokens, text: inputTokens, reasoning: undefined };
      const done = {
        type: "finish",
        usage: { inputTokens: counted, outputTokens },
        finishReason: { unified: "stop", raw: "stop" },
      };
      const agent = agentOf([summary, [...say("done"), done as never]], { windowTokens });
      assert.equal((await outcomeOf(world, session, agent)).outcome.type, "completed");
      assert.equal(compactions(agent.model), 1);
    }
  });

  test("R29: a reported figure above our estimate triggers it, too", async () => {
    const { world, session } = await talk(2);
    const inputTokens = { total: 190_000, noCache: 190_000, cacheRead: undefined, cacheWrite: undefined };
    const usage = { inputTokens, outputTokens: { total: 5, text: 5, reasoning: undefined } };
    const done = { type: "finish", usage, finishReason: { unified: "stop", raw: "stop" } };
    const options = { windowTokens: 200_000 };
    assert.equal(
      (await outcomeOf(world, session, agentOf([[...say("first"), done as never]], options))).outcome.type,
      "completed",
    );
    const agent = agentOf([summary, answer], options);
    await outcomeOf(world, session, agent);
    assert.equal(compactions(agent.model), 1);
  });

  test("results are cut first, where that is enough: no model is asked", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const look = defineTool({
      inputSchema: { type: "object" as const },
      effect: "read",
      execute: () => long("a line of a large file", 8_000),
    });
    const tools = { look };
    const first = agentOf(
      [
        [...call("look", {}), finish()],
        [...say(long("what I saw", 4_500)), finish()],
      ],
      { tools },
    );
    await outcomeOf(world, session, first, "look");
    const agent = agentOf([answer], { tools, windowTokens: 3_600, compaction: { resultChars: 500 } });
    await outcomeOf(world, session, agent);
    assert.equal(agent.model.requests.length, 1);
    const [pruned] = eventsOf(await session.entries(), "context.compacted");
    assert.equal(pruned?.by, "prune");
    assert.ok(JSON.stringify(agent.model.requests[0]?.prompt).length < 7_000);
  });

  test("a request that is too large is compacted once and sent again", async () => {
    const { world, session } = await talk(3);
    const agent = agentOf([tooLarge, summary, answer]);
    assert.deepEqual((await outcomeOf(world, session, agent)).outcome, { type: "completed" });
    assert.equal(compactions(agent.model), 1);
    assert.match(JSON.stringify(agent.model.requests[2]?.prompt), /the sum of it/);
  });

  test("R74: an overflow for ever ends the turn as context-full, after one compaction", async () => {
    const { world, session } = await talk(3);
    const agent = agentOf([tooLarge, summary, tooLarge, summary, tooLarge]);
    const result = await outcomeOf(world, session, agent);
    assert.deepEqual(result.outcome, { type: "context-full" });
    assert.match(result.failure?.message ?? "", /prompt is too long/);
    assert.equal(agent.model.requests.length, 3);
  });

  const useless: [string, ScriptEntry][] = [
    ["longer than what it replaces", [...say(long("words", 30_000)), finish()]],
    ["cut by the output limit", [...say("the sum"), finish("length")]],
    ["a call instead of words", [...call("look", {}), finish("tool-calls")]],
    ["words on the way to a call", [...say("Let me look first."), ...call("look", {}), finish("tool-calls")]],
    ["half a sentence that a filter ended", [...say("the sum of"), finish("content-filter")]],
  ];
  for (const [what, entry] of useless) {
    test(`R74: a summary that is ${what} changes nothing; the second ends the turn as context-full`, async () => {
      const { world, session } = await talk(3);
      const before = await session.entries();
      const agent = agentOf([tooLarge, entry, entry, answer]);
      const result = await outcomeOf(world, session, agent);
      assert.deepEqual(result.outcome, { type: "context-full" });
      assert.equal(agent.model.requests.length, 3);
      assert.ok((agent.model.requests[2]?.prompt.length ?? 9) <= (agent.model.requests[1]?.prompt.length ?? 0));
      const summaries = eventsOf(await session.entries(), "context.compacted").filter(({ by }) => by === "summary");
      assert.deepEqual(summaries, []);
      assert.deepEqual((await session.entries()).slice(0, before.length), before);
    });
  }

  test("R74: results that are cut on the way to the second summary do not count as one that helped", async () => {
    const { world, session } = await talk(0);
    const look = defineTool({
      inputSchema: { type: "object" as const },
      effect: "read",
      execute: () => long("line", 900),
    });
    const tools = { look };
    await outcomeOf(world, session, agentOf([[...call("look", {}), finish()], answer], { tools }), "look");
    await talk(6, session, world);
    const bad: ScriptEntry = [...say("the sum"), finish("length")];
    const agent = agentOf([tooLarge, bad, bad, bad, answer], { tools, compaction: { resultChars: 100 } });
    assert.deepEqual((await outcomeOf(world, session, agent)).outcome, { type: "context-full" });
    assert.equal(compactions(agent.model), 2);
    assert.ok(eventsOf(await session.entries(), "context.compacted").some(({ by }) => by === "prune"));
  });

  test("an agent that must call a tool sums up all the same", async () => {
    const { world, session } = await talk(3);
    const look = defineTool({ inputSchema: { type: "object" as const }, effect: "read", execute: () => "seen" });
    const agent = agentOf([summary, answer], { windowTokens, tools: { look }, toolChoice: { type: "required" } });
    await outcomeOf(world, session, agent);
    assert.deepEqual(
      agent.model.requests.map(({ toolChoice }) => toolChoice?.type),
      ["none", "required"],
    );
  });

  test("a summary that breaks for good is no cut answer; what it cost is estimated", async () => {
    const { world, session } = await talk(3);
    const reset = { fail: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) };
    const agent = agentOf(Array(9).fill([...say("the s"), reset]), { windowTokens });
    assert.deepEqual((await outcomeOf(world, session, agent)).outcome, { type: "failed" });
    const measures = eventsOf(await session.entries(), "attempt.ended")
      .slice(3)
      .map(({ usage }) => usage.measure);
    assert.deepEqual(new Set(measures), new Set(["estimated"]));
  });

  test("R74: large instructions beside a small conversation: no summary is asked for that could not help enough", async () => {
    const { world, session } = await talk(1);
    const agent = agentOf([answer], { windowTokens: 9_000, instructions: long("be careful", 24_000) });
    assert.equal((await outcomeOf(world, session, agent)).outcome.type, "completed");
    assert.equal(agent.model.requests.length, 1);
  });

  test("R74: a blank summary is tried again within the budget, then ends the turn as context-full", async () => {
    const { world, session } = await talk(3);
    const agent = agentOf([tooLarge, ...Array(9).fill([...say(" \n "), finish()])], {
      recovery: { attemptsPerStep: 4 },
    });
    assert.deepEqual((await outcomeOf(world, session, agent)).outcome, { type: "context-full" });
    assert.equal(agent.model.requests.length, 5);
  });

  test("a crowded step goes on once without a summary that failed; the next one that fails ends the turn", async () => {
    const { world, session } = await talk(3);
    const look = defineTool({ inputSchema: { type: "object" as const }, effect: "read", execute: () => "seen" });
    const bad: ScriptEntry = [...say("the sum"), finish("length")];
    const agent = agentOf([bad, [...call("look", {}), finish()], bad, answer], { windowTokens, tools: { look } });
    assert.deepEqual((await outcomeOf(world, session, agent)).outcome, { type: "context-full" });
    assert.equal(agent.model.requests.length, 3);
  });

  test("R74: instructions that alone fill the window end the turn before any request, and say so", async () => {
    const { world, session } = await talk(1);
    const agent = agentOf([answer], { windowTokens: 1_000, instructions: long("be careful", 4_000) });
    const result = await outcomeOf(world, session, agent);
    assert.deepEqual(result.outcome, { type: "context-full" });
    assert.match(
      result.failure?.message ?? "",
      /instructions and tools alone take about \d+ tokens of a window of 1000/,
    );
    assert.equal(agent.model.requests.length, 0);
  });

  test("R74: instructions at 95% of the window: bounded requests, then context-full", async () => {
    const { world, session } = await talk(3);
    const agent = agentOf(Array(30).fill(summary), {
      windowTokens: 9_000,
      instructions: long("be careful", 29_900),
      stepsPerTurn: 9,
    });
    await outcomeOf(world, session, agent);
    assert.ok(agent.model.requests.length <= 4, `${agent.model.requests.length}`);
  });

  test("off is off, on every path", async () => {
    const { world, session } = await talk(3);
    const off = { windowTokens, compaction: { mode: "off" as const } };
    const agent = agentOf([tooLarge, summary], off);
    const result = await outcomeOf(world, session, agent);
    assert.deepEqual(result.outcome, { type: "overflow" });
    assert.equal(agent.model.requests.length, 1);
    const fits = agentOf([answer], off);
    await outcomeOf(world, session, fits);
    assert.equal(fits.model.requests.length, 1);
  });

  test("what ends a summary and is no want of room ends the turn as it would have ended the step", async () => {
    const refusals: [ScriptEntry, string][] = [
      [{ reject: Object.assign(new Error("no credit"), { statusCode: 402 }) }, "quota"],
      [
        {
          reject: Object.assign(new Error("slow down"), {
            statusCode: 429,
            responseHeaders: { "retry-after": "86400" },
          }),
        },
        "rate-limited",
      ],
    ];
    for (const [entry, outcome] of refusals) {
      const { world, session } = await talk(3);
      const agent = agentOf([entry, answer], { windowTokens });
      assert.equal((await outcomeOf(world, session, agent)).outcome.type, outcome);
      assert.equal(agent.model.requests.length, 1);
    }
  });

  test("a summary whose connection breaks is asked for again, whole", async () => {
    const { world, session } = await talk(3);
    const reset = { fail: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) };
    const agent = agentOf([[...say("the s"), reset], summary, answer], { windowTokens });
    assert.equal((await outcomeOf(world, session, agent)).outcome.type, "completed");
    const [compacted] = eventsOf(await session.entries(), "context.compacted");
    assert.deepEqual(compacted?.summary, [{ type: "text", text: "the sum of it" }]);
  });

  test("a stop while it is summed up ends the turn; the conversation is as it was", async () => {
    const { world, session } = await talk(3);
    const agent = agentOf([[...say("the s"), { silence: true }]], { windowTokens });
    const turn = session.run(agent, "go");
    await world.effects.settle();
    await session.abort((await session.summary())?.head.openTurn ?? "none");
    assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "aborted" });
    assert.deepEqual(eventsOf(await session.entries(), "context.compacted"), []);
    assertLawful(await session.entries());
  });

  test("R41: a steer that comes while it is summed up goes in with the next request, behind the summary", async () => {
    const { world, session } = await talk(3);
    const gate = deferred();
    const agent = agentOf([[...say("the sum of it"), { until: gate.promise }, finish()], answer], { windowTokens });
    const turn = session.run(agent, "go");
    await world.effects.settle();
    await session.post("steer", "left, please");
    gate.resolve();
    await world.effects.run(turn.result);
    assert.match(JSON.stringify(agent.model.requests[1]?.prompt), /the sum of it.*go.*left, please/);
    assertLawful(await session.entries());
  });

  test("stopped at every append, resumed: it goes on at the compaction, and loses nothing", async () => {
    for (const script of [
      [tooLarge, summary, answer],
      [summary, answer],
    ] as ScriptEntry[][]) {
      for (let append = 1; append <= 6; append += 1) {
        for (const where of ["before", "inside", "after"] as const) {
          const { world, session } = await talk(3);
          const options = script.length === 2 ? { windowTokens } : {};
          const process = world.process(faultyStore(world.store, { append, where, lasts: "for-good" }));
          const dying = await openSession(process, "s");
          await world.effects.run(dying.run(agentOf(script, options), "go").result).catch(() => {});
          process.die();
          const next = await world.open();
          if ((await next.summary())?.head.openTurn === undefined) continue;
          const again = agentOf([summary, answer, answer], options);
          // Where the answer to a compaction was due, it is what the model gives first.
          const compactsFirst = eventsOf(await next.entries(), "context.compacted").length === 0;
          const result = await world.effects.run(next.resume(again).result);
          assert.equal(result.outcome.type, "completed", `${append} ${where}`);
          assert.ok(compactsFirst || compactions(again.model) === 0, `${append} ${where}`);
          assertLawful(await session.entries(), `append ${append}, ${where}`);
        }
      }
    }
  });
});

describe("provider state that is refused", () => {
  const signed = (text: string): ScriptEntry => [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "hm" },
    { type: "reasoning-end", id: "r", providerMetadata: { test: { signature: "sig" } } },
    ...say(text),
    finish(),
  ];
  const refused: ScriptEntry = {
    reject: Object.assign(new Error("messages.1.content.0: Invalid `signature` in `thinking` block"), {
      statusCode: 400,
    }),
  };

  test("R43: it is stripped once, the request sent again, and it stays stripped for the session", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await outcomeOf(world, session, agentOf([signed("one")]));
    const agent = agentOf([refused, signed("two")]);
    assert.equal((await outcomeOf(world, session, agent)).outcome.type, "completed");
    assert.match(JSON.stringify(agent.model.requests[0]?.prompt), /sig/);
    assert.doesNotMatch(JSON.stringify(agent.model.requests[1]?.prompt), /sig/);
    const later = agentOf([answer]);
    await outcomeOf(world, session, later);
    assert.doesNotMatch(JSON.stringify(later.model.requests[0]?.prompt), /sig/);
    assert.equal(eventsOf(await session.entries(), "provider-state.stripped").length, 1);
  });

  test("R43: refused without it as well, the turn ends with what the provider said", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await outcomeOf(world, session, agentOf([signed("one")]));
    const agent = agentOf([refused, refused, answer]);
    const result = await outcomeOf(world, session, agent);
    assert.equal(result.outcome.type, "failed");
    assert.match(result.failure?.message ?? "", /signature/);
    assert.equal(agent.model.requests.length, 2);
  });
});
