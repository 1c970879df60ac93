import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Snapshot, Store } from "../src/store/store.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { forkSession, openSession, type Session } from "../src/turn/session.ts";
import { latestState, snapshotOf } from "../src/turn/snapshot.ts";
import { turnFold } from "../src/turn/state.ts";
import { agentOf, assertLawful, TurnWorld } from "./turn-world.ts";

const act = defineTool({ inputSchema: { type: "object" as const }, locks: () => [], execute: () => "acted" });
const answer: ScriptEntry = [...say("done"), finish()];

/** A turn of about `calls` times three records. */
async function turn(world: TurnWorld, session: Session, calls: number): Promise<void> {
  const parts = Array.from({ length: calls }, (_, at) => call("act", {}, `c${at}`)).flat();
  const agent = agentOf([[...parts, finish()], answer], { tools: { act } });
  await world.effects.run(session.run(agent, "go").result);
}

/** A session of more than a thousand records, in `turns` turns. */
async function long(turns = 4): Promise<{ world: TurnWorld; session: Session }> {
  const world = new TurnWorld();
  const session = await world.session();
  for (let at = 0; at < turns; at += 1) await turn(world, session, 150);
  return { world, session };
}

/** The store, and what is read of the log through it. */
function counted(store: Store): { store: Store; read: { after: number; records: number }[] } {
  const read: { after: number; records: number }[] = [];
  return {
    read,
    store: new Proxy(store, {
      get(target, name) {
        if (name !== "read") {
          const member: unknown = Reflect.get(target, name);
          return typeof member === "function" ? member.bind(target) : member;
        }
        return async (session: string, options?: { after?: number; limit?: number }) => {
          const records = await target.read(session, options);
          read.push({ after: options?.after ?? 0, records: records.length });
          return records;
        };
      },
    }),
  };
}

describe("snapshots of the turn fold", () => {
  test("the state that a snapshot gives is the fold of the log up to it", async () => {
    const { world, session } = await long();
    const { state, seq } = await latestState(world.store, "s");
    assert.ok(seq > 1_000);
    const entries = (await session.entries()).filter((entry) => entry.seq <= seq);
    assert.deepEqual(
      JSON.parse(JSON.stringify(state)),
      JSON.parse(JSON.stringify(entries.reduce(turnFold.step, turnFold.init()))),
    );
    assert.equal(state.turn, undefined);
  });

  test("opening to settle reads the tail of the log; the conversation is read at the first request, whole", async () => {
    const { world, session } = await long();
    const { seq } = await latestState(world.store, "s");
    const { store, read } = counted(world.store);
    const opened = await openSession(world.process(store), "s");
    const refusing = agentOf([], { windowTokens: 10, instructions: "too long ".repeat(100) });
    await world.effects.run(opened.run(refusing, "go").result);
    assert.equal(read[0]?.after, seq, "begins behind the snapshot");
    const agent = agentOf([answer], { tools: { act } });
    await world.effects.run(opened.run(agent, "go").result);
    const plain = agentOf([answer], { tools: { act } });
    const twin = await openSession(world.process(withoutSnapshots(world.store)), "s");
    await world.effects.run(twin.run(plain, "go").result);
    const prompt = agent.model.requests[0]?.prompt ?? [];
    assert.ok(prompt.length > 8);
    assert.deepEqual(plain.model.requests[0]?.prompt.slice(0, prompt.length), prompt);
    assertLawful(await session.entries());
  });

  test("behind a summary, only what it left is read; what was stripped stays stripped", async () => {
    const { world, session } = await long(3);
    const signed: ScriptEntry = [
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "hm" },
      { type: "reasoning-end", id: "r", providerMetadata: { test: { signature: "sig" } } },
      ...say("signed"),
      finish(),
    ];
    const refused: ScriptEntry = {
      reject: Object.assign(new Error("Invalid `signature` in `thinking` block"), { statusCode: 400 }),
    };
    await world.effects.run(session.run(agentOf([signed]), "sign").result);
    await world.effects.run(session.run(agentOf([refused, answer]), "again").result);
    await session.dropContext({ keep: 0.01 });
    for (let at = 0; at < 4; at += 1) await turn(world, session, 120);
    await world.effects.run(session.run(agentOf([signed]), "sign").result);
    const { state, seq } = await latestState(world.store, "s");
    assert.ok(state.contextFrom > 500 && seq > state.contextFrom, `${state.contextFrom} ${seq}`);
    const { store, read } = counted(world.store);
    const agent = agentOf([answer]);
    const opened = await openSession(world.process(store), "s");
    await world.effects.run(opened.run(agent, "go").result);
    assert.ok(Math.min(...read.map(({ after }) => after)) >= state.contextFrom);
    const prompt = agent.model.requests[0]?.prompt ?? [];
    assert.doesNotMatch(JSON.stringify(prompt), /sig"/);
    const plain = agentOf([answer]);
    const twin = await openSession(world.process(withoutSnapshots(world.store)), "s");
    await world.effects.run(twin.run(plain, "go").result);
    assert.deepEqual(plain.model.requests[0]?.prompt.slice(0, prompt.length), prompt);
  });

  const spoiled: [string, (snapshot: Snapshot) => Snapshot][] = [
    ["of another version", (snapshot) => ({ ...snapshot, version: 999 })],
    [
      "whose bytes have changed",
      (snapshot) => ({ ...snapshot, bytes: snapshot.bytes.map((byte, at) => (at === 9 ? byte ^ 1 : byte)) }),
    ],
    ["of a log that is longer than this one", (snapshot) => ({ ...snapshot, seq: snapshot.seq + 1_000_000 })],
    ["that is no JSON", (snapshot) => ({ ...snapshot, bytes: new Uint8Array([1, 2, 3]) })],
  ];
  for (const [what, spoil] of spoiled) {
    test(`a snapshot ${what} is dropped: the log says what is`, async () => {
      const { world, session } = await long();
      const good = await world.store.loadSnapshot("s", "turn");
      assert.ok(good);
      await world.store.saveSnapshot("s", spoil(good));
      assert.equal((await latestState(world.store, "s")).seq, 0);
      await turn(world, session, 1);
      assertLawful(await session.entries());
    });
  }

  test("a fork begins with its parent's snapshot, where that is not behind the cut", async () => {
    const { world } = await long();
    const { seq } = await latestState(world.store, "s");
    const at = (await world.store.get("s"))?.seq ?? 0;
    await forkSession(world.process(), { session: "s", seq: at }, "late");
    await forkSession(world.process(), { session: "s", seq: seq - 10 }, "early");
    await forkSession(world.process(), { session: "late", seq: at + 1 }, "later");
    assert.equal((await latestState(world.store, "late")).seq, seq);
    assert.equal((await latestState(world.store, "later")).seq, seq);
    assert.equal((await latestState(world.store, "early")).seq, 0);
    const early = await world.open("early");
    await turn(world, early, 1);
    assertLawful(await early.entries());
  });

  test("no snapshot holds an open turn, and one is taken about every thousand records", async () => {
    const world = new TurnWorld();
    const saved: number[] = [];
    const save = world.store.saveSnapshot.bind(world.store);
    world.store.saveSnapshot = async (session, snapshot) => {
      saved.push(snapshot.seq);
      return save(session, snapshot);
    };
    const session = await world.session();
    for (let at = 0; at < 8; at += 1) await turn(world, session, 150);
    const ends = (await session.entries()).filter(({ event }) => event.type === "turn.ended").map(({ seq }) => seq);
    assert.ok(saved.length >= 1 && saved.length <= 3, `${saved}`);
    for (const seq of saved) assert.ok(ends.includes(seq));
    const empty = snapshotOf(turnFold.init(), 0);
    assert.ok(empty.bytes.length < 1_000);
  });
});

function withoutSnapshots(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === "loadSnapshot") return async () => undefined;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
