import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { isPawlError } from "../src/error.ts";
import { faultyStore, type StoreFault } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say, scriptedModel } from "../src/testing/model.ts";
import { defineTool, type ToolSet } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { openSession, type Runtime, type Session } from "../src/turn/session.ts";
import { type TaskOptions, taskTool } from "../src/turn/task.ts";
import { agentOf, assertLawful, deferred, eventsOf, outputText, TurnWorld } from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];

/** Says what the conversation asks for, however often it is asked: as a model does after a crash. */
function modelOf(answerTo: (options: LanguageModelV4CallOptions) => ScriptEntry): LanguageModelV4 {
  const model = scriptedModel([]);
  return { ...model, doStream: (options) => scriptedModel([answerTo(options)]).doStream(options) };
}

/** Calls `tool` once, then says `words`. */
function once(tool: string, input: unknown, words: string): LanguageModelV4 {
  return modelOf(({ prompt }) =>
    prompt.at(-1)?.role === "user" ? [...call(tool, input), finish("tool-calls")] : [...say(words), finish()],
  );
}

/** A parent that gives one task to one child, whose one tool counts its bodies. */
class Family {
  readonly world = new TurnWorld();
  readonly acts: string[] = [];
  /** What the child's tool waits for. */
  gate: Promise<unknown> = Promise.resolve();

  parent(runtime: Runtime, child: Partial<Agent> = {}, rest: Partial<TaskOptions> = {}): Agent {
    const act = defineTool({
      inputSchema: schema,
      execute: async (_, { callId, signal }) => {
        this.acts.push(callId);
        await Promise.race([
          this.gate,
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
        ]);
        return "acted";
      },
    });
    const agent: Agent = { model: once("act", {}, "the child is done"), tools: { act }, ...child };
    const task = taskTool({
      runtime,
      agents: { worker: { description: "does it", agent, workspace: "writes" } },
      ...rest,
    });
    return {
      model: once("task", { agent: "worker", prompt: "do it" }, "the parent is done"),
      tools: { task } as ToolSet,
    };
  }

  /** The one child, opened by a process of its own. */
  async child(): Promise<Session | undefined> {
    const sessions = await this.world.store.list();
    const children = sessions.filter(({ session }) => session.startsWith("task_"));
    assert.ok(children.length <= 1, "a call has one child");
    return children[0] && openSession(this.world.process(), children[0].session);
  }

  async assertAllLawful(where = ""): Promise<void> {
    for (const { session } of await this.world.store.list())
      assertLawful(await (await this.world.open(session)).entries(), `${where} ${session}`);
  }
}

async function resultOf(session: Session): Promise<string[]> {
  return eventsOf(await session.entries(), "tool.settled").map(({ output }) => outputText(output));
}

describe("a task", () => {
  test("returns the last words of a session of its own, which knows its parent", async () => {
    const family = new Family();
    const session = await family.world.session();
    const heard: string[] = [];
    const agent = family.parent(
      family.world.process(),
      {},
      { watch: (item, { agent }) => heard.push(`${agent} ${item.type}`) },
    );
    const { text } = await family.world.effects.run(session.run(agent, "go").result);
    assert.equal(text, "the parent is done");
    assert.deepEqual(await resultOf(session), ["the child is done"]);
    const child = await family.child();
    const [created] = eventsOf((await child?.entries()) ?? [], "session.created");
    assert.deepEqual(created?.labels, { parent: "s" });
    assert.ok(heard.includes("worker part.delta"));
    await family.assertAllLawful();
  });

  test("that fails is an error result which says how it ended and where its log is", async () => {
    const family = new Family();
    const session = await family.world.session();
    const refused = { reject: Object.assign(new Error("no such model"), { statusCode: 404 }) };
    const agent = family.parent(family.world.process(), agentOf([[...say("half"), finish("length")], refused]));
    await family.world.effects.run(session.run(agent, "go").result);
    const [settled] = eventsOf(await session.entries(), "tool.settled");
    assert.equal(settled?.output.isError, true);
    assert.match(settled ? outputText(settled.output) : "", /ended as truncated.*Its log is session task_.*half/s);
    await family.assertAllLawful();
  });

  test("that another process has taken over is told as such, not as a failure that asks for it once more", async () => {
    const family = new Family();
    await family.world.session();
    const process = family.world.process();
    const gate = deferred();
    family.gate = gate.promise;
    const turn = (await openSession(process, "s")).run(family.parent(process), "go");
    while (family.acts.length === 0) await family.world.effects.settle();
    process.die();
    const child = (await family.child()) as Session;
    await family.world.effects.run(child.resume(agentOf([answer])).result);
    gate.resolve();
    const { text } = await family.world.effects.run(turn.result);
    assert.equal(text, "the parent is done");
    const [result] = await resultOf(await family.world.open());
    assert.match(result ?? "", /^The task was taken over: .* session task_.* Do not give it again/);
    await family.assertAllLawful();
  });

  test("R73: its questions go to whoever answers the parent's", async () => {
    const family = new Family();
    const session = await family.world.session();
    const asked: string[] = [];
    const agent = family.parent(
      family.world.process(),
      { permission: () => "ask" },
      {
        approver: async ({ tool }) => {
          asked.push(tool);
          return { answer: "allow", by: "ann" };
        },
      },
    );
    const { outcome } = await family.world.effects.run(session.run(agent, "go").result);
    assert.deepEqual([outcome.type, asked, family.acts.length], ["completed", ["act"], 1]);
  });

  test("R73: with nobody to ask, its question is refused at once and both go on", async () => {
    const family = new Family();
    const session = await family.world.session();
    const agent = family.parent(family.world.process(), { permission: () => "ask" });
    const { outcome } = await family.world.effects.run(session.run(agent, "go").result);
    assert.deepEqual([outcome.type, family.acts.length], ["completed", 0]);
    const child = await family.child();
    assert.match((await resultOf(child as Session))[0] ?? "", /TOOL_DENIED.*nobody is there/);
  });

  test("is stopped with its parent: it drains and settles first", async () => {
    const family = new Family();
    const session = await family.world.session();
    family.gate = deferred().promise;
    const stop = new AbortController();
    const turn = session.run(family.parent(family.world.process()), "go", { signal: stop.signal });
    const ended = family.world.effects.run(turn.result);
    while (family.acts.length === 0) await new Promise(setImmediate);
    stop.abort();
    assert.equal((await ended).outcome.type, "aborted");
    const child = (await family.child()) as Session;
    assert.equal((await child.summary())?.head.outcome, "aborted");
    assert.match((await resultOf(child))[0] ?? "", /TOOL_ABORTED/);
    assert.match((await resultOf(session))[0] ?? "", /TOOL_ABORTED.*session task_/);
    const [childEnd] = eventsOf(await child.entries(), "turn.ended");
    assert.ok(childEnd, "closed before the parent's call was");
    await family.assertAllLawful();
  });
});

describe("a task whose process dies", () => {
  async function crashed(family: Family, fault: StoreFault): Promise<boolean> {
    const { world } = family;
    await world.session();
    const store = faultyStore(world.store, fault);
    const process = world.process(store);
    const session = await openSession(process, "s");
    await world.effects.run(session.run(family.parent(process), "go", { id: "in_go" }).result).catch(() => {});
    process.die();
    return store.failed;
  }

  for (const where of ["before", "after"] as const) {
    test(`at any append, stopped ${where} it: taken over, one child goes on, and no write runs twice`, async () => {
      let append = 1;
      for (; ; append += 1) {
        const family = new Family();
        if (!(await crashed(family, { append, where, lasts: "for-good" }))) break;
        const { world } = family;
        const process = world.process();
        const session = await openSession(process, "s");
        const { openTurn, outcome: ended } = (await session.summary())?.head ?? {};
        // The last append was done: there is nothing to take over.
        if (ended !== undefined) continue;
        const agent = family.parent(process);
        const turn = openTurn === undefined ? session.run(agent, "go", { id: "in_go" }) : session.resume(agent);
        const { outcome } = await world.effects.run(turn.result);
        const at = `append ${append} ${where}`;
        assert.equal(outcome.type, "completed", at);
        assert.ok(family.acts.length <= new Set(family.acts).size, `${at}: a body ran twice`);
        assert.equal((await family.child())?.id !== undefined, true, at);
        for (const { head } of await world.store.list()) assert.equal(head.openTurn, undefined, at);
        await family.assertAllLawful(at);
      }
      assert.ok(append > 8, `only ${append} appends`);
    });

    test(`at any append, stopped ${where} it: closed, it leaves no child open and runs nothing`, async () => {
      for (let append = 1; ; append += 1) {
        const family = new Family();
        if (!(await crashed(family, { append, where, lasts: "for-good" }))) break;
        const { world } = family;
        const process = world.process();
        const session = await openSession(process, "s");
        if ((await session.summary())?.head.openTurn === undefined) continue;
        const before = family.acts.length;
        const { outcome } = await world.effects.run(session.settle(family.parent(process)).result);
        const at = `append ${append} ${where}`;
        assert.deepEqual([outcome.type, family.acts.length], ["interrupted", before], at);
        for (const { head } of await world.store.list()) assert.equal(head.openTurn, undefined, at);
        await family.assertAllLawful(at);
      }
    });
  }
});

describe("settle", () => {
  test("closes what a dead driver left open, asks reconcilers of any effect, and runs nothing", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process(faultyStore(world.store, { append: 3, where: "before", lasts: "for-good" }));
    let runs = 0;
    const look = defineTool({
      inputSchema: schema,
      effect: "idempotent",
      execute: () => `run ${++runs}`,
      reconcile: async ({ session }) => ({ verdict: "done", output: `seen in ${session}` }),
    });
    const agent = agentOf([[...call("look", {}), finish()]], { tools: { look } });
    await world.effects.run((await openSession(process, "s")).run(agent, "go").result).catch(() => {});
    process.die();
    const session = await world.open();
    const { outcome } = await world.effects.run(session.settle(agentOf([], { tools: { look } })).result);
    assert.deepEqual([outcome.type, runs], ["interrupted", 1]);
    assert.deepEqual(await resultOf(session), ["seen in s"]);
    await assert.rejects(
      world.effects.run(session.settle(agentOf([])).result),
      (error) => isPawlError(error, "INVALID_INPUT") && /no open turn to close/.test(error.message),
    );
  });
});

describe("an input with an id", () => {
  test("that was posted before is driven once, and refused when a turn has had it", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await session.post("input", "go", "in_1");
    const { outcome } = await world.effects.run(session.run(agentOf([answer]), "go", { id: "in_1" }).result);
    assert.equal(outcome.type, "completed");
    await assert.rejects(
      world.effects.run(session.run(agentOf([answer]), "go", { id: "in_1" }).result),
      (error) => isPawlError(error, "INVALID_INPUT") && /a turn has claimed it/.test(error.message),
    );
    assert.equal(eventsOf(await session.entries(), "turn.started").length, 1);
  });

  test("that is the id of a post of another kind is refused at once, and that one still waits", async () => {
    const posts: { [kind: string]: (session: Session) => Promise<unknown> } = {
      steer: (session) => session.post("steer", "left", "in_1"),
      edit: (session) => session.edit("in_0", "left", "in_1"),
      withdrawal: (session) => session.withdraw("in_0", "in_1"),
      answer: (session) => session.answer("ap_1", "allow", { id: "in_1" }),
    };
    for (const [kind, post] of Object.entries(posts)) {
      const world = new TurnWorld();
      const session = await world.session();
      await post(session);
      await session.post("input", "before", "in_before");
      await assert.rejects(world.effects.run(session.run(agentOf([]), "go", { id: "in_1" }).result), {
        code: "INVALID_INPUT",
        message: `session s: the id in_1 is that of another post that waits, of kind ${kind}; give the input an id of its own`,
      });
      assert.deepEqual(await world.mailbox(), ["in_1", "in_before"]);
    }
  });
});

test("a child's title is the first line of its task, cut between characters", async () => {
  const family = new Family();
  const prompt = `${"🪲".repeat(100)}\nmore`;
  const parent = { ...family.parent(family.world.process()), model: once("task", { agent: "worker", prompt }, "done") };
  const session = await family.world.session();
  await family.world.effects.run(session.run(parent, "go").result);
  const child = await family.child();
  assert.equal((await child?.summary())?.head.title, "🪲".repeat(72));
});

test("a watcher that throws fails the call, and its child is stopped before that", async () => {
  const family = new Family();
  const fault = new Error("the screen is gone");
  const parent = family.parent(
    family.world.process(),
    {},
    {
      watch(item) {
        if (item.type === "entry" && item.entry.event.type === "tool.entered") throw fault;
      },
    },
  );
  family.gate = new Promise(() => {});
  const session = await family.world.session();
  await family.world.effects.run(session.run(parent, "go").result);
  const [settled] = eventsOf(await session.entries(), "tool.settled");
  assert.equal(settled?.output.isError, true);
  assert.match(settled ? outputText(settled.output) : "", /the screen is gone/);
  const [ended] = eventsOf((await (await family.child())?.entries()) ?? [], "turn.ended");
  assert.equal(ended?.outcome.type, "aborted");
  await family.assertAllLawful();
});
