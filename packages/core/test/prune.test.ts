/** Retention: what goes, what stays, and who is not disturbed. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { prune } from "../src/doctor/prune.ts";
import { type RetentionPolicy, retentionOf } from "../src/doctor/retention.ts";
import type { SessionSummary } from "../src/store/store.ts";
import { fakeHolder } from "../src/testing/fake.ts";
import { finish, say } from "../src/testing/model.ts";
import { createSession, forkSession } from "../src/turn/session.ts";
import { createWorker } from "../src/turn/worker.ts";
import { agentOf, assertLawful, eventsOf, TurnWorld } from "./turn-world.ts";

const day = 86_400_000;
const answer = () => [...say("done"), finish()];

async function ids(world: TurnWorld): Promise<string[]> {
  return (await world.store.list()).map(({ session }) => session).sort();
}

async function ended(world: TurnWorld, id: string): Promise<void> {
  const session = await createSession(world.process(), id);
  const turn = session.run(agentOf([answer()]), "go");
  await world.effects.settle();
  assert.equal((await turn.result).outcome.type, "completed");
}

test("the verdict on a session, row by row", () => {
  const summary: SessionSummary = { session: "s", seq: 9, epoch: 1, createdAt: 0, updatedAt: 0, head: {} };
  const lease = { epoch: 1, holder: fakeHolder(), expiresAt: 20 * day };
  const rows: [ReturnType<typeof retentionOf>, Partial<SessionSummary>, number, Partial<RetentionPolicy>][] = [
    ["delete", {}, 0, {}],
    ["young", { updatedAt: day }, 0, {}],
    ["delete", { updatedAt: day - 1 }, 0, {}],
    ["driven", { lease }, 0, {}],
    ["driven", { lease, names: ["a"] }, 1, {}],
    ["waiting", {}, 1, {}],
    ["waiting", { names: ["a"] }, 1, { named: "delete", interrupted: "delete" }],
    ["interrupted", { head: { openTurn: "t" } }, 0, {}],
    ["delete", { head: { openTurn: "t" } }, 0, { interrupted: "delete" }],
    ["named", { names: ["a"] }, 0, {}],
    ["delete", { names: ["a"] }, 0, { named: "delete" }],
    ["named", { head: { openTurn: "t" }, names: ["a"] }, 0, { interrupted: "delete" }],
  ];
  for (const [verdict, more, posts, policy] of rows) {
    const got = retentionOf({ ...summary, ...more }, posts, { olderThanMs: 9 * day, ...policy }, 10 * day);
    assert.equal(got, verdict, JSON.stringify([more, posts, policy]));
  }
});

describe("pruning", () => {
  test("old sessions that nobody waits for go; a fork reads on; a report writes nothing", async () => {
    const world = new TurnWorld();
    for (const id of ["old", "named", "waiting", "interrupted", "parent", "driven"]) await ended(world, id);
    await world.store.setName("release", "named");
    await world.store.post("waiting", { id: "p", kind: "steer", body: null });
    const { epoch, seq } = await leased(world, "interrupted");
    await world.store.append({ session: "interrupted", epoch, expectedSeq: seq, records: [], head: { openTurn: "t" } });
    await world.store.releaseLease("interrupted", epoch);
    const parent = await world.open("parent");
    const read = await parent.entries();
    world.effects.advance(10 * day);
    await leased(world, "driven");
    await forkSession(world.process(), { session: "parent", seq: read.length }, "child");
    await ended(world, "young");

    const all = await ids(world);
    const runtime = world.process();
    const kept = { driven: 1, waiting: 1, interrupted: 1, named: 1 };
    const report = await prune(runtime, { olderThanMs: 9 * day, mode: "report" });
    assert.deepEqual({ ...report, deleted: report.deleted.sort() }, { deleted: ["old", "parent"], kept, more: false });
    assert.deepEqual(await ids(world), all);

    const pruned = await prune(runtime, { olderThanMs: 9 * day });
    assert.deepEqual({ ...pruned, deleted: pruned.deleted.sort() }, { deleted: ["old", "parent"], kept, more: false });
    assert.deepEqual(await ids(world), ["child", "driven", "interrupted", "named", "waiting", "young"]);
    const child = await (await world.open("child")).entries();
    assert.deepEqual(child.slice(0, read.length), read);
    assertLawful(child);
    assert.deepEqual((await prune(runtime, { olderThanMs: 9 * day })).deleted, []);
  });

  test("a part at a time: `most` and the signal stop it, the next call goes on", async () => {
    const world = new TurnWorld();
    for (let n = 0; n < 5; n += 1) await createSession(world.process(), `s${n}`);
    world.effects.advance(day);
    const first = await prune(world.process(), { olderThanMs: 0, most: 2 });
    assert.deepEqual([first.deleted.length, first.more], [2, true]);
    const stop = new AbortController();
    const leaving = async () => async () => stop.abort();
    const second = await prune(world.process(), { olderThanMs: 0, signal: stop.signal, leaving });
    assert.deepEqual([second.deleted.length, second.more], [1, true]);
    const last = await prune(world.process(), { olderThanMs: 0 });
    assert.deepEqual([last.deleted.length, last.more], [2, false]);
  });

  test("who fails in the middle keeps that session, and gives it back", async () => {
    const world = new TurnWorld();
    await createSession(world.process(), "s");
    world.effects.advance(day);
    const leaving = () => Promise.reject(new Error("no room for its archive"));
    await assert.rejects(prune(world.process(), { olderThanMs: 0, leaving }), /no room/);
    assert.equal((await world.store.get("s"))?.lease, undefined);
    assert.deepEqual((await prune(world.process(), { olderThanMs: 0 })).deleted, ["s"]);
  });

  test("L3: what is posted while a session is about to go keeps it, and a worker acts on it", {
    timeout: 20_000,
  }, async () => {
    const world = new TurnWorld();
    const session = await createSession(world.process(), "s");
    world.effects.advance(day);
    const worker = createWorker({ runtime: world.process(), agent: () => agentOf([answer()]) });
    const gone: string[] = [];
    const leaving = async () => {
      await session.post("input", "one more thing");
      return async () => void gone.push("s");
    };
    const pruned = await prune(world.process(), { olderThanMs: 0, leaving });
    assert.deepEqual([pruned.deleted, pruned.kept.waiting, gone], [[], 1, []]);
    while (eventsOf(await session.entries(), "turn.ended").length === 0) {
      await world.effects.settle();
      world.effects.advance(50);
    }
    await worker.drain();
    assertLawful(await session.entries());
  });

  test("L8: a session that another takes over meanwhile is left alone", async () => {
    const world = new TurnWorld();
    await createSession(world.process(), "s");
    world.effects.advance(day);
    const pruner = world.process();
    const leaving = async () => {
      pruner.die();
      await leased(world, "s");
      return async () => assert.fail("it has not gone");
    };
    const pruned = await prune(pruner, { olderThanMs: 0, leaving });
    assert.deepEqual([pruned.deleted, pruned.kept.driven], [[], 1]);
    assert.ok((await world.store.get("s"))?.lease);
  });

  test("an age that is none is refused", async () => {
    const world = new TurnWorld();
    for (const olderThanMs of [Number.NaN, -1, Number.POSITIVE_INFINITY])
      await assert.rejects(prune(world.process(), { olderThanMs }), { code: "INVALID_INPUT" });
  });
});

async function leased(world: TurnWorld, session: string): Promise<{ epoch: number; seq: number }> {
  const answer = await world.store.acquireLease(session, world.process().holder, 60_000);
  assert.ok(answer.granted);
  return answer;
}
