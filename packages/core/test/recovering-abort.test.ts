/** A consumer that goes, at any moment, ends everything at once: no request is left open, none is made, no timer waits. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { call, finish, type ScriptEntry, say, think } from "../src/testing/model.ts";
import { consume, dropped, recovered } from "./recovering-world.ts";

const whole: ScriptEntry = [...say("Whole."), finish()];

describe("an abort", () => {
  const moments: Record<string, ScriptEntry> = {
    "while nothing has come": [{ silence: true }],
    "while a thought is held back": [...think("Hm."), { silence: true }],
    "in the middle of a sentence": [...say("Half"), { silence: true }],
    "behind a call that is held back": [...call("t", {}), { silence: true }],
    "in the wait for the next attempt": [dropped],
  };
  for (const [when, entry] of Object.entries(moments)) {
    it(`${when}: the reason comes back as it was given`, async () => {
      const { model, inner, effects, reports } = recovered([entry, whole]);
      const hand = new AbortController();
      const consuming = consume(model, { abortSignal: hand.signal });
      await effects.settle();
      const reason = new Error("enough");
      hand.abort(reason);
      await effects.settle();
      assert.equal(effects.waiting, 0);
      const { thrown, parts } = await consuming;
      assert.equal(thrown, reason);
      assert.ok(parts.every(({ type }) => type !== "finish" && type !== "error" && type !== "tool-call"));
      assert.equal(inner.requests.length, 1);
      assert.equal(inner.requests[0]?.abortSignal?.aborted, entry !== moments["in the wait for the next attempt"]);
      assert.equal(reports.length, 1);
    });
  }

  it("before the call: nothing is asked", async () => {
    const { model, inner } = recovered([whole]);
    const { thrown } = await consume(model, { abortSignal: AbortSignal.abort() });
    assert.deepEqual([(thrown as Error).name, inner.requests.length], ["AbortError", 0]);
  });

  it("behind the end is none, and nothing listens any more", async () => {
    const { stream, inner } = recovered([whole]);
    const hand = new AbortController();
    const got = await stream({ abortSignal: hand.signal });
    hand.abort();
    assert.deepEqual([got.thrown, got.parts.at(-1)?.type], [undefined, "finish"]);
    assert.equal(inner.requests[0]?.abortSignal?.aborted, false);
  });
});

describe("a cancelled stream", () => {
  it("ends its request, and what it did not read", async () => {
    const { model, inner, effects, reports } = recovered([[...say("Half"), { silence: true }], whole]);
    const { stream } = await model.doStream({ prompt: [] });
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel(new Error("gone"));
    await effects.settle();
    assert.deepEqual([inner.requests.length, effects.waiting], [1, 0]);
    assert.equal(inner.requests[0]?.abortSignal?.aborted, true);
    assert.deepEqual([reports[0]?.end, reports[0]?.failure?.kind], ["failed", "aborted"]);
  });

  it("ends the wait between two attempts", async () => {
    const { model, inner, effects } = recovered([[...think("Hm."), dropped], whole], { reasoning: "show" });
    const { stream } = await model.doStream({ prompt: [] });
    await effects.settle();
    assert.equal(effects.waiting, 1);
    await stream.cancel();
    await effects.settle();
    assert.deepEqual([inner.requests.length, effects.waiting], [1, 0]);
  });

  it("a consumer that reads nothing does not look like a silent provider", async () => {
    const { model, effects, reports } = recovered([whole]);
    const { stream } = await model.doStream({ prompt: [] });
    await effects.settle();
    effects.advance(60 * 60_000);
    assert.equal(reports[0]?.end, "committed");
    const parts = [];
    for await (const part of stream) parts.push(part);
    assert.deepEqual(parts, whole);
  });
});
