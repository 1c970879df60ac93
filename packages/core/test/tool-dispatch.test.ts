import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import type { ApprovalAnswer } from "../src/tool/approval.ts";
import { charsOf } from "../src/tool/output.ts";
import { defineTool, type ToolSet } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { openSession } from "../src/turn/session.ts";
import { agentOf, assertLawful, deferred, eventsOf, outputText, promptFor, TurnWorld } from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];

/** Results as text, in the order they were recorded. */
async function resultsOf(
  script: ScriptEntry,
  tools: ToolSet,
  rest: Partial<Agent> = {},
): Promise<{ results: string[]; sent: string[]; world: TurnWorld }> {
  const world = new TurnWorld();
  const session = await world.session();
  await world.effects.run(session.run(agentOf([script, answer], { tools, ...rest }), "go").result);
  const entries = await session.entries();
  assertLawful(entries);
  const sent = promptFor(entries).flatMap((message) => (message.role === "tool" ? message.content : []));
  return {
    world,
    results: eventsOf(entries, "tool.settled").map(({ output }) => outputText(output)),
    sent: sent.map((part) => (part.type === "tool-result" && "value" in part.output ? String(part.output.value) : "")),
  };
}

function body(execute: () => unknown, locks: string[] = []) {
  return defineTool({
    inputSchema: schema,
    locks: () => locks.map((key) => ({ key, mode: "write" as const })),
    execute,
  });
}

describe("dispatch", () => {
  test("R70: one failure cancels no sibling, however it fails; each call has its own result, sent in call order", async () => {
    const gates = { a: deferred(), b: deferred() };
    const tools = {
      a: body(async () => {
        await gates.a.promise;
        throw new Error("a broke");
      }),
      b: body(async () => {
        await gates.b.promise;
        gates.a.resolve();
        return "b";
      }),
      c: body(() => {
        gates.b.resolve();
        return "c";
      }),
      sync: body(() => assert.fail("at once")),
      nothing: body(() => Promise.reject(undefined)),
      odd: body(() => Promise.reject(Object.create(null))),
    };
    const names = ["a", "b", "c", "sync", "nothing", "odd"];
    const { results, sent } = await resultsOf([...names.flatMap((name) => call(name, {})), finish()], tools);
    assert.ok(
      results.indexOf("c") < results.indexOf("b") && results.indexOf("b") < results.indexOf("TOOL_FAILED: a broke"),
    );
    assert.deepEqual(sent.slice(0, 3), ["TOOL_FAILED: a broke", "b", "c"]);
    assert.match(sent[3] ?? "", /TOOL_FAILED: at once/);
    assert.match(sent[4] ?? "", /TOOL_FAILED: the tool failed without a message/);
    assert.match(sent[5] ?? "", /TOOL_FAILED: something that has no text/);
  });

  test("R48: results that come in the order 3, 1, 2, with a file in one of them: sent in call order, nothing between", async () => {
    const gates = [deferred(), deferred()] as const;
    const tools = {
      one: body(async () => {
        await gates[0].promise;
        gates[1].resolve();
        return { content: [{ type: "file", mediaType: "image/png", blob: "ab" }] };
      }),
      two: body(() => gates[1].promise.then(() => "2")),
      three: body(() => {
        gates[0].resolve();
        return "3";
      }),
    };
    const { results, sent } = await resultsOf(
      [...call("one", {}), ...call("two", {}), ...call("three", {}), finish()],
      tools,
    );
    assert.deepEqual(
      results.map((text) => text[0]),
      ["3", "{", "2"],
    );
    assert.deepEqual(sent, ["[file ab (image/png)]", "2", "3"]);
  });

  test("conflicting calls run in call order, others overlap, and no more than the bound at once", async () => {
    let running = 0;
    let most = 0;
    const order: string[] = [];
    const busy = (name: string, locks: string[]) =>
      body(async () => {
        order.push(name);
        running += 1;
        most = Math.max(most, running);
        for (let turn = 0; turn < 5; turn += 1) await undefined;
        running -= 1;
        return name;
      }, locks);
    const tools = { a: busy("a", ["k"]), b: busy("b", []), c: busy("c", ["k"]), d: busy("d", []), e: busy("e", ["*"]) };
    await resultsOf([...["a", "b", "c", "d", "e"].flatMap((name) => call(name, {})), finish()], tools, {
      concurrentTools: 2,
    });
    assert.equal(most, 2);
    assert.ok(order.indexOf("a") < order.indexOf("c"));
    assert.equal(order.at(-1), "e", "what locks everything waits for all before it");
  });

  test("R69: six edits of one file run one after another in call order; an edit of another file overlaps them", async () => {
    const content = { a: "", b: "" };
    const both = deferred();
    const inside = new Set<string>();
    const edit = defineTool<{ file: "a" | "b"; add: string }>({
      inputSchema: schema,
      locks: ({ file }) => [{ key: file, mode: "write" }],
      execute: async ({ file, add }) => {
        inside.add(file);
        if (inside.size === 2) both.resolve();
        const before = content[file];
        await both.promise;
        content[file] = before + add;
        return "ok";
      },
    });
    const edits = [..."123456"].flatMap((add) => call("edit", { file: "a", add }, `c${add}`));
    await resultsOf([...edits, ...call("edit", { file: "b", add: "x" }, "cb"), finish()], { edit });
    assert.deepEqual(content, { a: "123456", b: "x" });
  });

  test("L6: a body that ignores its deadline is abandoned, one that listens says so; neither holds up its siblings", async () => {
    const deaf = defineTool({
      inputSchema: schema,
      timeoutMs: 1_000,
      locks: () => [],
      execute: () => new Promise(() => {}),
    });
    const listens = defineTool({
      inputSchema: schema,
      timeoutMs: 1_000,
      locks: () => [],
      execute: (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("cleaned up")))),
    });
    const { sent } = await resultsOf([...call("deaf", {}), ...call("listens", {}), ...call("ok", {}), finish()], {
      deaf,
      listens,
      ok: body(() => "ok"),
    });
    assert.match(sent[0] ?? "", /^TOOL_ABANDONED/);
    assert.match(sent[1] ?? "", /^TOOL_TIMEOUT: no result within 1 s.*cleaned up/);
    assert.equal(sent[2], "ok");
  });

  test("a lock, a validator or an approval rule that throws refuses its call alone", async () => {
    const tools = {
      locks: defineTool({
        inputSchema: schema,
        locks: () => assert.fail("no such path"),
        execute: () => assert.fail("never"),
      }),
      rule: { ...body(() => assert.fail("never")), needsApproval: () => assert.fail("no rule") },
      ok: body(() => "ok"),
    };
    const { sent } = await resultsOf([...call("locks", {}), ...call("rule", {}), ...call("ok", {}), finish()], tools);
    assert.match(sent[0] ?? "", /^TOOL_INPUT_INVALID: .*no such path/);
    assert.match(sent[1] ?? "", /^TOOL_INPUT_INVALID: .*no rule/);
    assert.equal(sent[2], "ok");
  });
});

describe("output", () => {
  const sixty = body(() => "x".repeat(60_000));
  const ten: ScriptEntry = [...Array.from({ length: 10 }, (_, n) => call("big", {}, `c${n}`)).flat(), finish()];

  const budgets: [string, Partial<Agent>, number][] = [
    ["40,000 tokens left of the window", { windowTokens: 40_015 }, 60_000],
    ["a fixed cap", { batchOutputChars: 100_000 }, 100_000],
    ["the default cap", {}, 200_000],
    ["nothing left", { windowTokens: 10, compaction: { mode: "off" } }, 2_000],
  ];
  for (const [title, rest, chars] of budgets) {
    test(`R72: ten results of 60 KB each, ${title}: together they keep to it, and each whole is in the store`, async () => {
      const { world, sent } = await resultsOf(ten, { big: sixty }, rest);
      const total = sent.reduce((sum, text) => sum + text.length, 0);
      assert.ok(total >= chars && total <= chars + 10 * 300, `${total} of ${chars}`);
      const entries = await (await world.open()).entries();
      const blobs = eventsOf(entries, "tool.settled").flatMap(({ output }) =>
        output.content.flatMap((part) => (part.type === "file" ? (part.blob ?? []) : [])),
      );
      assert.equal(blobs.length, 10);
      assert.equal((await world.store.getBlob(blobs[0] ?? ""))?.byteLength, 60_000);
    });
  }

  test("R72: what a crash left settled counts against the same cap", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process();
    const gate = deferred<string>();
    const slow = defineTool({ inputSchema: schema, effect: "read", locks: () => [], execute: () => gate.promise });
    const script: ScriptEntry = [...call("big", {}, "c1"), ...call("slow", {}, "c2"), finish()];
    const rest: Partial<Agent> = { tools: { big: sixty, slow }, batchOutputChars: 40_000 };
    (await openSession(process, "s")).run(agentOf([script], rest), "go").result.catch(() => {});
    await world.effects.settle();
    process.die();
    const session = await world.open();
    const again = agentOf([answer], { ...rest, tools: { big: sixty, slow: sixty } });
    await world.effects.run(session.resume(again).result);
    const said = eventsOf(await session.entries(), "tool.settled").map(({ output }) => charsOf(output));
    assert.deepEqual(
      said.map((chars) => Math.round(chars / 1_000)),
      [20, 20],
    );
  });

  test("R72: what a reconciler tells is under the same cap", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process();
    const act = defineTool({
      inputSchema: schema,
      outputChars: 100,
      execute: () => new Promise(() => {}),
      reconcile: async () => ({ verdict: "done", output: "x".repeat(1_000) }) as const,
    });
    const agent = agentOf([[...call("act", {}), finish()]], { tools: { act } });
    (await openSession(process, "s")).run(agent, "go").result.catch(() => {});
    await world.effects.settle();
    process.die();
    const session = await world.open();
    await world.effects.run(session.resume(agentOf([answer], { tools: { act } })).result);
    const [settled] = eventsOf(await session.entries(), "tool.settled");
    assert.match(outputText(settled?.output ?? { content: [], isError: true }), /900 of 1000 characters left out/);
  });
});

describe("approval", () => {
  const asks: Partial<Agent> = { permission: () => "ask" };

  test("R73: nobody to answer is an immediate denial, and so is an approver that fails or says something odd", async () => {
    const approvers: (Agent["approver"] | undefined)[] = [
      undefined,
      () => Promise.reject(new Error("disconnected")),
      () => assert.fail("at once"),
      async () => undefined as never,
      async () => ({ answer: "sure" }) as never,
    ];
    for (const approver of approvers) {
      const ran: string[] = [];
      const { sent } = await resultsOf(
        [...call("act", {}), finish()],
        { act: body(() => void ran.push("act")) },
        { ...asks, ...(approver ? { approver } : {}) },
      );
      assert.match(sent[0] ?? "", /^TOOL_DENIED/);
      assert.deepEqual(ran, []);
    }
  });

  test("R64: waiting for a person stops only what conflicts; the others run meanwhile", async () => {
    const gate = deferred<ApprovalAnswer>();
    const seen: string[] = [];
    const tools = {
      asked: body(() => void seen.push("asked"), ["k"]),
      after: body(() => void seen.push("after"), ["k"]),
      free: body(() => {
        seen.push("free");
        gate.resolve({ answer: "allow", by: "ann" });
      }),
    };
    const permission: Agent["permission"] = ({ tool }) => (tool === "asked" ? "ask" : "allow");
    await resultsOf([...call("asked", {}), ...call("after", {}), ...call("free", {}), finish()], tools, {
      permission,
      approver: () => gate.promise,
    });
    assert.deepEqual(seen, ["free", "asked", "after"]);
  });

  test("R67 R64: abort while a person is asked: not started, and a late yes changes nothing", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const gate = deferred<ApprovalAnswer>();
    const ran: string[] = [];
    const agent = agentOf([[...call("act", {}), finish()]], {
      tools: { act: body(() => void ran.push("act")) },
      ...asks,
      approver: () => gate.promise,
    });
    const turn = session.run(agent, "go");
    await world.effects.settle();
    await session.abort((await session.summary())?.head.openTurn ?? "none");
    assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "aborted" });
    gate.resolve({ answer: "allow", by: "ann" });
    await world.effects.settle();
    const entries = await session.entries();
    assert.deepEqual(
      eventsOf(entries, "tool.settled").map((event) => event.output.code),
      ["TOOL_NOT_STARTED"],
    );
    assert.equal(eventsOf(entries, "approval.resolved").length, 0);
    assert.deepEqual(ran, []);
    assertLawful(entries);
  });

  test("R64: a person's no, with its reason, is what the model is told; policy's deny asks nobody", async () => {
    const approver = async (): Promise<ApprovalAnswer> => ({ answer: "deny", by: "ann", reason: "not on a Friday" });
    const told = await resultsOf([...call("act", {}), finish()], { act: body(() => "ran") }, { ...asks, approver });
    assert.match(told.sent[0] ?? "", /^TOOL_DENIED: not on a Friday/);
    const policy = await resultsOf(
      [...call("act", {}), finish()],
      { act: body(() => "ran") },
      { permission: () => "deny", approver: () => assert.fail("asked") },
    );
    assert.match(policy.sent[0] ?? "", /^TOOL_DENIED: the policy/);
  });
});
