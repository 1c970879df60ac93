import assert from "node:assert/strict";
import { test } from "node:test";
import { createSession, memoryStore } from "../src/index.ts";
import { FakeEffects, fakeHolder } from "../src/testing/fake.ts";
import { finish, say, scriptedModel } from "../src/testing/model.ts";

test("retryNow ends the wait before the next attempt; no time has passed", async () => {
  const effects = new FakeEffects();
  const runtime = { store: memoryStore({ clock: effects.clock }), effects, holder: fakeHolder() };
  const session = await createSession(runtime, "s");
  const model = scriptedModel([[{ fail: new TypeError("terminated") }], [...say("Here."), finish()]]);
  const recovery = { backoff: { firstMs: 30_000, factor: 1, capMs: 30_000 } };
  const turn = session.run({ model, recovery }, "Hello");
  const startedAt = effects.clock.monotonic();
  for await (const item of turn) {
    if (item.type !== "entry" || item.entry.event.type !== "attempt.ended") continue;
    if (item.entry.event.decision?.action !== "retry") continue;
    // The fact is told before the wait begins: a nudge that comes too early would find nothing to end.
    await new Promise((resolve) => setImmediate(resolve));
    turn.retryNow();
  }
  const { outcome, text } = await turn.result;
  assert.equal(outcome.type, "completed");
  assert.equal(text, "Here.");
  assert.equal(effects.clock.monotonic(), startedAt);
});
