import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isPawlError } from "../src/error.ts";
import type { Json, Part } from "../src/log/event.ts";
import type { MailboxEntry } from "../src/store/store.ts";
import { faultyStore } from "../src/testing/faulty-store.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { contentOf, inputId, queueOf } from "../src/turn/queue.ts";
import { openSession, type Session } from "../src/turn/session.ts";
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

  test("a run whose own input is handed back hears so, also where the append that says it was done and reported as failed", async () => {
    for (let append = 1; ; append += 1) {
      const world = new TurnWorld();
      await world.session();
      const store = faultyStore(world.store, { append, where: "after", lasts: "once" });
      const session = await openSession(world.process(store), "s");
      const { script, tools } = during(world, async (other) =>
        other.abort((await other.summary())?.head.openTurn ?? ""),
      );
      // An input that waits is driven first, and stopped: the run's own goes with it.
      await session.post("input", "before", "in_before");
      const agent = agentOf(script, { tools, afterAbort: "return" });
      const end = await world.effects.run(session.run(agent, "mine", { id: "in_mine" }).result).catch((error) => error);
      const heard = isPawlError(end, "WITHDRAWN") || isPawlError(end, "STORE_UNAVAILABLE") || "outcome" in end;
      assert.ok(heard, `append ${append}: ${end}`);
      if (isPawlError(end, "WITHDRAWN")) assert.deepEqual(await world.mailbox(), [], `append ${append}`);
      assertLawful(await session.entries(), `append ${append}`);
      if (!store.failed) return assert.ok(append > 3, "the fault came to pass");
    }
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

describe("a mailbox, read", () => {
  const said = (words: string): Part[] => [{ type: "text", text: words }];
  const post = (id: string, kind: string, body: unknown): MailboxEntry =>
    ({ id, kind, body: body as Json }) as unknown as MailboxEntry;
  const posted = (id: string, words = id, kind = "input") => post(id, kind, { content: said(words) });
  const edited = (id: string, input: string, words = id) => post(id, "edit", { input, content: said(words) });
  const withdrawn = (id: string, input: string) => post(id, "withdrawal", { input });
  const waiting = (...entries: MailboxEntry[]) => queueOf(entries).waiting;

  test("inputs and steers wait in the order they came, as they were last said", () => {
    assert.deepEqual(
      queueOf([posted("i1"), posted("i2", "go", "steer"), edited("e1", "i1"), edited("e2", "i1", "last")]),
      {
        waiting: [
          { id: "i1", kind: "prompt", content: said("last"), edits: ["e1", "e2"] },
          { id: "i2", kind: "steer", content: said("go"), edits: [] },
        ],
        withdrawn: [],
        late: [],
      },
    );
  });

  test("what was withdrawn takes its edits along, and nothing follows it", () => {
    const entries = [
      posted("i1"),
      edited("e1", "i1"),
      withdrawn("w1", "i1"),
      edited("e2", "i1"),
      withdrawn("w2", "i1"),
    ];
    assert.deepEqual(queueOf(entries), {
      waiting: [],
      withdrawn: [{ input: "i1", posts: ["i1", "e1", "w1"] }],
      late: [
        { id: "e2", kind: "edit", input: "i1" },
        { id: "w2", kind: "withdrawal", input: "i1" },
      ],
    });
  });

  test("what is as good as gone is passed over, and a change to it is late", () => {
    const { waiting, late } = queueOf([posted("i1"), posted("i2"), edited("e1", "i1")], new Set(["i1"]));
    assert.deepEqual(
      waiting.map(({ id }) => id),
      ["i2"],
    );
    assert.deepEqual(late, [{ id: "e1", kind: "edit", input: "i1" }]);
  });

  test("a post of a shape that nobody knows stays where it is, and so does what changes it", () => {
    for (const body of [null, undefined, "words", {}, { content: "words" }, { content: [{ type: "hologram" }] }]) {
      const odd = [post("i1", "input", body), edited("e1", "i1"), withdrawn("w1", "i1")];
      assert.deepEqual(queueOf(odd), { waiting: [], withdrawn: [], late: [] }, JSON.stringify(body));
    }
    const known = posted("i1", "words");
    for (const odd of [
      post("e1", "edit", { input: "i1" }),
      post("e1", "edit", { content: said("x") }),
      post("e1", "edit", { input: "not an id", content: said("x") }),
      post("e1", "edit", { input: "i1", content: "x" }),
      post("e1", "edit", null),
      post("e1", "withdrawal", { input: 1 }),
      post("e1", "withdrawal", {}),
      post("e1", "withdrawal", null),
      post("e1", "abort", { input: "i1", content: said("x") }),
      post("e1", "answer", { input: "i1" }),
    ]) {
      assert.deepEqual(queueOf([known, odd]), { ...queueOf([known]) }, JSON.stringify(odd));
      assert.deepEqual(waiting(known, odd)[0]?.content, said("words"));
    }
  });

  test("what is posted is checked at the door: by its shape, and for saying anything", () => {
    const picture: Part = { type: "file", mediaType: "image/png", url: "https://example.org/a.png" };
    assert.deepEqual(contentOf("go"), said("go"));
    for (const parts of [[picture], [...said(" "), picture], [...said(" "), ...said("x")]])
      assert.deepEqual(contentOf(parts), parts);
    const odd = { type: "data", data: 1 } as const;
    assert.deepEqual(contentOf([odd]), [odd]);
    const refused = (doing: () => unknown, words: RegExp) =>
      assert.throws(doing, (error) => isPawlError(error, "INVALID_INPUT") && words.test(error.message));
    refused(() => contentOf("  "), /the input is empty: " {2}"; say what is to be done/);
    refused(() => contentOf([]), /the input is empty: \[\]/);
    refused(() => contentOf([...said(""), ...said("\n")]), /the input is empty/);
    refused(() => contentOf([{ type: "hologram" } as unknown as Part]), /^input\[0\]\.type must be one of/);
    refused(() => inputId("not an id"), /^input must be an id of/);
    assert.equal(inputId("in_1"), "in_1");
  });
});
