import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, say, scriptedModel } from "../src/testing/model.ts";
import { TurnWorld } from "./turn-world.ts";

test("retryNow ends the wait before the next attempt; no time has passed", async () => {
  const world = new TurnWorld();
  const { effects } = world;
  const session = await world.session();
  const model = scriptedModel([[{ fail: new TypeError("terminated") }], [...say("Here."), finish()]]);
  const recovery = { backoff: { firstMs: 30_000, factor: 1, capMs: 30_000 } };
  const turn = session.run({ model, recovery }, "Hello");
  const startedAt = effects.clock.monotonic();
  for await (const item of turn) {
    if (item.type !== "entry" || item.entry.event.type !== "attempt.ended") continue;
    if (item.entry.event.decision?.action !== "retry") continue;
    // The fact is told before the wait begins: a nudge that comes too early would find nothing to end.
    await effects.settle();
    turn.retryNow();
  }
  const { outcome, text } = await turn.result;
  assert.equal(outcome.type, "completed");
  assert.equal(text, "Here.");
  assert.equal(effects.clock.monotonic(), startedAt);
});
