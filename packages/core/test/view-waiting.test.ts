import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, say } from "../src/testing/model.ts";
import { createSession } from "../src/turn/session.ts";
import { workspaceWait } from "../src/view/waiting.ts";
import { agentOf, TurnWorld } from "./turn-world.ts";

test("a session waits from the post on that nobody takes up, while nobody drives it, and never without a need", async () => {
  const world = new TurnWorld();
  const runtime = world.process();
  const needy = await createSession(runtime, "needy", { workspace: "disk-a" });
  const plain = await createSession(runtime, "plain");
  const wait = async (id = "needy") => {
    const summary = await world.store.get(id);
    assert.ok(summary);
    return workspaceWait(summary);
  };
  world.effects.advance(10);
  assert.equal(await wait(), undefined);
  const since = world.effects.clock.now();
  await needy.post("input", "go");
  await plain.post("input", "go");
  world.effects.advance(10);
  await needy.post("input", "more");
  assert.deepEqual([await wait(), await wait("plain")], [{ workspace: "disk-a", since }, undefined]);
  const lease = await world.store.acquireLease("needy", runtime.holder, 1_000);
  assert.ok(lease.granted);
  assert.equal(await wait(), undefined);
  await world.store.releaseLease("needy", lease.epoch);
  await needy.run(agentOf(Array(3).fill([...say("done"), finish()])), "and this").result;
  assert.equal(await wait(), undefined, "everything is taken up");
});

test("an open turn that nobody drives waits since its last record, whatever was posted later", () => {
  const at = { session: "s", seq: 3, epoch: 1, createdAt: 1, updatedAt: 50 };
  const head = { workspace: "disk-a", openTurn: "t" };
  assert.deepEqual(workspaceWait({ ...at, head, waitingSince: 70 }), { workspace: "disk-a", since: 50 });
  const holder = { id: "h", host: "h", boot: "b", pid: 1, start: "1" };
  assert.equal(workspaceWait({ ...at, head, lease: { epoch: 1, holder, expiresAt: 99 } }), undefined);
});
