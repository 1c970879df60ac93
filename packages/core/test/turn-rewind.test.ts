import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { rewindSession } from "../src/turn/rewind.ts";
import { forkSession, openSession } from "../src/turn/session.ts";
import { agentOf, assertLawful, deferred, eventsOf, TurnWorld } from "./turn-world.ts";

const said = (text: string): ScriptEntry => [...say(text), finish()];

async function talked() {
  const world = new TurnWorld();
  const session = await world.session();
  const more = " and some more words".repeat(10);
  for (const word of ["one", "two", "three"])
    await world.effects.run(session.run(agentOf([said(word)]), `say ${word}${more}`).result);
  const [first] = (await session.entries()).filter(({ event }) => event.type === "turn.ended");
  return { world, session, first: first?.seq ?? 0 };
}

describe("rewind", () => {
  test("the old log stays as it was, a fork of it goes on under its name", async () => {
    const { world, session, first } = await talked();
    await world.store.setName("work", "s");
    const before = await session.entries();
    const child = await rewindSession(world.process(), { session: "s", seq: first }, { name: "work" });
    const named = await openSession(world.process(), "work");
    assert.equal(named.id, child.id);
    const agent = agentOf([said("four")]);
    await world.effects.run(named.run(agent, "say four").result);
    assert.match(JSON.stringify(agent.model.requests[0]?.prompt), /one.*four/);
    assert.doesNotMatch(JSON.stringify(agent.model.requests[0]?.prompt), /two|three/);
    assert.deepEqual(await session.entries(), before);
    assertLawful(await named.entries());
  });

  test("whoever drove the old log is fenced", async () => {
    const { world, first } = await talked();
    const gate = deferred();
    const process = world.process();
    const old = await openSession(process, "s");
    const turn = old.run(agentOf([[...say("fo"), { until: gate.promise }, finish()]]), "say four");
    await world.effects.settle();
    await assert.rejects(rewindSession(world.process(), { session: "s", seq: first }), { code: "SESSION_BUSY" });
    process.die();
    await rewindSession(world.process(), { session: "s", seq: first });
    const before = await old.entries();
    gate.resolve();
    await assert.rejects(world.effects.run(turn.result), { code: "FENCED" });
    assert.deepEqual(await old.entries(), before);
  });

  test("a name that is another session's is not moved, and nothing is left behind", async () => {
    const { world, first } = await talked();
    await world.session("other");
    await world.store.setName("work", "other");
    await assert.rejects(rewindSession(world.process(), { session: "s", seq: first }, { name: "work" }), {
      code: "INVALID_INPUT",
    });
    assert.equal((await world.store.list()).length, 2);
    assert.equal(await world.store.resolveName("work"), "other");
  });
});

describe("leaving the old part of a conversation out", () => {
  test("no request is made; the log keeps it, a fork from before has it again", async () => {
    const { world, session } = await talked();
    const before = (await session.summary())?.seq ?? 0;
    const dropped = await session.dropContext({ keep: 0.3 });
    assert.ok(dropped && (dropped.tokensAfter ?? 0) > 0);
    const agent = agentOf([said("four")]);
    await world.effects.run(session.run(agent, "say four").result);
    assert.doesNotMatch(JSON.stringify(agent.model.requests[0]?.prompt), /say one/);
    assert.match(JSON.stringify(agent.model.requests[0]?.prompt), /left out.*say four/);
    assert.equal(eventsOf(await session.entries(), "input.accepted").length, 4);
    assertLawful(await session.entries());
    const fork = await forkSession(world.process(), { session: "s", seq: before }, "fork");
    const again = agentOf([said("five")]);
    await world.effects.run(fork.run(again, "say five").result);
    assert.match(JSON.stringify(again.model.requests[0]?.prompt), /say one/);
  });

  test("nothing goes where nothing is old, and not while a turn is open", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    assert.equal(await session.dropContext(), undefined);
    await world.effects.run(session.run(agentOf([said("one")]), "say one").result);
    assert.equal(await session.dropContext({ keep: 0.1 }), undefined, "shorter than the words in its place");
    await assert.rejects(session.dropContext({ keep: 1 }), { code: "INVALID_INPUT" });
    const turn = session.run(agentOf([[...say("x"), { silence: true }]]), "go");
    await world.effects.settle();
    await assert.rejects(session.dropContext(), { code: "SESSION_BUSY" });
    await session.abort((await session.summary())?.head.openTurn ?? "none");
    await world.effects.run(turn.result);
  });
});
