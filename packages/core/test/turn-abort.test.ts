import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import type { TurnResult } from "../src/turn/report.ts";
import type { Session, Turn } from "../src/turn/session.ts";
import { agentOf, assertLawful, deferred, eventsOf, promptFor, TurnWorld } from "./turn-world.ts";

const schema = { type: "object" as const };
const answer: ScriptEntry = [...say("done"), finish()];

const quick = defineTool({ inputSchema: schema, locks: () => [], execute: () => "quick" });

async function abortOpen(session: Session, times = 1): Promise<void> {
  const turn = (await session.summary())?.head.openTurn;
  for (let time = 0; time < times; time += 1) if (turn !== undefined) await session.abort(turn);
}

/** Posts an abort when the `nth` live item has been read. Resolves with how many there were. */
async function abortAt(turn: Turn, nth: number, session: Session, times: number): Promise<number> {
  let read = 0;
  for await (const _ of turn) {
    read += 1;
    if (read === nth) await abortOpen(session, times);
  }
  return read;
}

describe("abort", () => {
  test("R67: at every instant, once or three times: one end, the history valid, the next turn untouched", async () => {
    const script: ScriptEntry[] = [
      [...say("first"), ...call("quick", {}, "c1"), ...call("quick", {}, "c2"), finish()],
      answer,
    ];
    let items = 1;
    for (let nth = 1; nth <= items; nth += 1) {
      for (const times of [1, 3]) {
        const world = new TurnWorld();
        const session = await world.session();
        const turn = session.run(agentOf(script, { tools: { quick } }), "go");
        const [result, read] = await Promise.all([
          world.effects.run(turn.result),
          abortAt(turn, nth, await world.open(), times),
        ]);
        items = Math.max(items, read);
        assert.ok(["aborted", "completed"].includes(result.outcome.type), `item ${nth}: ${result.outcome.type}`);
        const after: TurnResult = await world.effects.run((await world.open()).run(agentOf([answer]), "next").result);
        assert.deepEqual(after.outcome, { type: "completed" }, `item ${nth}`);
        assertLawful(await session.entries(), `item ${nth}`);
        assert.deepEqual(await world.mailbox(), [], "no abort is left behind");
      }
    }
    assert.ok(items > 15);
  });

  test("R67: a finished turn stays finished: a late abort is a note", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const { turn } = await world.effects.run(session.run(agentOf([answer]), "go").result);
    await session.abort(turn);
    await session.abort("t_of_somebody");
    await world.effects.run(session.run(agentOf([answer]), "again").result);
    const entries = await session.entries();
    assert.deepEqual(
      eventsOf(entries, "turn.ended").map((event) => event.outcome.type),
      ["completed", "completed"],
    );
    assert.equal(eventsOf(entries, "note.recorded").length, 2);
    assertLawful(entries);
  });

  test("R67: abort then an input in the same tick: the input runs in a turn of its own", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const turn = session.run(agentOf([[...say("one"), { silence: true }], answer]), "go");
    const done = world.effects.run(turn.result);
    for await (const item of turn) {
      if (item.type !== "part.delta") continue;
      await Promise.all([abortOpen(session), session.post("input", "the next", "in_next")]);
    }
    assert.deepEqual((await done).outcome, { type: "aborted" });
    const ends = eventsOf(await session.entries(), "turn.ended").map((event) => event.outcome.type);
    assert.deepEqual(ends, ["aborted", "completed"]);
  });

  test("R67 R40: abort with one result of three in: all three are answered, in call order", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const entered = deferred();
    const slow = defineTool({
      inputSchema: schema,
      locks: () => [{ key: "slow", mode: "write" }],
      execute: async (_, { signal }) => {
        entered.resolve();
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
      },
    });
    const script: ScriptEntry = [
      ...call("slow", {}, "c1"),
      ...call("quick", {}, "c2"),
      ...call("slow", {}, "c3"),
      finish(),
    ];
    const turn = session.run(agentOf([script], { tools: { slow, quick } }), "go");
    await entered.promise;
    await world.effects.settle();
    await abortOpen(session);
    const result = await world.effects.run(turn.result);
    assert.deepEqual(result.outcome, { type: "aborted" });
    const entries = await session.entries();
    assertLawful(entries);
    const results = promptFor(entries).find((message) => message.role === "tool");
    assert.deepEqual(
      results?.content.map(
        (part) =>
          part.type === "tool-result" && [
            part.toolCallId,
            "value" in part.output && String(part.output.value).split(":")[0],
          ],
      ),
      [
        ["c1", "TOOL_ABORTED"],
        ["c2", "quick"],
        ["c3", "TOOL_NOT_STARTED"],
      ],
    );
  });

  test("R48: a deaf body is abandoned after the grace; what it says later is a note, and never a second result", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const entered = deferred();
    const late = deferred<string>();
    const deaf = defineTool({
      inputSchema: schema,
      execute: () => {
        entered.resolve();
        return late.promise;
      },
    });
    const turn = session.run(agentOf([[...call("deaf", {}), finish()]], { tools: { deaf } }), "go");
    await entered.promise;
    await abortOpen(session);
    assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "aborted" });
    const settled = eventsOf(await session.entries(), "tool.settled");
    assert.deepEqual(
      settled.map(({ by, output }) => [by, output.code]),
      [["abandoned", "TOOL_ABANDONED"]],
    );

    late.resolve("I did it after all");
    await world.effects.settle();
    await world.effects.run((await world.open()).run(agentOf([answer]), "next").result);
    const entries = await session.entries();
    const [note] = eventsOf(entries, "note.recorded");
    assert.equal(note?.about, settled[0]?.call);
    assert.match(JSON.stringify(note?.data), /after all/);
    assert.equal(eventsOf(entries, "tool.settled").length, 1);
    assert.doesNotMatch(JSON.stringify(promptFor(entries)), /after all/);
    assertLawful(entries);
  });

  const deaf: [string, (late: Promise<string>) => Promise<string>][] = [
    ["never ends", () => new Promise(() => {})],
    ["ends when all is over", (late) => late],
    ["fails when all is over", (late) => late.then(() => Promise.reject(new Error("too late")))],
  ];
  for (const [title, ending] of deaf) {
    for (const way of ["abort", "quit"] as const) {
      test(`L6 R67: ${way}: a body that ignores its signal and ${title}: the turn ends, nothing waits, one result`, async () => {
        const world = new TurnWorld();
        const session = await world.session();
        const late = deferred<string>();
        const act = defineTool({ inputSchema: schema, execute: () => ending(late.promise) });
        const stop = new AbortController();
        const turn = session.run(agentOf([[...call("act", {}), finish()]], { tools: { act } }), "go", {
          signal: stop.signal,
        });
        await world.effects.settle();
        if (way === "quit") stop.abort(new Error("quit"));
        else await abortOpen(session);
        assert.deepEqual((await world.effects.run(turn.result)).outcome, { type: "aborted" });
        assert.equal(world.effects.waiting, 0, "no timer keeps the process alive");
        assert.equal((await session.summary())?.lease, undefined);
        late.resolve("after all");
        await world.effects.settle();
        await world.effects.run((await world.open()).run(agentOf([answer]), "next").result);
        const entries = await session.entries();
        assert.deepEqual(
          eventsOf(entries, "tool.settled").map(({ output }) => output.code),
          ["TOOL_ABANDONED"],
        );
        assert.equal(eventsOf(entries, "note.recorded").length, title === "never ends" ? 0 : 1);
        assertLawful(entries);
      });
    }
  }

  test("R48: a body that misses its deadline and reports in a later step of the same turn", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const late = deferred<string>();
    const gate = deferred();
    const deaf = defineTool({ inputSchema: schema, timeoutMs: 1_000, execute: () => late.promise });
    const script: ScriptEntry[] = [
      [...call("deaf", {}), finish()],
      [{ until: gate.promise }, ...call("quick", {}), finish()],
      answer,
    ];
    const turn = session.run(agentOf(script, { tools: { deaf, quick } }), "go");
    await world.effects.settle();
    world.effects.advance(1_000);
    await world.effects.settle();
    world.effects.advance(10_000);
    await world.effects.settle();
    late.resolve("at last");
    await world.effects.settle();
    gate.resolve();
    await world.effects.run(turn.result);
    const entries = await session.entries();
    const note = entries.find((entry) => entry.event.type === "note.recorded");
    const end = entries.find((entry) => entry.event.type === "turn.ended");
    assert.ok(note && end && note.seq < end.seq, "the note is in the log before its turn ends");
    assertLawful(entries);
  });

  test("a signal that stops many turns keeps nothing of those that have ended", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const stop = new AbortController();
    const script: ScriptEntry[] = [[...say("first"), ...call("quick", {}, "c1"), finish()], answer];
    const tools = { quick };
    const { outcome } = await world.effects.run(
      session.run(agentOf(script, { tools, eagerReads: true }), "go", { signal: stop.signal }).result,
    );
    assert.deepEqual(outcome, { type: "completed" });
    assert.equal(getEventListeners(stop.signal, "abort").length, 0);
  });

  test("L6: the caller's signal ends the turn and opens no other; what waits stays accepted", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const stop = new AbortController();
    const turn = session.run(agentOf([[...say("one"), { silence: true }]]), "go", { signal: stop.signal });
    const done = world.effects.run(turn.result);
    for await (const item of turn) {
      if (item.type !== "part.delta") continue;
      await session.post("input", "later", "in_later");
      stop.abort(new Error("quit"));
    }
    assert.deepEqual((await done).outcome, { type: "aborted" });
    assert.deepEqual(await world.mailbox(), ["in_later"]);
    assert.equal(world.effects.waiting, 0);
  });

  test("L6: an abort in a retry wait ends the turn without another request", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const broken = { reject: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }) };
    const agent = agentOf([broken, answer]);
    const turn = session.run(agent, "go");
    const done = turn.result;
    await world.effects.settle();
    await abortOpen(session);
    assert.deepEqual((await done).outcome, { type: "aborted" });
    assert.equal(agent.model.requests.length, 1);
  });
});
