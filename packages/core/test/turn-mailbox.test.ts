import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PawlError } from "../src/error.ts";
import { limit } from "../src/limit.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { forkSession, openSession } from "../src/turn/session.ts";
import { agentOf, assertLawful, deferred, eventsOf, TurnWorld, typesOf } from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];
const asking: ScriptEntry = [...call("act", {}), finish()];

/** A tool that posts a steer while it runs. */
function steering(world: TurnWorld, id = "in_steer", then: () => Promise<unknown> = async () => {}) {
  const execute = async () => {
    await (await world.open()).post("steer", "left, please", id);
    await then();
    return "ok";
  };
  return { act: defineTool({ inputSchema: schema, execute }) };
}

function said(prompt: unknown): boolean {
  return JSON.stringify(prompt).includes("left, please");
}

describe("mailbox", () => {
  test("a post nested beyond any meaning is refused at the door, and nobody waits for ever", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    let data: unknown = 1;
    for (let depth = 0; depth < 600; depth += 1) data = [data];
    await assert.rejects(session.post("input", [{ type: "data", data: data as never }]), { code: "INVALID_INPUT" });
    assert.deepEqual(await session.queue(), []);
  });

  test("a fork may take a post whose id its parent has seen: each is accepted once, and no law says otherwise", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await session.post("input", "one", "in_1");
    await world.effects.run(session.run(agentOf([answer, answer]), "two").result);
    const { seq = 0 } = (await session.summary()) ?? {};
    const fork = await forkSession(world.process(), { session: "s", seq }, "fork");
    await fork.post("input", "one, again", "in_1");
    await world.effects.run(fork.run(agentOf([answer, answer]), "two").result);
    assertLawful(await fork.entries());
  });

  test("a run is told of its own turn's end also where a later turn of the same drive meets a failing append", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const append = world.store.append.bind(world.store);
    let turns = 0;
    let failed = false;
    world.store.append = async (batch) => {
      // The one after the batch that has begun the second turn.
      if (turns === 2 && !failed) {
        failed = true;
        throw new PawlError("STORE_UNAVAILABLE", "once");
      }
      turns += batch.records.filter(({ type }) => type === "turn.started").length;
      return append(batch);
    };
    // Long enough that a snapshot is taken behind the first turn.
    const many = Array.from({ length: 600 }, (_, at) => call("act", {}, `c${at}`)).flat();
    const act = defineTool({
      inputSchema: schema,
      locks: () => [],
      execute: async () => {
        await (await world.open()).post("input", "the next one", "in_next");
        return "ok";
      },
    });
    const agent = agentOf([[...many, finish()], answer, answer], { tools: { act } });
    const { outcome } = await world.effects.run(session.run(agent, "go").result);
    assert.deepEqual([outcome.type, failed], ["completed", true]);
    const ends = eventsOf(await session.entries(), "turn.ended").map((event) => event.outcome.type);
    assert.deepEqual(ends, ["completed", "failed"]);
    assertLawful(await session.entries());
  });

  test("R68: a steer during tools goes in with the next request, after the results, in that attempt's batch", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const agent = agentOf([asking, answer], { tools: steering(world) });
    await world.effects.run(session.run(agent, "go").result);
    const last = agent.model.requests.at(-1)?.prompt.map((message) => message.role);
    assert.deepEqual(last, ["user", "assistant", "tool", "user"]);
    const types = typesOf(await session.entries());
    assert.equal(
      types.indexOf("attempt.started", types.indexOf("tool.settled")),
      types.lastIndexOf("input.accepted") + 1,
    );
    assertLawful(await session.entries());
  });

  test("R68: the same where nobody is told that it came: the batch that announces the request finds it", async () => {
    const world = new TurnWorld();
    world.store.watch = () => () => {};
    const session = await world.session();
    const agent = agentOf([asking, answer], { tools: steering(world) });
    await world.effects.run(session.run(agent, "go").result);
    assert.ok(said(agent.model.requests[1]?.prompt));
    const [types, steps] = [typesOf(await session.entries()), eventsOf(await session.entries(), "step.started")];
    assert.deepEqual([types.filter((type) => type === "attempt.started").length, steps.length], [2, 2]);
    assertLawful(await session.entries());
  });

  test("the mailbox is read once a turn, where nothing comes; an abort that nobody was told of ends the turn", async () => {
    const world = new TurnWorld();
    world.store.watch = () => () => {};
    const session = await world.session();
    const mailbox = world.store.mailbox.bind(world.store);
    let read = 0;
    world.store.mailbox = (id) => {
      read += 1;
      return mailbox(id);
    };
    let calls = 0;
    const execute = async () => {
      calls += 1;
      if (calls === 20) await session.abort((await session.summary())?.head.openTurn ?? "none");
      return "ok";
    };
    const tools = { act: defineTool({ inputSchema: schema, execute }) };
    const agent = agentOf(
      Array.from({ length: 30 }, () => asking),
      { tools },
    );
    const { outcome } = await world.effects.run(session.run(agent, "go").result);
    assert.deepEqual([outcome.type, calls, agent.model.requests.length], ["aborted", 20, 20]);
    // For the turn, for the abort, and for a turn after it.
    assert.equal(read, 3);
    assertLawful(await session.entries());
  });

  test("a steer that was taken back or changed before the request goes in as it stands, though nobody was told of that", async () => {
    for (const change of ["withdraw", "edit"] as const) {
      const world = new TurnWorld();
      const session = await world.session();
      const { watch } = world.store;
      let deaf = false;
      world.store.watch = (id, notify) => watch.call(world.store, id, (news) => deaf || notify(news));
      const mailbox = world.store.mailbox.bind(world.store);
      const heard = deferred();
      world.store.mailbox = async (id) => {
        const posts = await mailbox(id);
        if (posts.some(({ kind }) => kind === "steer")) heard.resolve();
        return posts;
      };
      const tools = steering(world, "in_steer", async () => {
        await heard.promise;
        deaf = true;
        const other = await world.open();
        await (change === "edit" ? other.edit("in_steer", "right, please") : other.withdraw("in_steer"));
      });
      const agent = agentOf([asking, answer, answer], { tools });
      await world.effects.run(session.run(agent, "go").result);
      const { prompt } = agent.model.requests[1] ?? {};
      assert.deepEqual([said(prompt), JSON.stringify(prompt).includes("right")], [false, change === "edit"]);
      assertLawful(await session.entries());
    }
  });

  test("a steer is found also where as many posts wait as before, since a first piece of the batch took one along", async () => {
    const world = new TurnWorld();
    world.store.watch = () => () => {};
    const session = await world.session();
    // A note each: with the input and the turn exactly one batch, and the request is announced in the next.
    const notes = limit.batchRecords - 2;
    for (let at = 0; at < notes; at += 1) await session.withdraw("in_none");
    const append = world.store.append.bind(world.store);
    world.store.append = async (batch) => {
      await append(batch);
      if (batch.records.length === limit.batchRecords) await (await world.open()).post("steer", "left, please");
    };
    const agent = agentOf([answer, answer]);
    await world.effects.run(session.run(agent, "go").result);
    assert.deepEqual([said(agent.model.requests[0]?.prompt), await world.mailbox()], [true, []]);
    assertLawful(await session.entries());
  });

  test("somebody who posts before each request does not keep the turn from going on", async () => {
    const world = new TurnWorld();
    world.store.watch = () => () => {};
    const session = await world.session();
    const append = world.store.append.bind(world.store);
    let posted = 0;
    world.store.append = async (batch) => {
      if (batch.records.some(({ type }) => type === "attempt.started") && posted < 50)
        await session.post("steer", `${++posted}`);
      return append(batch);
    };
    const tools = { act: defineTool({ inputSchema: schema, execute: async () => "ok" }) };
    const script = [asking, asking, asking, ...Array.from({ length: 60 }, () => answer)];
    const agent = agentOf(script, { tools });
    await world.effects.run(session.run(agent, "go").result);
    // Two tries to announce it, and a steer in front of each; the last steers have a request of their own.
    assert.equal(eventsOf(await session.entries(), "attempt.started").length, 26);
    assert.equal(eventsOf(await session.entries(), "input.accepted").length, 51);
    assertLawful(await session.entries());
  });

  test("R68: a steer that arrives during the final answer makes one more step", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const gate = deferred();
    const agent = agentOf([[...say("do"), { until: gate.promise }, finish()], answer]);
    const turn = session.run(agent, "go");
    await world.effects.settle();
    await (await world.open()).post("steer", "left, please");
    await world.effects.settle();
    gate.resolve();
    assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "completed" });
    assert.equal(eventsOf(await session.entries(), "turn.started").length, 1);
    assert.ok(said(agent.model.requests[1]?.prompt));
  });

  test("R68: a steer on the last allowed step, or after the end, opens the next turn", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const agent = agentOf([asking, answer], { tools: steering(world), stepsPerTurn: 1 });
    assert.deepEqual((await world.effects.run(session.run(agent, "go").result)).outcome, {
      type: "limit",
      limit: "steps",
    });
    assert.ok(said(agent.model.requests[1]?.prompt));
    assert.deepEqual(
      eventsOf(await session.entries(), "turn.ended").map((event) => event.outcome.type),
      ["limit", "completed"],
    );
  });

  test("R68: a steer, then an abort: it waits, and joins what the person says next", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const then = async () => session.abort((await session.summary())?.head.openTurn ?? "none");
    const agent = agentOf([asking, answer], { tools: steering(world, "in_steer", then) });
    assert.deepEqual((await world.effects.run(session.run(agent, "go").result)).outcome, { type: "aborted" });
    assert.deepEqual(await world.mailbox(), ["in_steer"]);
    const next = agentOf([answer]);
    await world.effects.run(session.run(next, "now this").result);
    assert.ok(said(next.model.requests[0]?.prompt));
    assertLawful(await session.entries());
  });

  test("R68: a steer during a retry wait goes with the retry, and stays when that is discarded too", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const broken = { fail: Object.assign(new Error("reset"), { code: "ECONNRESET" }) };
    const agent = agentOf([[...say("a"), broken], [...say("b"), broken], answer]);
    const turn = session.run(agent, "go");
    await world.effects.settle();
    await (await world.open()).post("steer", "left, please");
    await world.effects.run(turn.result);
    assert.deepEqual(
      agent.model.requests.map(({ prompt }) => said(prompt)),
      [false, true, true],
    );
    assert.equal(eventsOf(await session.entries(), "input.accepted").length, 2);
    assertLawful(await session.entries());
  });

  test("R68: the process dies after an input was accepted: the next one finds it", async () => {
    const world = new TurnWorld();
    await world.session();
    const process = world.process(faultyStore(world.store, { append: 1, where: "before", lasts: "for-good" }));
    await assert.rejects(world.effects.run((await openSession(process, "s")).run(agentOf([answer]), "go").result));
    process.die();
    const session = await world.open();
    await world.effects.run(session.run(agentOf([answer, answer]), "and?").result);
    assert.equal(eventsOf(await session.entries(), "turn.ended").length, 2);
    assert.deepEqual(await world.mailbox(), []);
  });

  test("L3: queued inputs each get a turn, in order; a duplicate post is one input", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    for (const id of ["in_a", "in_b", "in_a"]) await session.post("input", id, id);
    await world.effects.run(session.run(agentOf([answer, answer, answer]), "last").result);
    const inputs = eventsOf(await session.entries(), "turn.started").flatMap((event) => event.inputs);
    assert.deepEqual(inputs.slice(0, 2), ["in_a", "in_b"]);
    assert.equal(inputs.length, 3);
  });

  test("L3: a post of a kind that we do not understand stays where it is", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await world.store.post("s", { id: "in_new", kind: "input", body: { content: [{ type: "hologram" }] } });
    await world.effects.run(session.run(agentOf([answer]), "go").result);
    assert.deepEqual(await world.mailbox(), ["in_new"]);
  });
});
