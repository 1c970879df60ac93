/** The snapshot of the workspace that a step begins with: when it is taken, and what becomes of a turn without one. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { limit } from "../src/limit.ts";
import { call, finish, type ScriptEntry, say, think } from "../src/testing/model.ts";
import { defineTool, type ToolSet } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { openSession, type Session } from "../src/turn/session.ts";
import type { SnapshotRequest } from "../src/turn/workspace-snapshot.ts";
import { agentOf, assertLawful, deferred, eventsOf, TurnWorld, typesOf } from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];
const broken = { fail: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) };
const acts: ScriptEntry = [...call("act", {}, "c1"), finish("tool-calls")];

/** What happened outside, in order. */
class Outside {
  readonly happened: string[] = [];
  readonly tools: ToolSet;

  constructor() {
    const tool = (effect: "read" | "write") =>
      defineTool({
        inputSchema: schema,
        effect,
        locks: () => [],
        execute: (_, { callId }) => {
          this.happened.push(callId.replace(/^.*-/, `${effect} `));
          return "ok";
        },
      });
    this.tools = { act: tool("write"), look: tool("read") };
  }

  agent(script: ScriptEntry[], rest: Partial<Agent> = {}, take?: (request: SnapshotRequest) => unknown): Agent {
    const snapshot: NonNullable<Agent["snapshot"]> = {
      take: async (request) => {
        this.happened.push("snapshot");
        return take ? (take(request) as string) : `kept-${request.step}`;
      },
    };
    return agentOf(script, { tools: this.tools, snapshot, ...rest });
  }
}

async function run(world: TurnWorld, session: Session, agent: Agent): Promise<{ warnings: string[]; outcome: string }> {
  const turn = session.run(agent, "go");
  const warnings: string[] = [];
  const heard = (async () => {
    for await (const item of turn) if (item.type === "warning") warnings.push(item.text);
  })();
  const { outcome } = await world.effects.run(turn.result);
  await heard;
  assertLawful(await session.entries());
  return { warnings, outcome: outcome.type };
}

const notes = async (session: Session) => eventsOf(await session.entries(), "note.recorded").map(({ text }) => text);

describe("workspace snapshot", () => {
  test("one before the first call with effects, shared by those beside it; none for a step that only reads", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const outside = new Outside();
    const two: ScriptEntry = [...call("act", {}, "c1"), ...call("act", {}, "c2"), finish("tool-calls")];
    const looks: ScriptEntry = [...call("look", {}, "c1"), finish("tool-calls")];
    await run(world, session, outside.agent([looks, two, acts, answer]));
    assert.deepEqual(outside.happened, ["read 1", "snapshot", "write 1", "write 2", "snapshot", "write 1"]);
    const entries = await session.entries();
    const steps = eventsOf(entries, "step.started").map(({ step }) => step);
    assert.deepEqual(
      eventsOf(entries, "snapshot.recorded").map(({ step, snapshot }) => [step, snapshot]),
      [
        [steps[1], `kept-${steps[1]}`],
        [steps[2], `kept-${steps[2]}`],
      ],
    );
    const types = typesOf(entries);
    assert.equal(types[types.indexOf("snapshot.recorded") + 1], "tool.entered", "it shares the batch of the entry");
  });

  test("no flush more than without it", async () => {
    const appends = async (agent: (outside: Outside) => Agent) => {
      const world = new TurnWorld();
      await world.session();
      let count = 0;
      const { store } = world;
      const append = store.append.bind(store);
      store.append = (batch) => {
        count += 1;
        return append(batch);
      };
      await run(world, await openSession(world.process(), "s"), agent(new Outside()));
      return count;
    };
    const script = [acts, acts, answer];
    const plain = await appends((outside) => agentOf(script, { tools: outside.tools }));
    assert.equal(await appends((outside) => outside.agent(script)), plain);
  });

  test("a discarded or sealed attempt leaves the step's snapshot as it was: there is none before a message is good", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const outside = new Outside();
    const cut: ScriptEntry = [...call("act", {}, "c1"), broken];
    await run(world, session, outside.agent([cut, [...think("hm"), broken], acts, answer]));
    assert.deepEqual(outside.happened, ["snapshot", "write 1"]);
    const types = typesOf(await session.entries());
    assert.ok(types.indexOf("snapshot.recorded") > types.indexOf("message.committed"));
  });

  for (const [title, take, why] of [
    ["that fails", () => Promise.reject(new Error("no git here")), /no git here/],
    ["that throws nothing", () => Promise.reject(undefined), /nothing that says why was thrown/],
    ["that is no text", () => 7, /it is no text but number/],
    ["that never comes", () => new Promise(() => {}), /it took longer than 60 s/],
  ] as const) {
    test(`L6: a snapshot ${title}: the turn goes on, with one note and one warning for all its steps`, async () => {
      const world = new TurnWorld();
      const session = await world.session();
      const outside = new Outside();
      const { outcome, warnings } = await run(world, session, outside.agent([acts, acts, answer], {}, take));
      assert.equal(outcome, "completed");
      assert.equal(eventsOf(await session.entries(), "snapshot.recorded").length, 0);
      assert.equal((await notes(session)).length, 1);
      assert.match((await notes(session))[0] ?? "", why);
      assert.equal(warnings.filter((text) => why.test(text)).length, 1);
      assert.deepEqual(outside.happened.filter((what) => what !== "snapshot").length, 2);
    });
  }

  test("a policy that says stop, and a snapshot that came too late: the next turn of the same drive has its own", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const outside = new Outside();
    let asked = 0;
    const late = new Promise(() => {});
    const agent = outside.agent([acts, acts, answer], { withoutSnapshot: "stop", snapshotMs: 1_000 }, () => {
      asked += 1;
      return asked === 1 ? late : "kept";
    });
    await session.post("input", "go");
    await world.effects.run(session.run(agent, "and again").result);
    const ends = eventsOf(await session.entries(), "turn.ended").map(({ outcome }) => outcome.type);
    assert.deepEqual(ends, ["failed", "completed"]);
    assert.deepEqual(outside.happened, ["snapshot", "snapshot", "write 1"]);
  });

  test("a policy that says stop: the turn fails with the snapshot's failure, and nothing is entered", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const outside = new Outside();
    const agent = outside.agent([acts], { withoutSnapshot: "stop" }, () => Promise.reject(new Error("no git here")));
    const { outcome } = await run(world, session, agent);
    assert.equal(outcome, "failed");
    assert.deepEqual(outside.happened, ["snapshot"]);
    const failure = eventsOf(await session.entries(), "turn.ended")[0]?.failure;
    assert.deepEqual([failure?.kind, failure?.code], ["tool-runtime", "NO_SNAPSHOT"]);
    assert.match(
      failure?.message ?? "",
      /before this step: no git here; .*nothing was run.* continue the turn, or let/,
    );
  });

  test("R67: an abort while it is taken: nobody waits for it, nothing is entered, its signal tells it", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const outside = new Outside();
    const asked = deferred<SnapshotRequest>();
    const agent = outside.agent([acts], {}, (request) => {
      asked.resolve(request);
      return new Promise(() => {});
    });
    const stop = new AbortController();
    const turn = session.run(agent, "go", { signal: stop.signal });
    const { signal } = await asked.promise;
    stop.abort();
    const { outcome } = await world.effects.run(turn.result);
    assert.equal(outcome.type, "aborted");
    assert.equal(signal.aborted, true);
    assert.deepEqual(outside.happened, ["snapshot"]);
    const entries = await session.entries();
    assert.equal(eventsOf(entries, "tool.settled")[0]?.output.code, "TOOL_NOT_STARTED");
    assertLawful(entries);
  });

  test("L3: a slow one does not keep the message from the log", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const other = await world.open();
    const outside = new Outside();
    const asked = deferred();
    const gate = deferred<string>();
    const agent = outside.agent([acts, answer], {}, () => {
      asked.resolve();
      return gate.promise;
    });
    const turn = session.run(agent, "go");
    await asked.promise;
    assert.equal(eventsOf(await other.entries(), "message.committed").length, 0);
    world.effects.advance(limit.snapshotPatienceMs);
    await world.effects.settle();
    assert.equal(eventsOf(await other.entries(), "message.committed").length, 1);
    gate.resolve("kept");
    await world.effects.run(turn.result);
    assert.equal(eventsOf(await session.entries(), "snapshot.recorded").length, 1);
    assertLawful(await session.entries());
  });

  test("a take-over takes none where one is recorded, nor where something was entered already", async () => {
    for (const recorded of [true, false]) {
      const world = new TurnWorld();
      await world.session();
      const process = world.process();
      const outside = new Outside();
      const inBody = deferred();
      const hang = defineTool({
        inputSchema: schema,
        effect: "idempotent",
        execute: () => new Promise(() => inBody.resolve()),
      });
      const take = () => (recorded ? "kept" : undefined);
      const first = outside.agent([acts], { tools: { act: hang } }, take);
      (await openSession(process, "s")).run(first, "go");
      await inBody.promise;
      process.die();
      const again = outside.agent([answer], { tools: { act: { ...hang, execute: () => "ok" } } }, () => "late");
      const session = await world.open();
      await world.effects.run(session.resume(again).result);
      assert.deepEqual(outside.happened, ["snapshot"]);
      const kept = eventsOf(await session.entries(), "snapshot.recorded").map(({ snapshot }) => snapshot);
      assert.deepEqual(kept, recorded ? ["kept"] : []);
      assertLawful(await session.entries());
    }
  });

  test("what it does not hold is said once, as a note and a warning", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const agent = new Outside().agent([acts, acts, answer], {}, ({ warn, step }) => {
      warn("left out: movie.mkv");
      return step;
    });
    const { warnings } = await run(world, session, agent);
    assert.deepEqual(warnings, ["left out: movie.mkv"]);
    assert.deepEqual(await notes(session), warnings);
  });
});
