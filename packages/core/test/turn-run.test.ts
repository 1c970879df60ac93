import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isPawlError } from "../src/error.ts";
import { limit } from "../src/limit.ts";
import type { Store } from "../src/store/store.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { openSession } from "../src/turn/session.ts";
import { agentOf, assertLawful, deferred, eventsOf, outputText, promptFor, TurnWorld, typesOf } from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];
const quick = defineTool({ inputSchema: schema, locks: () => [], execute: () => "quick" });

/** A store that counts what reaches it, and one that a test may hold up. */
function counted(store: Store): { store: Store; batches: string[][] } {
  const batches: string[][] = [];
  const seen: Store = new Proxy(store, {
    get: (target, name) => {
      if (name === "append") {
        return (batch: Parameters<Store["append"]>[0]) => {
          batches.push(batch.records.map((record) => record.type));
          return target.append(batch);
        };
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { store: seen, batches };
}

describe("a turn", () => {
  test("text only: the log tells it in order, and no timer stays behind", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const result = await world.effects.run(session.run(agentOf([[...say("hello"), finish()]]), "hi").result);
    assert.equal(result.text, "hello");
    assert.deepEqual(result.outcome, { type: "completed" });
    const entries = await session.entries();
    assert.deepEqual(typesOf(entries), [
      "session.created",
      "input.accepted",
      "turn.started",
      "step.started",
      "attempt.started",
      "attempt.ended",
      "message.committed",
      "step.ended",
      "turn.ended",
    ]);
    assertLawful(entries);
    assert.equal(world.effects.waiting, 0);
  });

  for (const [what, model, words] of [
    ["a model's name", "openai/gpt-5", /is the text "openai\/gpt-5"; make it with a provider package/],
    ["a model of an older specification", { specificationVersion: "v2" }, /its specification is "v2"; update/],
  ] as const) {
    test(`${what} is refused before anything is posted`, async () => {
      const world = new TurnWorld();
      const session = await world.session();
      const agent = { ...agentOf([]), model: model as never };
      await assert.rejects(world.effects.run(session.run(agent, "hi").result), words);
      assert.deepEqual(await world.mailbox(), []);
      assert.deepEqual(typesOf(await session.entries()), ["session.created"]);
    });
  }

  test("steady state is two batches a step: facts that belong together are in one", async () => {
    const world = new TurnWorld();
    await world.session();
    const { store, batches } = counted(world.store);
    const session = await openSession(world.process(store), "s");
    const asking: ScriptEntry = [...call("quick", {}), finish()];
    await world.effects.run(session.run(agentOf([asking, asking, answer], { tools: { quick } }), "go").result);
    const committed = ["attempt.ended", "message.committed", "tool.entered"];
    const settled = ["tool.settled", "step.ended", "step.started", "attempt.started"];
    assert.deepEqual(batches, [
      ["input.accepted", "turn.started", "step.started", "attempt.started"],
      committed,
      settled,
      committed,
      settled,
      ["attempt.ended", "message.committed", "step.ended", "turn.ended"],
    ]);
  });

  test("results that come at once share a batch, also where one of them was kept as a file on its way", async () => {
    const world = new TurnWorld();
    await world.session();
    const { store, batches } = counted(world.store);
    store.putBlob = async () => "0".repeat(64);
    const session = await openSession(world.process(store), "s");
    const url = `data:image/png;base64,${Buffer.from("picture").toString("base64")}`;
    const shows = defineTool({
      ...quick,
      execute: () => ({ content: [{ type: "file" as const, mediaType: "image/png", url }] }),
    });
    const asking: ScriptEntry = [...call("quick", {}, "c1"), ...call("shows", {}, "c2"), finish()];
    await world.effects.run(session.run(agentOf([asking, answer], { tools: { quick, shows } }), "go").result);
    assert.deepEqual(
      batches.map((types) => types.filter((type) => type === "tool.settled").length).filter((count) => count > 0),
      [2],
    );
  });

  test("L7: a message with more calls than a batch has room for is settled and closed", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const calls = limit.batchRecords + 200;
    const asking: ScriptEntry = [
      ...Array.from({ length: calls }, (_, index) => call("nobody", {}, `c${index}`)).flat(),
      finish(),
    ];
    const result = await world.effects.run(session.run(agentOf([asking, answer]), "go").result);
    assert.deepEqual(result.outcome, { type: "completed" });
    assert.equal(eventsOf(await session.entries(), "tool.settled").length, calls);
    assertLawful(await session.entries());
  });

  test("L7: a result that no record can hold does not keep its turn open", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const huge = defineTool({
      inputSchema: schema,
      outputChars: Number.POSITIVE_INFINITY,
      execute: () => "x".repeat(limit.recordBytes + 1),
    });
    const result = await world.effects.run(
      session.run(
        agentOf([[...call("huge", {}), finish()]], { tools: { huge }, batchOutputChars: Number.POSITIVE_INFINITY }),
        "go",
      ).result,
    );
    assert.deepEqual([result.outcome.type, result.failure?.kind], ["failed", "store"]);
    assert.equal(eventsOf(await session.entries(), "tool.settled")[0]?.output.code, "TOOL_OUTCOME_UNKNOWN");
    assertLawful(await session.entries());
  });

  test("L3: what bodies gave while the log refused is recorded when it accepts again, and the message too", async () => {
    const world = new TurnWorld();
    await world.session();
    const gate = deferred<string>();
    const slow = defineTool({ inputSchema: schema, locks: () => [], execute: () => gate.promise });
    // Append 3 would record the quick one's result while the slow one runs.
    const store = faultyStore(world.store, { append: 3, where: "before", lasts: "once" });
    const session = await openSession(world.process(store), "s");
    const script: ScriptEntry = [...call("slow", {}), ...call("quick", {}), finish()];
    const turn = session.run(agentOf([script], { tools: { slow, quick } }), "go");
    await world.effects.settle();
    assert.ok(store.failed);
    assert.equal(eventsOf(await session.entries(), "turn.ended").length, 0, "drained before it closes");
    gate.resolve("slow");
    const result = await world.effects.run(turn.result);
    assert.deepEqual([result.outcome.type, result.failure?.kind], ["failed", "store"]);
    assert.deepEqual(
      eventsOf(await session.entries(), "tool.settled")
        .map(({ output }) => outputText(output))
        .sort(),
      ["quick", "slow"],
    );
  });

  test("L6: a body that ends while a batch is being written: those that waited for it start, and an abort then ends all", async () => {
    for (const abort of [false, true]) {
      const world = new TurnWorld();
      await world.session();
      const gates = { a: deferred<string>(), c: deferred<string>(), append: deferred() };
      const store: Store = new Proxy(world.store, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== "function") return member;
          if (name === "watch") return member.bind(target);
          return async (...given: unknown[]) => {
            const types =
              name === "append" ? (given[0] as Parameters<Store["append"]>[0]).records.map(({ type }) => type) : [];
            if (types[0] === "tool.settled" && types.length === 1) await gates.append.promise;
            return Reflect.apply(member, target, given);
          };
        },
      });
      const locked = (execute: () => unknown) =>
        defineTool({ inputSchema: schema, locks: () => [{ key: "k", mode: "write" }], execute });
      const tools = {
        a: locked(() => gates.a.promise),
        b: locked(() => "b"),
        c: defineTool({ inputSchema: schema, locks: () => [], execute: () => gates.c.promise }),
      };
      const session = await openSession(world.process(store), "s");
      const script: ScriptEntry = [...call("a", {}), ...call("b", {}), ...call("c", {}), finish()];
      const turn = session.run(agentOf([script, answer], { tools }), "go");
      await world.effects.settle();
      gates.c.resolve("c");
      await world.effects.settle();
      gates.a.resolve("a");
      await world.effects.settle();
      if (abort) await session.abort((await session.summary())?.head.openTurn ?? "none");
      await world.effects.settle();
      gates.append.resolve();
      const result = await world.effects.run(turn.result);
      assert.equal(result.outcome.type, abort ? "aborted" : "completed");
      const settled = eventsOf(await session.entries(), "tool.settled").map(
        ({ output }) => output.code ?? outputText(output),
      );
      assert.deepEqual(settled, ["c", "a", abort ? "TOOL_NOT_STARTED" : "b"]);
      assertLawful(await session.entries());
    }
  });

  test("L3: where the store fails for good no end is claimed", async () => {
    const world = new TurnWorld();
    await world.session();
    const store = faultyStore(world.store, { append: 2, where: "before", lasts: "for-good" });
    const session = await openSession(world.process(store), "s");
    await assert.rejects(world.effects.run(session.run(agentOf([answer]), "go").result), (error) =>
      isPawlError(error, "STORE_UNAVAILABLE"),
    );
    assert.equal(typesOf(await (await world.open()).entries()).at(-1), "attempt.started");
  });

  test("L6: figures with which no turn could end are refused", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    for (const wrong of [{ concurrentTools: 0 }, { stepsPerTurn: Number.NaN }, { toolGraceMs: -1 }]) {
      await assert.rejects(session.run(agentOf([answer], wrong), "go").result, (error) =>
        isPawlError(error, "INVALID_INPUT"),
      );
    }
    assert.deepEqual(await world.mailbox(), []);
  });

  test("L6: a long turn does not use up its retries by going well", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const steps = limit.stepsPerTurn - 1;
    const broken: ScriptEntry = [...say("a"), { fail: Object.assign(new Error("reset"), { code: "ECONNRESET" }) }];
    const script: ScriptEntry[] = [
      ...Array.from({ length: steps }, (): ScriptEntry => [...call("quick", {}), finish()]),
      broken,
      answer,
    ];
    const result = await world.effects.run(session.run(agentOf(script, { tools: { quick } }), "go").result);
    assert.deepEqual(result.outcome, { type: "completed" });
    assertLawful(await session.entries());
  });

  test("L6: time and money end a turn before its next step, and say which", async () => {
    for (const [recovery, used] of [
      [{ elapsedMsPerTurn: 60_000 }, "time"],
      [{ costPerTurn: 3 }, "cost"],
    ] as const) {
      const world = new TurnWorld();
      const session = await world.session();
      const slow = defineTool({
        inputSchema: schema,
        execute: () => new Promise((resolve) => world.effects.timers.after(25_000, () => resolve("ok"))),
      });
      const script = Array.from({ length: 9 }, (): ScriptEntry => [...call("slow", {}), finish()]);
      const result = await world.effects.run(
        session.run(agentOf(script, { tools: { slow }, recovery, price: () => 1 }), "go").result,
      );
      assert.deepEqual(result.outcome, { type: "limit", limit: used });
      assert.equal(result.books.steps, 3);
      assertLawful(await session.entries());
    }
  });

  test("R33: one id for every call, in one message and over turns: each has its result, no id is on the wire twice", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const asking: ScriptEntry = [...call("quick", { a: 1 }, "call_0"), ...call("quick", { a: 2 }, "call_0"), finish()];
    for (let turn = 0; turn < 5; turn += 1) {
      const agent = agentOf([asking, answer], { tools: { quick } });
      await world.effects.run(session.run(agent, "go").result);
    }
    const entries = await session.entries();
    assertLawful(entries);
    const calls = promptFor(entries)
      .flatMap((message) => (message.role === "assistant" ? message.content : []))
      .flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    assert.equal(calls.length, 10);
    assert.equal(new Set(calls).size, 10);
    assert.equal(eventsOf(entries, "tool.settled").filter(({ output }) => outputText(output) === "quick").length, 10);
  });

  test("R37 R39: an unknown tool, an empty name and unparsable arguments: paired errors, nothing runs, the next request is valid", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const ran: string[] = [];
    const central_list = defineTool({ inputSchema: schema, execute: () => void ran.push("central_list") });
    const asking: ScriptEntry = [
      ...call("centrl_list", {}, "c1"),
      ...call("", {}, "c2"),
      ...call("central_list", '{"a":', "c3"),
      ...call("mcp.Central-List", {}, "c4"),
      finish("tool-calls"),
    ];
    const agent = agentOf([asking, answer], { tools: { central_list } });
    await world.effects.run(session.run(agent, "go").result);
    const entries = await session.entries();
    assert.deepEqual(ran, []);
    const texts = eventsOf(entries, "tool.settled").map(({ output }) => outputText(output));
    assert.match(texts[0] ?? "", /TOOL_UNKNOWN: .*Did you mean central_list\?.*Tools: central_list/);
    assert.match(texts[1] ?? "", /TOOL_UNKNOWN/);
    assert.match(texts[2] ?? "", /TOOL_INPUT_INVALID: the input is not JSON/);
    assert.match(texts[3] ?? "", /Did you mean central_list/);
    const sent =
      agent.model.requests[1]?.prompt.flatMap((message) => (message.role === "assistant" ? message.content : [])) ?? [];
    const calls = sent.flatMap((part) => (part.type === "tool-call" ? [[part.toolName, part.input]] : []));
    assert.deepEqual(calls, [
      ["centrl_list", {}],
      ["unnamed", {}],
      ["central_list", { unparsed: '{"a":' }],
      ["mcp_Central-List", {}],
    ]);
    assertLawful(entries);
  });
});
