import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import { joinSignals } from "../src/attempt/joined-signal.ts";

describe("joined signals", () => {
  for (const at of [0, 1]) {
    test(`source ${at} aborts: so does the joined one, for its reason, and both are forgotten`, () => {
      const sources = [new AbortController(), new AbortController()] as const;
      const { signal } = joinSignals(sources[0].signal, sources[1].signal);
      assert.equal(signal.aborted, false);
      const reason = new Error("enough");
      sources[at]?.abort(reason);
      assert.equal(signal.reason, reason);
      for (const source of sources) assert.equal(getEventListeners(source.signal, "abort").length, 0);
    });
  }

  test("a source that has aborted before counts", () => {
    const reason = new Error("long ago");
    const open = new AbortController().signal;
    assert.equal(joinSignals(open, AbortSignal.abort(reason)).signal.reason, reason);
    assert.equal(getEventListeners(open, "abort").length, 0);
  });

  test("released, it hears nothing more and leaves nothing behind", () => {
    const source = new AbortController();
    const { signal, release } = joinSignals(source.signal, new AbortController().signal);
    release();
    assert.equal(getEventListeners(source.signal, "abort").length, 0);
    source.abort();
    assert.equal(signal.aborted, false);
  });
});
