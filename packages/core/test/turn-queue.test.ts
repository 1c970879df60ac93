import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { Session } from "../src/turn/session.ts";
import { agentOf, assertLawful, deferred, eventsOf, TurnWorld } from "./turn-world.ts";

const answer: ScriptEntry = [...say("done"), finish()];

function textsOf(inputs: readonly { content: readonly unknown[] }[]): string[] {
  return inputs.map(({ content }) => (content[0] as { text: string }).text);
}

async function notes(session: Session): Promise<string[]> {
  return eventsOf(await session.entries(), "note.recorded").map(({ about, text }) => `${about}: ${text}`);
}

/** A turn whose only tool does something from another process while it runs. */
function during(world: TurnWorld, doing: (other: Session) => Promise<unknown>) {
  const act = defineTool({
    inputSchema: { type: "object" as const },
    execute: async () => {
      await doing(await world.open());
      return "ok";
    },
  });
  return { script: [[...call("act", {}), finish()], answer, answer, answer] as ScriptEntry[], tools: { act } };
}

describe("the queue of waiting inputs", () => {
  test("an input is edited twice and goes in as it was last said", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await session.post("input", "frist", "in_1");
    await session.edit("in_1", "second");
    await session.edit("in_1", "first");
    assert.deepEqual(textsOf(await session.queue()), ["first"]);
    const agent = agentOf([answer, answer]);
    await world.effects.run(session.run(agent, "go").result);
    assert.deepEqual(textsOf(eventsOf(await session.entries(), "input.accepted")), ["first", "go"]);
    assert.deepEqual(await world.mailbox(), []);
    assertLawful(await session.entries());
  });

  test("an input that was withdrawn before a turn claimed it never reaches the model, and nothing waits any more", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await session.post("input", "delete it all", "in_1");
    await session.edit("in_1", "delete all of it");
    await session.withdraw("in_1");
    assert.deepEqual(await session.queue(), []);
    const agent = agentOf([answer]);
    await world.effects.run(session.run(agent, "go").result);
    assert.doesNotMatch(JSON.stringify(agent.model.requests), /delete/);
    assert.deepEqual(await notes(session), ["in_1: withdrawn before a turn claimed it"]);
    assert.deepEqual(await world.mailbox(), []);
  });

  test("a run whose own input is withdrawn before its turn begins says so", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const post = world.store.post.bind(world.store);
    world.store.post = async (id, one) => {
      const said = await post(id, one);
      if (one.kind === "input") await session.withdraw(one.id);
      return said;
    };
    await assert.rejects(world.effects.run(session.run(agentOf([]), "go").result), { code: "WITHDRAWN" });
    assert.deepEqual(await world.mailbox(), []);
    assertLawful(await session.entries());
  });

  test("a steer that waits behind a tool is edited, another withdrawn", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const { script, tools } = during(world, async (other) => {
      await other.post("steer", "left", "in_1");
      await other.post("steer", "up", "in_2");
      await other.edit("in_1", "right");
      await other.withdraw("in_2");
    });
    const agent = agentOf(script, { tools });
    await world.effects.run(session.run(agent, "go").result);
    assert.deepEqual(textsOf(eventsOf(await session.entries(), "input.accepted")), ["go", "right"]);
    assert.match(JSON.stringify(agent.model.requests[1]?.prompt), /right/);
    assertLawful(await session.entries());
  });

  test("an edit or a withdrawal of what a turn has claimed is a note, and changes nothing", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const { script, tools } = during(world, async (other) => {
      const [claimed] = eventsOf(await other.entries(), "input.accepted");
      await other.edit(claimed?.input ?? "", "stay");
      await other.withdraw(claimed?.input ?? "");
    });
    await world.effects.run(session.run(agentOf(script, { tools }), "go").result);
    assert.deepEqual(textsOf(eventsOf(await session.entries(), "input.accepted")), ["go"]);
    assert.deepEqual(
      (await notes(session)).map((note) => note.replace(/^in_\d+: /, "")),
      ["an edit came when its input was no longer waiting", "a withdrawal came when its input was no longer waiting"],
    );
    assert.deepEqual(await world.mailbox(), []);
  });

  test("the same edit posted twice counts once; one for an id that is none is refused at the door", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    await session.post("input", "a", "in_1");
    await session.edit("in_1", "b", "ed_1");
    await session.edit("in_1", "c", "ed_1");
    assert.deepEqual(textsOf(await session.queue()), ["b"]);
    await assert.rejects(session.edit("not an id", "b"), { code: "INVALID_INPUT" });
    await assert.rejects(session.withdraw(""), { code: "INVALID_INPUT" });
    await assert.rejects(session.edit("in_1", "  "), { code: "INVALID_INPUT" });
  });
});

describe("what waits when a turn is stopped", () => {
  async function stopped(afterAbort: "keep" | "return") {
    const world = new TurnWorld();
    const session = await world.session();
    const { script, tools } = during(world, async (other) => {
      await other.post("steer", "left", "in_steer");
      await other.edit("in_steer", "right");
      await other.post("input", "and then", "in_next");
      await other.abort((await other.summary())?.head.openTurn ?? "none");
    });
    const agent = agentOf(script, { tools, afterAbort });
    return { world, session, result: await world.effects.run(session.run(agent, "go").result) };
  }

  test("R68: `return`: steers and inputs come back with the result, and the log says what they were", async () => {
    const { world, session, result } = await stopped("return");
    assert.equal(result.outcome.type, "aborted");
    assert.deepEqual(
      result.returned?.map(({ id, kind }) => [id, kind]),
      [
        ["in_steer", "steer"],
        ["in_next", "prompt"],
      ],
    );
    assert.deepEqual(textsOf(result.returned ?? []), ["right", "and then"]);
    assert.deepEqual(await world.mailbox(), []);
    assert.equal(eventsOf(await session.entries(), "turn.started").length, 1);
    const [note] = eventsOf(await session.entries(), "note.recorded");
    assert.deepEqual(note?.data, { kind: "steer", content: [{ type: "text", text: "right" }] });
    assertLawful(await session.entries());
  });

  test("R68: `keep`: an input opens the next turn, and the steer joins it", async () => {
    const { session, result } = await stopped("keep");
    assert.equal(result.outcome.type, "aborted");
    assert.equal(result.returned, undefined);
    assert.deepEqual(textsOf(eventsOf(await session.entries(), "input.accepted")), ["go", "and then", "right"]);
    assertLawful(await session.entries());
  });

  test("R68: a stop that comes while an edit is under way loses neither word", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const gate = deferred();
    const agent = agentOf([[...say("do"), { until: gate.promise }, finish()]], { afterAbort: "return" });
    const turn = session.run(agent, "go");
    await world.effects.settle();
    await session.post("input", "next", "in_next");
    await session.abort((await session.summary())?.head.openTurn ?? "none");
    await session.edit("in_next", "next, please");
    const result = await world.effects.run(turn.result);
    const left = textsOf(await session.queue());
    const back = textsOf(result.returned ?? []);
    assert.equal(back.length + left.length, 1);
    const late = (await notes(session)).filter((note) => note.includes("no longer waiting"));
    const edit = (await world.mailbox()).length;
    assert.ok(back[0] === "next, please" || late.length + edit === 1, "the edit is applied, told, or still waits");
  });
});
