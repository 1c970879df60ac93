/** Tasks where pieces meet: two at once, one inside of another, and what others do to a child meanwhile. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { prune } from "../src/doctor/prune.ts";
import { PawlError } from "../src/error.ts";
import { faultyStore, type StoreFault } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say, scriptedModel } from "../src/testing/model.ts";
import { defineTool, type Tool, type ToolSet } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { forkSession, openSession, type Runtime, type Session } from "../src/turn/session.ts";
import { type Subagent, taskTool } from "../src/turn/task.ts";
import { sampler } from "./ground.ts";
import { assertLawful, deferred, eventsOf, outputText, TurnWorld } from "./turn-world.ts";

const schema = { type: "object" as const };

/** Calls these once, then says `words`, however often it is asked: as a model does after a crash. */
function once(calls: [tool: string, input: unknown][], words: string): LanguageModelV4 {
  const model = scriptedModel([]);
  const first: ScriptEntry = [...calls.flatMap(([tool, input]) => call(tool, input)), finish("tool-calls")];
  const last: ScriptEntry = [...say(words), finish()];
  return {
    ...model,
    doStream: (options) => scriptedModel([options.prompt.at(-1)?.role === "user" ? first : last]).doStream(options),
  };
}

class Family {
  readonly world = new TurnWorld();
  readonly acts: string[] = [];
  gate: Promise<unknown> = Promise.resolve();
  deaf = false;

  act(): Tool {
    return defineTool({
      inputSchema: schema,
      execute: async (_, { session, callId, signal }) => {
        this.acts.push(`${session} ${callId}`);
        const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        await Promise.race(this.deaf ? [this.gate] : [this.gate, stopped]);
        signal.throwIfAborted();
        return "acted";
      },
    }) as Tool;
  }

  worker(rest: Partial<Agent> = {}): Subagent {
    const agent: Agent = {
      model: once([["act", {}]], "the child is done"),
      tools: { act: this.act() } as ToolSet,
      ...rest,
    };
    return { description: "does it", agent, workspace: "reads" };
  }

  /** Gives two tasks in one message. */
  twins(runtime: Runtime, rest: Partial<Agent> = {}): Agent {
    const task = taskTool({ runtime, agents: { worker: this.worker(rest) } });
    const give = (prompt: string): [string, unknown] => ["task", { agent: "worker", prompt }];
    return { model: once([give("one"), give("two")], "the parent is done"), tools: { task } as ToolSet };
  }

  /** Gives a task to one who gives it on. */
  nested(runtime: Runtime): Agent {
    const inner = taskTool({ runtime, agents: { worker: this.worker() } });
    const middle: Agent = {
      model: once([["task", { agent: "worker", prompt: "do it" }]], "the middle is done"),
      tools: { task: inner } as ToolSet,
    };
    const task = taskTool({
      runtime,
      agents: { middle: { description: "gives it on", agent: middle, workspace: "writes" } },
    });
    return {
      model: once([["task", { agent: "middle", prompt: "do it" }]], "the parent is done"),
      tools: { task } as ToolSet,
    };
  }

  async children(): Promise<Session[]> {
    const all = (await this.world.store.list()).filter(({ session }) => session.startsWith("task_"));
    return Promise.all(all.map(({ session }) => openSession(this.world.process(), session)));
  }

  async assertAllClosed(where = ""): Promise<void> {
    for (const { session, head } of await this.world.store.list()) {
      assert.equal(head.openTurn, undefined, `${where} ${session} is open`);
      assertLawful(await (await this.world.open(session)).entries(), `${where} ${session}`);
    }
  }

  async acting(count = 1): Promise<void> {
    for (let turns = 0; this.acts.length < count; turns += 1) {
      assert.ok(turns < 100_000, `only ${this.acts.length} bodies were entered`);
      await new Promise(setImmediate);
    }
  }
}

async function resultsOf(session: Session): Promise<string[]> {
  return eventsOf(await session.entries(), "tool.settled").map(({ output }) => outputText(output));
}

for (const shape of ["twins", "nested"] as const) {
  describe(`${shape}: killed at any append`, () => {
    /** Says how often it appended. */
    async function crashed(family: Family, fault?: StoreFault): Promise<number> {
      const { world } = family;
      await world.session();
      const store = faultyStore(world.store, fault);
      const process = world.process(store);
      const session = await openSession(process, "s");
      await world.effects.run(session.run(family[shape](process), "go", { id: "in_go" }).result).catch(() => {});
      process.die();
      return store.appends;
    }
    const sessions = 3;
    const isSampled = sampler();

    for (const where of ["before", "inside", "after"] as const) {
      test(`${where} it, taken over: each task has one child, and no write runs twice`, async () => {
        const appends = await crashed(new Family());
        for (let append = 1; append <= appends; append += 1) {
          if (!isSampled()) continue;
          const family = new Family();
          await crashed(family, { append, where, lasts: "for-good" });
          const { world } = family;
          const at = `append ${append} ${where}`;
          const process = world.process();
          const session = await openSession(process, "s");
          const { openTurn, outcome: ended } = (await session.summary())?.head ?? {};
          if (ended === undefined) {
            const agent = family[shape](process);
            const turn = openTurn === undefined ? session.run(agent, "go", { id: "in_go" }) : session.resume(agent);
            assert.equal((await world.effects.run(turn.result)).outcome.type, "completed", at);
          }
          assert.equal(family.acts.length, new Set(family.acts).size, `${at}: a body ran twice`);
          assert.equal((await world.store.list()).length, sessions, at);
          await family.assertAllClosed(at);
        }
        assert.ok(appends > 10, `only ${appends} appends`);
      });

      test(`${where} it, closed: none of them is left open, nothing runs`, async () => {
        const appends = await crashed(new Family());
        for (let append = 1; append <= appends; append += 1) {
          if (!isSampled()) continue;
          const family = new Family();
          await crashed(family, { append, where, lasts: "for-good" });
          const { world } = family;
          const process = world.process();
          const session = await openSession(process, "s");
          if ((await session.summary())?.head.openTurn === undefined) continue;
          const before = family.acts.length;
          const at = `append ${append} ${where}`;
          const { outcome } = await world.effects.run(session.settle(family[shape](process)).result);
          assert.deepEqual([outcome.type, family.acts.length], ["interrupted", before], at);
          await family.assertAllClosed(at);
        }
      });
    }
  });
}

describe("a task that is stopped", () => {
  for (const deaf of [false, true]) {
    test(`with another inside of it${deaf ? ", whose body does not listen" : ""}: all three are closed, the innermost first`, async () => {
      const family = new Family();
      const session = await family.world.session();
      family.gate = deferred().promise;
      family.deaf = deaf;
      const stop = new AbortController();
      const ended = family.world.effects.run(
        session.run(family.nested(family.world.process()), "go", { signal: stop.signal }).result,
      );
      await family.acting();
      stop.abort();
      assert.equal((await ended).outcome.type, "aborted");
      await family.assertAllClosed();
    });
  }

  test("while its question waits: the question is withdrawn, and nothing runs", async () => {
    const family = new Family();
    const session = await family.world.session();
    const asked = deferred<AbortSignal>();
    const stop = new AbortController();
    const process = family.world.process();
    const task = taskTool({
      runtime: process,
      agents: { worker: family.worker({ permission: () => "ask" }) },
      approver: (_, signal) => {
        asked.resolve(signal);
        return new Promise(() => undefined);
      },
    });
    const agent: Agent = {
      model: once([["task", { agent: "worker", prompt: "x" }]], "done"),
      tools: { task } as ToolSet,
    };
    const ended = family.world.effects.run(session.run(agent, "go", { signal: stop.signal }).result);
    const signal = await asked.promise;
    stop.abort();
    assert.equal((await ended).outcome.type, "aborted");
    assert.equal(signal.aborted, true);
    assert.equal(family.acts.length, 0);
    await family.assertAllClosed();
  });
});

/**
 * Its process died with both children open, one of them before its body was entered: that is `childId`. At which append that
 * is so differs where a store answers in its own time.
 */
async function orphaned(): Promise<{ family: Family; session: Session; childId: string }> {
  for (let tries = 0; tries < 60; tries += 1) {
    const family = new Family();
    const { world } = family;
    const session = await world.session();
    const fault: StoreFault = { append: 4 + (tries % 3), where: "after", lasts: "for-good" };
    const dying = world.process(faultyStore(world.store, fault));
    const turn = (await openSession(dying, "s")).run(family.twins(dying), "go", { id: "in_go" });
    await world.effects.run(turn.result).catch(() => {});
    dying.die();
    const open = [];
    for (const child of await family.children()) if ((await child.summary())?.head.openTurn) open.push(child);
    for (const child of open.length === 2 ? open : [])
      if (eventsOf(await child.entries(), "tool.entered").length === 0) return { family, session, childId: child.id };
  }
  return assert.fail("no append leaves both children open");
}

describe("what others do to a child meanwhile", () => {
  test("deleted by a person while it acts: the parent is told, and goes on", async () => {
    const family = new Family();
    const { world } = family;
    const session = await world.session();
    const { promise, resolve } = deferred();
    family.gate = promise;
    const agent = family.twins(world.process());
    const ended = world.effects.run(session.run(agent, "go").result);
    await family.acting();
    const [child] = await family.children();
    await world.store.delete(child?.id ?? "").catch((error: unknown) => error);
    resolve();
    assert.equal((await ended).outcome.type, "completed");
    const results = await resultsOf(session);
    assert.match(
      results.join("\n"),
      /session task_\w+ has been deleted meanwhile, .* What it did up to then stands; look at it/,
    );
    assert.doesNotMatch(results.join("\n"), /TOOL_FAILED/);
    await family.assertAllClosed();
  });

  test("deleted after the process died: whoever resumes is told, and no second one is made", async () => {
    const { family, session } = await orphaned();
    const { world } = family;
    for (const child of await family.children()) await world.store.delete(child.id);
    const process = world.process();
    const turn = (await openSession(process, "s")).resume(family.twins(process));
    assert.equal((await world.effects.run(turn.result)).outcome.type, "completed");
    for (const text of await resultsOf(session))
      assert.match(text, /^The task did not complete: session task_\w+ has been/);
    assert.equal((await family.children()).length, 0);
    await family.assertAllClosed();
  });

  test("completed, and its parent's turn cut off: pruning leaves it, and the result is there a year later", async () => {
    const { family, session, childId } = await orphaned();
    const { world } = family;
    const process = world.process();
    const { promise, resolve } = deferred();
    family.gate = promise;
    const before = family.acts.length;
    const turn = world.effects.run((await openSession(process, childId)).resume(family.worker().agent).result);
    await family.acting(before + 1);
    resolve();
    await turn;
    world.effects.advance(365 * 86_400_000);
    const pruned = await prune(process, { olderThanMs: 86_400_000 });
    assert.deepEqual([pruned.deleted, (await family.children()).length], [[], 2]);
    const acts = family.acts.length;
    await world.effects.run((await openSession(process, "s")).resume(family.twins(process)).result);
    assert.match((await resultsOf(session)).join(), /the child is done/);
    assert.ok(family.acts.length <= acts + 1, "what had completed is not done again");
    world.effects.advance(365 * 86_400_000);
    assert.equal((await prune(process, { olderThanMs: 86_400_000 })).deleted.length, 3);
  });

  test("driven by another process: the parent's call says so, and nothing runs twice", async () => {
    const { family, session, childId } = await orphaned();
    const { world } = family;
    const { promise, resolve } = deferred();
    family.gate = promise;
    const other = world.process();
    const before = family.acts.length;
    const theirs = world.effects.run((await openSession(other, childId)).resume(family.worker().agent).result);
    await family.acting(before + 1);
    const process = world.process();
    const { outcome } = await world.effects.run((await openSession(process, "s")).resume(family.twins(process)).result);
    assert.equal(outcome.type, "completed");
    const results = (await resultsOf(session)).join("\n");
    assert.match(
      results,
      /The task goes on without this call: session task_\w+ is being driven by .* Do not give it again/,
    );
    assert.doesNotMatch(results, /TOOL_FAILED/);
    resolve();
    await theirs;
    await family.assertAllClosed();
  });

  test("parent forked while it runs: the fork is told that it runs there, and has no child of its own", async () => {
    const family = new Family();
    const { world } = family;
    const session = await world.session();
    const { promise, resolve } = deferred();
    family.gate = promise;
    const ended = world.effects.run(session.run(family.twins(world.process()), "go").result);
    await family.acting(2);
    const at = (await session.summary())?.seq ?? 0;
    const fork = await forkSession(world.process(), { session: "s", seq: at }, "f");
    const forked = await world.effects.run(fork.run(family.twins(world.process()), "and now?").result);
    assert.equal(forked.outcome.type, "completed");
    const results = await resultsOf(fork);
    assert.equal(results.filter((text) => text.startsWith("TOOL_OUTCOME_UNKNOWN")).length, 2);
    assert.equal((await family.children()).length, 4, "the new calls of the fork have children of their own");
    resolve();
    await ended;
    await family.assertAllClosed();
  });

  test("a store that is full in the child only: the child waits for room, and both complete", async () => {
    const family = new Family();
    const { world } = family;
    const session = await world.session();
    let full = 3;
    const append = world.store.append.bind(world.store);
    world.store.append = async (batch) => {
      if (batch.session.startsWith("task_") && batch.expectedSeq > 2 && full-- > 0) {
        throw new PawlError("STORE_FULL", "full");
      }
      return append(batch);
    };
    const { outcome } = await world.effects.run(session.run(family.twins(world.process()), "go").result);
    assert.equal(outcome.type, "completed");
    assert.equal(new Set(family.acts).size, family.acts.length);
    assert.deepEqual(await resultsOf(session), ["the child is done", "the child is done"]);
    await family.assertAllClosed();
  });
});
