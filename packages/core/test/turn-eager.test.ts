/** Reads that begin before their message is whole: never at the price of a retry, an order or a record. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LogEntry } from "../src/log/envelope.ts";
import { call, finish, type ScriptEntry, type ScriptStep, say } from "../src/testing/model.ts";
import { defineTool, type Tool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { openSession } from "../src/turn/session.ts";
import { transcriptOf } from "../src/view/transcript.ts";
import {
  agentOf,
  assertLawful,
  type Deferred,
  deferred,
  eventsOf,
  outputText,
  TurnWorld,
  typesOf,
} from "./turn-world.ts";

const answer: ScriptEntry = [...say("done"), finish()];
const broken: ScriptStep = { fail: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) };

/** Tools whose bodies a test lets end when it likes. */
class Bench {
  readonly world = new TurnWorld();
  /** What began, by the name that the call gives, in order. */
  readonly began: string[] = [];
  readonly stopped: string[] = [];
  readonly #gates = new Map<string, Deferred<string>>();
  /** Opens in the middle of the first stream. */
  readonly streaming = deferred();

  gate(name: string): Deferred<string> {
    const gate = this.#gates.get(name) ?? deferred<string>();
    this.#gates.set(name, gate);
    return gate;
  }

  tool(rest: Partial<Tool<{ n: string; key?: string }>> = {}): Tool<never> {
    return defineTool<{ n: string; key?: string }>({
      inputSchema: { type: "object", properties: { n: { type: "string" } }, required: ["n"] },
      effect: "read",
      locks: ({ key = "shared" }) => [{ key, mode: "read" }],
      execute: ({ n }, { signal }) => {
        this.began.push(n);
        signal.addEventListener("abort", () => {
          this.stopped.push(n);
          this.gate(n).reject(new Error("stopped"));
        });
        return this.gate(n).promise;
      },
      ...rest,
    }) as Tool<never>;
  }

  agent(script: ScriptEntry[], rest: Partial<Agent> = {}): Agent {
    const write = this.tool({ effect: "write", locks: ({ key = "shared" }) => [{ key, mode: "write" }] });
    return agentOf(script, { tools: { look: this.tool(), write }, eagerReads: true, ...rest });
  }

  async entries(): Promise<LogEntry[]> {
    const entries = await (await this.world.open()).entries();
    assertLawful(entries);
    return entries;
  }
}

function look(n: string, rest: object = {}): ScriptStep[] {
  return call("look", { n, ...rest }, `call_${n}`);
}

function results(entries: readonly LogEntry[]): string[] {
  return eventsOf(entries, "tool.settled").map(({ output }) => output.code ?? outputText(output));
}

describe("eager reads", () => {
  test("L3: a read begins while the answer is streamed, its entry durable; results are adopted in call order with the message", async () => {
    const bench = new Bench();
    const { world } = bench;
    const session = await world.session();
    const script: ScriptEntry = [...look("a"), ...look("b"), { until: bench.streaming.promise }, finish()];
    const turn = session.run(bench.agent([script, answer]), "go");
    await world.effects.settle();
    assert.deepEqual(bench.began, ["a", "b"]);
    const early = eventsOf(await session.entries(), "tool.entered");
    assert.deepEqual(
      early.map(({ effect, input, attempt }) => [effect, input, attempt !== undefined]),
      [
        ["read", '{"n":"a"}', true],
        ["read", '{"n":"b"}', true],
      ],
    );
    bench.gate("b").resolve("b");
    bench.gate("a").resolve("a");
    await world.effects.settle();
    assert.equal(eventsOf(await session.entries(), "tool.settled").length, 0);
    bench.streaming.resolve();
    assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "completed" });
    const entries = await bench.entries();
    assert.deepEqual(results(entries), ["a", "b"]);
    const types = typesOf(entries);
    const at = types.indexOf("message.committed");
    assert.deepEqual(types.slice(at - 1, at + 4), [
      "attempt.ended",
      "message.committed",
      "tool.settled",
      "tool.settled",
      "step.ended",
    ]);
    assert.deepEqual(bench.began, ["a", "b"], "each ran once");
    assert.equal(eventsOf(entries, "attempt.ended")[0]?.exposure.readsEntered, 2);
  });

  test("L5: the stream breaks: what runs is stopped and drained, the attempt discarded, the retry runs the call anew", async () => {
    const bench = new Bench();
    const { world } = bench;
    const session = await world.session();
    const agent = bench.agent([
      [...look("a"), ...look("b"), { until: bench.streaming.promise }, broken],
      [...look("a2"), finish()],
      answer,
    ]);
    const turn = session.run(agent, "go");
    await world.effects.settle();
    bench.gate("a").resolve("a");
    bench.gate("a2").resolve("a2");
    await world.effects.settle();
    bench.streaming.resolve();
    assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "completed" });
    const entries = await bench.entries();
    assert.deepEqual([bench.began, bench.stopped], [["a", "b", "a2"], ["a", "b"].slice(1)]);
    assert.deepEqual(results(entries), ["a", "TOOL_ABORTED", "a2"], "the first two are kept for audit");
    assert.deepEqual(
      eventsOf(entries, "attempt.ended").map(({ end, exposure }) => [end, exposure.readsEntered]),
      [
        ["discarded", 2],
        ["committed", 1],
        ["committed", 0],
      ],
    );
    const shown = transcriptOf(entries).items.flatMap((item) => (item.type === "message" ? item.parts.length : []));
    assert.deepEqual(shown, [0, 1, 1]);
    assert.equal(world.effects.waiting, 0);
  });

  test("L5: where policy says that an entered tool bars a retry, the turn ends with the break", async () => {
    const bench = new Bench();
    const session = await bench.world.session();
    const agent = bench.agent([[...look("a"), { until: bench.streaming.promise }, broken]], {
      recovery: { preset: "replace" },
    });
    const turn = session.run(agent, "go");
    await bench.world.effects.settle();
    bench.streaming.resolve();
    assert.equal((await bench.world.effects.run(turn.result)).outcome.type, "truncated");
    assert.deepEqual(results(await bench.entries()), ["TOOL_ABORTED"]);
  });

  test("L4: what is not a read, asks somebody, is invalid, or stands behind a conflicting call, waits for its message", async () => {
    const bench = new Bench();
    const { world } = bench;
    const session = await world.session();
    const permission: Agent["permission"] = ({ input }) => ((input as { n: string }).n === "asked" ? "ask" : "allow");
    const script: ScriptEntry = [
      ...look("free", { key: "other" }),
      ...call("write", { n: "write" }),
      ...look("behind"),
      ...look("asked", { key: "third" }),
      ...call("look", {}, "call_invalid"),
      ...look("last", { key: "other" }),
      { until: bench.streaming.promise },
      finish(),
    ];
    const approver: Agent["approver"] = async () => ({ answer: "allow", by: "ann" });
    const turn = session.run(bench.agent([script, answer], { permission, approver }), "go");
    await world.effects.settle();
    assert.deepEqual(bench.began, ["free", "last"]);
    for (const n of ["free", "behind", "asked", "last", "write"]) bench.gate(n).resolve(n);
    bench.streaming.resolve();
    await world.effects.run(turn.result);
    assert.ok(bench.began.indexOf("write") < bench.began.indexOf("behind"));
    assert.equal(new Set(bench.began).size, bench.began.length);
    const entries = await bench.entries();
    assert.deepEqual(results(entries).toSorted(), ["TOOL_INPUT_INVALID", "asked", "behind", "free", "last", "write"]);
    const order = typesOf(entries);
    const writes = entries.findIndex(({ event }) => event.type === "tool.entered" && event.effect === "write");
    assert.ok(writes > order.indexOf("message.committed"));
  });

  test("one that still runs when its message is committed goes on; what conflicts waits for it, all else does not", async () => {
    const bench = new Bench();
    const { world } = bench;
    const session = await world.session();
    const script: ScriptEntry = [
      ...look("slow"),
      ...call("write", { n: "other", key: "other" }, "call_other"),
      ...call("write", { n: "same" }, "call_same"),
      finish(),
    ];
    const turn = session.run(bench.agent([script, answer]), "go");
    await world.effects.settle();
    assert.deepEqual(bench.began, ["slow", "other"]);
    bench.gate("other").resolve("other");
    bench.gate("same").resolve("same");
    await world.effects.settle();
    assert.deepEqual(bench.began, ["slow", "other"]);
    bench.gate("slow").resolve("slow");
    await world.effects.run(turn.result);
    assert.deepEqual(bench.began, ["slow", "other", "same"]);
    const entries = await bench.entries();
    assert.deepEqual(results(entries), ["other", "slow", "same"]);
    assert.equal(eventsOf(entries, "tool.entered").length, 3);
  });

  test("R67: abort in the stream: the read is stopped, told as such in the log, and nothing is left behind", async () => {
    for (const committed of [false, true]) {
      const bench = new Bench();
      const { world } = bench;
      const session = await world.session();
      const rest: ScriptStep[] = committed ? [finish()] : [{ silence: true }];
      const turn = session.run(bench.agent([[...look("a"), ...rest]]), "go");
      await world.effects.settle();
      await session.abort((await session.summary())?.head.openTurn ?? "none");
      assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "aborted" });
      assert.deepEqual(bench.stopped, ["a"]);
      assert.deepEqual(results(await bench.entries()), ["TOOL_ABORTED"]);
      assert.equal(world.effects.waiting, 0);
    }
  });

  test("R61: killed in the stream, or behind the message: the read runs again, in its attempt's retry or under its own key", async () => {
    for (const committed of [false, true]) {
      const bench = new Bench();
      const { world } = bench;
      await world.session();
      const process = world.process();
      const rest: ScriptStep[] = committed ? [finish()] : [{ silence: true }];
      const first = bench.agent([[...look("a"), ...rest]]);
      (await openSession(process, "s")).run(first, "go").result.catch(() => {});
      await world.effects.settle();
      process.die();
      bench.gate("b").resolve("b");
      const again = bench.tool({ execute: () => "again" });
      const agent = bench.agent(committed ? [answer] : [[...look("b"), finish()], answer], { tools: { look: again } });
      const result = await world.effects.run((await world.open()).resume(agent).result);
      assert.deepEqual(result.outcome, { type: "completed" });
      const entries = await bench.entries();
      assert.deepEqual(results(entries), ["again"]);
      const [ended] = eventsOf(entries, "attempt.ended");
      assert.deepEqual([ended?.end, ended?.exposure.readsEntered], committed ? ["committed", 1] : ["interrupted", 1]);
      assert.equal(eventsOf(entries, "tool.settled")[0]?.by, committed ? "rerun" : "tool");
    }
  });

  test("R61: settled by a new input after the kill: an entered read is told as unknown, not as never started", async () => {
    const bench = new Bench();
    const { world } = bench;
    await world.session();
    const process = world.process();
    (await openSession(process, "s")).run(bench.agent([[...look("a"), finish()]]), "go").result.catch(() => {});
    await world.effects.settle();
    process.die();
    await world.effects.run((await world.open()).run(bench.agent([answer]), "and?").result);
    assert.deepEqual(results(await bench.entries()), ["TOOL_OUTCOME_UNKNOWN"]);
  });

  test("a call that the output limit cut is told so, although its invented input could be read", async () => {
    const bench = new Bench();
    const { world } = bench;
    const session = await world.session();
    const cut: ScriptStep[] = [
      { type: "tool-input-start", id: "c1", toolName: "look" },
      { type: "tool-input-delta", id: "c1", delta: '{"n":"a' },
      { type: "tool-input-end", id: "c1" },
      { type: "tool-call", toolCallId: "c1", toolName: "look", input: '{"n":"a"}' },
    ];
    bench.gate("a").resolve("a");
    const turn = session.run(bench.agent([[...cut, finish("length")], answer]), "go");
    await world.effects.run(turn.result);
    assert.deepEqual(results(await bench.entries()), ["TOOL_INPUT_CUT"]);
  });

  test("R72: early results keep to the same cap as late ones, and to what the last request left of the window", async () => {
    const bench = new Bench();
    const session = await bench.world.session();
    for (const n of ["a", "b", "c", "d"]) bench.gate(n).resolve(n.repeat(50_000));
    const two = (first: string, second: string): ScriptEntry => [...look(first), ...look(second), finish()];
    // The script's requests report 15 tokens: 40,000 are left for the second message.
    const agent = bench.agent([two("a", "b"), two("c", "d"), answer], {
      batchOutputChars: 80_000,
      windowTokens: 40_015,
    });
    await bench.world.effects.run(session.run(agent, "go").result);
    const said = eventsOf(await bench.entries(), "tool.settled").map(({ output }) => outputText(output).length);
    const [first, second] = [said.slice(0, 2), said.slice(2)].map((pair) => pair.reduce((sum, one) => sum + one, 0));
    assert.ok((first ?? 0) <= 62_000 && (second ?? 0) <= 62_000, said.join());
    assert.ok(Math.min(...said) > 5_000, said.join());
  });

  test("without the option nothing begins before its message", async () => {
    const bench = new Bench();
    const session = await bench.world.session();
    const script: ScriptEntry = [...look("a"), { until: bench.streaming.promise }, finish()];
    const turn = session.run(bench.agent([script, answer], { eagerReads: false }), "go");
    await bench.world.effects.settle();
    assert.deepEqual(bench.began, []);
    bench.gate("a").resolve("a");
    bench.streaming.resolve();
    await bench.world.effects.run(turn.result);
    assert.equal(eventsOf(await bench.entries(), "tool.entered")[0]?.attempt, undefined);
  });
});
