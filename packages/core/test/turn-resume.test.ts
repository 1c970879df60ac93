import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Effect } from "../src/log/event.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say, scriptedModel, think } from "../src/testing/model.ts";
import type { ApprovalAnswer } from "../src/tool/approval.ts";
import { defineTool, type Reconciled, type Tool } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { openSession, type Session } from "../src/turn/session.ts";
import { transcriptOf } from "../src/view/transcript.ts";
import { agentOf, assertLawful, brokenLaws, eventsOf, outputText, promptFor, TurnWorld } from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];
const asking: ScriptEntry = [...call("act", {}), finish()];

/** Where the first process stops: append 2 announces the body, append 3 holds its result. */
const instants = {
  "before the intent": { append: 2, where: "before" },
  "after the intent": { append: 2, where: "after" },
  "after the effect": { append: 3, where: "before" },
  "after the result": { append: 3, where: "after" },
} as const;

class Act {
  runs = 0;
  keys: string[] = [];

  tool(rest: Partial<Tool> = {}): Tool {
    return defineTool<unknown>({
      inputSchema: schema,
      execute: (_, { idempotencyKey }) => {
        this.runs += 1;
        this.keys.push(idempotencyKey);
        return `run ${this.runs}`;
      },
      ...rest,
    } as Tool & { inputSchema: typeof schema });
  }
}

async function crashed(
  world: TurnWorld,
  agent: Agent,
  fault: { append: number; where: "before" | "after" },
): Promise<Session> {
  await world.session();
  const process = world.process(faultyStore(world.store, { ...fault, lasts: "for-good" }));
  await world.effects.run((await openSession(process, "s")).run(agent, "go").result).catch(() => {});
  process.die();
  return world.open();
}

function tools(act: Tool): Pick<Agent, "tools"> {
  return { tools: { act: act as Tool<never> } };
}

describe("resume", () => {
  const runs: Record<Effect, Record<keyof typeof instants, number>> = {
    read: { "before the intent": 1, "after the intent": 1, "after the effect": 2, "after the result": 1 },
    idempotent: { "before the intent": 1, "after the intent": 1, "after the effect": 2, "after the result": 1 },
    write: { "before the intent": 1, "after the intent": 0, "after the effect": 1, "after the result": 1 },
  };
  for (const effect of ["read", "idempotent", "write"] as const) {
    for (const instant of Object.keys(instants) as (keyof typeof instants)[]) {
      test(`R61 L4: killed ${instant} of a ${effect} body: it ran ${runs[effect][instant]} times in all`, async () => {
        const world = new TurnWorld();
        const act = new Act();
        const session = await crashed(world, agentOf([asking], tools(act.tool({ effect }))), instants[instant]);
        const agent = agentOf(
          instant === "before the intent" ? [asking, answer] : [answer],
          tools(act.tool({ effect })),
        );
        const result = await world.effects.run(session.resume(agent).result);
        assert.deepEqual(result.outcome, { type: "completed" });
        assert.equal(act.runs, runs[effect][instant]);
        assert.equal(new Set(act.keys).size, Math.min(act.runs, 1), "one key over all runs");
        const [settled] = eventsOf(await session.entries(), "tool.settled");
        const unknown = effect === "write" && instant.match(/intent|effect/) && instant !== "before the intent";
        assert.equal(settled?.output.code, unknown ? "TOOL_OUTCOME_UNKNOWN" : undefined);
        assertLawful(await session.entries());
      });
    }
  }

  test("R61: the effect of the entry counts, not today's registry: a read that has become a write still re-runs", async () => {
    const world = new TurnWorld();
    const act = new Act();
    const session = await crashed(
      world,
      agentOf([asking], tools(act.tool({ effect: "read" }))),
      instants["after the effect"],
    );
    await world.effects.run(session.resume(agentOf([answer], tools(act.tool({ effect: "write" })))).result);
    assert.equal(act.runs, 2);
    assertLawful(await session.entries());
  });

  test("R61: a tool that is gone: what it had begun is unknown, not unheard of", async () => {
    const world = new TurnWorld();
    const session = await crashed(
      world,
      agentOf([asking], tools(new Act().tool({ effect: "read" }))),
      instants["after the effect"],
    );
    await world.effects.run(session.resume(agentOf([answer])).result);
    assert.equal(eventsOf(await session.entries(), "tool.settled")[0]?.output.code, "TOOL_OUTCOME_UNKNOWN");
  });

  const verdicts: [string, () => Promise<Reconciled>, string | undefined, RegExp][] = [
    ["done", async () => ({ verdict: "done", output: "it is there" }), undefined, /it is there/],
    ["not done", async () => ({ verdict: "not-done" }), "TOOL_NOT_STARTED", /Make it again/],
    ["unknown", async () => ({ verdict: "unknown" }), "TOOL_OUTCOME_UNKNOWN", /Do not simply repeat/],
    ["a throw", () => assert.fail("cannot look"), "TOOL_OUTCOME_UNKNOWN", /Do not simply repeat/],
    ["no answer, ever", () => new Promise(() => {}), "TOOL_OUTCOME_UNKNOWN", /Do not simply repeat/],
  ];
  for (const [title, reconcile, code, text] of verdicts) {
    for (const mode of ["resume", "new input"] as const) {
      test(`L4: ${mode}: a reconciler says ${title}: the write is not entered again`, async () => {
        const world = new TurnWorld();
        const act = new Act();
        const tool = act.tool({ reconcile });
        const session = await crashed(world, agentOf([asking], tools(tool)), instants["after the effect"]);
        const agent = agentOf([answer], tools(tool));
        await world.effects.run((mode === "resume" ? session.resume(agent) : session.run(agent, "and?")).result);
        const [settled] = eventsOf(await session.entries(), "tool.settled");
        assert.equal(settled?.output.code, code);
        assert.match(outputText(settled?.output ?? { content: [], isError: true }), text);
        assert.equal(act.runs, 1);
        assertLawful(await session.entries());
      });
    }
  }

  test("an abort while a reconciler looks ends the wait: unknown, told why it waited, and the reconciler hears of it", async () => {
    const world = new TurnWorld();
    const act = new Act();
    const heard = Promise.withResolvers<void>();
    const stop = new AbortController();
    const reconcile = ({ signal }: { signal: AbortSignal }) => {
      signal.addEventListener("abort", () => heard.resolve());
      stop.abort();
      return new Promise<Reconciled>(() => {});
    };
    const tool = act.tool({ reconcile });
    const session = await crashed(world, agentOf([asking], tools(tool)), instants["after the effect"]);
    const turn = session.resume(agentOf([answer], tools(tool)), { signal: stop.signal });
    const told = turn[Symbol.asyncIterator]();
    assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "aborted" });
    await heard.promise;
    const first = await told.next();
    assert.match(first.value?.type === "warning" ? first.value.text : "", /act was running when its process died/);
    assert.equal(eventsOf(await session.entries(), "tool.settled")[0]?.output.code, "TOOL_OUTCOME_UNKNOWN");
    assert.equal(act.runs, 1);
    assertLawful(await session.entries());
  });

  test("R54: a fast result beside a slow sibling survives the kill", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process();
    const fast = defineTool({ inputSchema: schema, locks: () => [], execute: () => "fast" });
    const slow = defineTool({ inputSchema: schema, locks: () => [], execute: () => new Promise(() => {}) });
    const script: ScriptEntry = [...call("slow", {}), ...call("fast", {}), finish()];
    const turn = (await openSession(process, "s")).run(agentOf([script], { tools: { fast, slow } }), "go");
    turn.result.catch(() => {});
    await world.effects.settle();
    process.die();
    const session = await world.open();
    await world.effects.run(session.run(agentOf([answer], { tools: { fast, slow } }), "and?").result);
    const entries = await session.entries();
    assert.deepEqual(
      eventsOf(entries, "tool.settled").map((event) => event.output.code ?? outputText(event.output)),
      ["fast", "TOOL_OUTCOME_UNKNOWN"],
    );
    const results = promptFor(entries).find((message) => message.role === "tool")?.content ?? [];
    assert.deepEqual(
      results.map((part) => part.type === "tool-result" && part.toolName),
      ["slow", "fast"],
    );
    assertLawful(entries);
  });
});

describe("approvals over a crash", () => {
  test("R64: killed while a person is asked: the call was not started; asked again under the same id, it runs once", async () => {
    const world = new TurnWorld();
    const act = new Act();
    await world.session();
    const process = world.process();
    const first = agentOf([asking], {
      ...tools(act.tool()),
      permission: () => "ask",
      approver: () => new Promise<ApprovalAnswer>(() => {}),
    });
    (await openSession(process, "s")).run(first, "go").result.catch(() => {});
    await world.effects.settle();
    process.die();
    const session = await world.open();
    const asked: string[] = [];
    const approver = async ({ call: id }: { call: string }): Promise<ApprovalAnswer> => {
      asked.push(id);
      return { answer: "allow", by: "ann" };
    };
    await world.effects.run(
      session.resume(agentOf([answer], { ...tools(act.tool()), permission: () => "ask", approver })).result,
    );
    const entries = await session.entries();
    assert.equal(act.runs, 1);
    assert.equal(asked.length, 1);
    assert.equal(eventsOf(entries, "approval.requested").length, 1);
    assert.deepEqual(
      eventsOf(entries, "approval.resolved").map(({ answer: said, by }) => [said, by]),
      [["allow", "ann"]],
    );
    assertLawful(entries);
  });

  test("R64: an answer that is recorded and not spent counts after the crash; entering the body spends it", async () => {
    const world = new TurnWorld();
    const act = new Act();
    let asked = 0;
    const approver = async (): Promise<ApprovalAnswer> => {
      asked += 1;
      return { answer: "allow", by: "ann" };
    };
    const asks: Partial<Agent> = { permission: () => "ask", approver };
    // Append 2 holds the question, append 3 the answer and the entry of the first body.
    const two: ScriptEntry = [...call("act", {}, "c1"), ...call("act", {}, "c2"), finish()];
    const agent = agentOf([two], { ...tools(act.tool({ effect: "read" })), ...asks });
    const session = await crashed(world, agent, { append: 3, where: "after" });
    assert.equal(asked, 2);
    await world.effects.run(
      session.resume(agentOf([answer], { ...tools(act.tool({ effect: "read" })), ...asks })).result,
    );
    assert.equal(asked, 3, "the entered call is asked about again, the other one is not");
    assertLawful(await session.entries());
  });

  test("R64: a crash while approval is pending, then a new input: told as not started", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process();
    const agent = agentOf([asking], {
      ...tools(new Act().tool()),
      permission: () => "ask",
      approver: () => new Promise<ApprovalAnswer>(() => {}),
    });
    (await openSession(process, "s")).run(agent, "go").result.catch(() => {});
    await world.effects.settle();
    process.die();
    const session = await world.open();
    await world.effects.run(session.run(agentOf([answer]), "never mind").result);
    assert.equal(eventsOf(await session.entries(), "tool.settled")[0]?.output.code, "TOOL_NOT_STARTED");
  });
});

describe("an attempt whose process died", () => {
  async function diesIn(stream: ScriptEntry): Promise<{ world: TurnWorld; session: Session }> {
    const world = new TurnWorld();
    await world.session();
    const process = world.process();
    (await openSession(process, "s")).run(agentOf([stream]), "go").result.catch(() => {});
    await world.effects.settle();
    world.effects.advance(300);
    await world.effects.settle();
    process.die();
    return { world, session: await world.open() };
  }

  test("L2 L5: with text: what was read is kept for audit, retracted, and the request is made anew", async () => {
    const { world, session } = await diesIn([...say("half an answ"), { silence: true }] as ScriptEntry);
    await world.effects.run(session.resume(agentOf([answer])).result);
    const entries = await session.entries();
    const [dead] = eventsOf(entries, "attempt.ended");
    assert.deepEqual([dead?.end, dead?.decision?.action, dead?.fragment?.length], ["interrupted", "discard", 1]);
    const messages = transcriptOf(entries).items.filter((item) => item.type === "message");
    assert.deepEqual(
      messages.map(({ parts }) => parts.length),
      [0, 1],
    );
    assertLawful(entries);
  });

  test("L5: with reasoning alone: sealed, counted against the seals of the step", async () => {
    const { world, session } = await diesIn([...think("hm"), { silence: true }] as ScriptEntry);
    const broken = { fail: Object.assign(new Error("reset"), { code: "ECONNRESET" }) };
    const agent = agentOf([[...think("hm"), broken], [...think("hm"), broken], answer]);
    const result = await world.effects.run(session.resume(agent).result);
    assert.equal(result.outcome.type, "failed");
    assert.equal(agent.model.requests.length, 2, "two seals a step, the crashed one included");
    assertLawful(await session.entries());
  });

  test("L4: with a tool that the provider ran: never asked again, the outcome is unknown", async () => {
    const { world, session } = await diesIn([
      { type: "tool-input-start", id: "x", toolName: "deploy", providerExecuted: true },
      { silence: true },
    ]);
    const agent = agentOf([answer]);
    const result = await world.effects.run(session.resume(agent).result);
    assert.equal(agent.model.requests.length, 0);
    assert.equal(result.outcome.type, "truncated");
    assertLawful(await session.entries());
  });

  test("L3: settled by a new input: the fragment is shown, and told to the model as interrupted text", async () => {
    const { world, session } = await diesIn([...say("half an answ"), { silence: true }] as ScriptEntry);
    const agent = agentOf([answer]);
    await world.effects.run(session.run(agent, "go on").result);
    assert.match(JSON.stringify(agent.model.requests[0]?.prompt), /half an answ \[interrupted\]/);
    assert.match(JSON.stringify(transcriptOf(await session.entries())), /half an answ/);
    assert.equal(await world.store.readPartial("s"), undefined, "the journal leaves no trace");
  });

  test("L10: taken over with other instructions and another model: the step is begun anew, its header recorded", async () => {
    const { world, session } = await diesIn([...say("half an answ"), { silence: true }] as ScriptEntry);
    const agent = { ...agentOf([]), model: scriptedModel([answer], "another"), instructions: "be brief" };
    assert.deepEqual((await world.effects.run(session.resume(agent).result)).outcome, { type: "completed" });
    const entries = await session.entries();
    assert.deepEqual(
      eventsOf(entries, "step.started").map(({ number, header }) => [number, header?.model.id]),
      [
        [1, "scripted"],
        [2, "another"],
      ],
    );
    assert.deepEqual(brokenLaws(entries), []);
  });

  test("L6: crashes use up the same budget: a turn that dies again and again ends", async () => {
    const world = new TurnWorld();
    await world.session();
    const attempts = 3;
    const agent = () =>
      agentOf([[...say("half"), { silence: true }] as ScriptEntry], { recovery: { attemptsPerStep: attempts } });
    for (let life = 1; life <= attempts; life += 1) {
      const process = world.process();
      const session = await openSession(process, "s");
      (life === 1 ? session.run(agent(), "go") : session.resume(agent())).result.catch(() => {});
      await world.effects.settle();
      world.effects.advance(2_500);
      await world.effects.settle();
      process.die();
    }
    const session = await world.open();
    const result = await world.effects.run(session.resume(agent()).result);
    assert.equal(result.outcome.type, "failed");
    assert.equal(eventsOf(await session.entries(), "attempt.started").length, attempts);
  });
});
