/** What a recovered model gives to a consumer that cannot take anything back. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { APICallError } from "@ai-sdk/provider";
import { type RecoverOptions, recover } from "../src/attempt/recovering.ts";
import { isPawlError } from "../src/error.ts";
import { FakeEffects } from "../src/testing/fake.ts";
import { call, finish, type ScriptEntry, say, scriptedModel, think } from "../src/testing/model.ts";
import { assertOneEnd, dropped, failedWith, recovered, type StreamPart, wordsOf } from "./recovering-world.ts";

const announced: StreamPart[] = [
  { type: "stream-start", warnings: [] },
  { type: "response-metadata", id: "lost" },
];
const whole: StreamPart[] = [{ type: "stream-start", warnings: [] }, ...think("Then."), ...say("Whole."), finish()];

function refused(status: number, headers: Record<string, string> = {}): ScriptEntry {
  const isRetryable = status === 429 || status >= 500;
  const about = { message: `status ${status}`, url: "u", requestBodyValues: {}, responseHeaders: headers };
  return { reject: new APICallError({ ...about, statusCode: status, isRetryable }) };
}

describe("before any output", () => {
  const lost: Record<string, ScriptEntry> = {
    "a refusal": refused(503),
    "a reset at once": [dropped],
    "a reset behind announcements": [...announced, { type: "text-start", id: "1" }, dropped],
    "a call that is only begun": [...announced, { type: "tool-input-start", id: "c", toolName: "t" }, dropped],
    "a call that came whole, of a broken answer": [
      { type: "tool-call", toolCallId: "c", toolName: "t", input: "{}" },
      dropped,
    ],
    "an empty answer": [...announced, finish()],
    "an end without a finish": [...announced],
    "an error part, whatever follows": [{ type: "error", error: new Error("odd") }, ...say("No."), finish()],
    "a finish that tells of an error": [finish("error")],
    silence: [...announced, { silence: true }],
    "thought alone": [...announced, ...think("Hm."), dropped],
    "thought that begins to speak": [...think("Hm."), { type: "text-start", id: "1" }, dropped],
  };
  for (const [what, entry] of Object.entries(lost)) {
    it(`${what} is asked again, and its consumer gets the second answer as it came`, async () => {
      const { stream, inner, effects } = recovered([entry, whole]);
      assert.deepEqual(await stream(), { parts: whole });
      assert.equal(inner.requests.length, 2);
      assert.equal(effects.waiting, 0);
    });
  }

  it("what is not retryable rejects at once, with the error of the package as its cause", async () => {
    const { stream, inner } = recovered([refused(401), whole]);
    const got = await stream();
    const { failure, decision, attempts, cause, exposure } = failedWith(got);
    assert.deepEqual([failure.kind, failure.status, decision.action, attempts], ["auth", 401, "stop", 1]);
    assert.deepEqual([exposure.text, exposure.reasoning], [false, false]);
    assert.ok(APICallError.isInstance(cause));
    assert.equal(inner.requests.length, 1);
  });

  it("R77: once the budget is used up, the error is one that no layer above asks again for", async () => {
    const { stream, inner } = recovered(Array(9).fill(refused(503)), { recovery: { attemptsPerStep: 3 } });
    const error = failedWith(await stream());
    assert.equal(inner.requests.length, 3);
    assert.deepEqual([error.attempts, error.isRetryable, APICallError.isInstance(error)], [3, false, false]);
    assert.match(error.message, /3 attempts of this step failed/);
  });

  it("a request that moves the server's state is not made twice", async () => {
    const { stream, inner } = recovered([[dropped], whole]);
    const got = await stream({ providerOptions: { openai: { conversation: "c" } } });
    assert.match(failedWith(got).decision.reason, /outcome is unknown/);
    assert.equal(inner.requests.length, 1);
  });

  it("a transport that says no is believed", async () => {
    const no = Object.assign(new TypeError("terminated"), { isRetryable: false });
    const { stream } = recovered([[{ fail: no }], whole]);
    const error = failedWith(await stream());
    assert.deepEqual([error.failure.said, error.cause], ["stop", no]);
  });

  it("a provider's wait is kept; one beyond the cap is told, not slept", async () => {
    const kept = recovered([refused(429, { "retry-after": "7" }), whole]);
    const before = kept.effects.clock.monotonic();
    assert.equal(assertOneEnd(await kept.stream()), "good");
    assert.equal(kept.effects.clock.monotonic() - before, 7_000);
    const told = recovered([refused(429, { "retry-after": "3600" }), whole]);
    const { decision, failure } = failedWith(await told.stream());
    assert.deepEqual([failure.kind, decision.until], ["rate-limited", told.effects.clock.now() + 3_600_000]);
  });

  it("time is a budget: no wait begins that would end behind it", async () => {
    const { stream, inner } = recovered([refused(429, { "retry-after": "7" }), whole], {
      recovery: { elapsedMsPerTurn: 6_000 },
    });
    assert.equal(failedWith(await stream()).decision.limit, "time");
    assert.equal(inner.requests.length, 1);
  });
});

describe("once output was let out", () => {
  const half: Record<string, StreamPart[]> = {
    text: [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "Half" },
    ],
    "text that was closed": say("Half"),
    "thought and text": [...think("Hm."), ...say("Half")],
    "tool input": call("t", '{"a":1}').slice(0, 2),
    "a whole call": call("t", '{"a":1}'),
    "a file": [{ type: "file", mediaType: "image/png", data: { type: "data", data: "AA==" } }],
    "a tool of the provider": [
      { type: "tool-call", toolCallId: "s", toolName: "search", input: "{}", providerExecuted: true },
    ],
  };
  const breaks: Record<string, ScriptEntry> = {
    "a reset": [dropped],
    silence: [{ silence: true }],
    "a clean end": [],
    "an error part and a finish": [{ type: "error", error: { type: "overloaded_error" } }, finish()],
    "an invented finish": [finish("interrupted")],
  };
  for (const [what, parts] of Object.entries(half)) {
    it(`${what} is not asked for again: the last part is an error, and no call is handed over`, async () => {
      for (const [how, end] of Object.entries(breaks)) {
        const { stream, inner, reports } = recovered([[...parts, ...(end as StreamPart[])], whole]);
        const got = await stream();
        assert.equal(assertOneEnd(got), "failed", how);
        assert.ok(failedWith(got).failure.kind === (how.startsWith("an error") ? "overloaded" : "stream-broken"), how);
        assert.deepEqual(
          got.parts.slice(0, -1),
          parts.filter((part) => part.type !== "tool-call" || part.providerExecuted),
          how,
        );
        assert.deepEqual([inner.requests.length, reports.at(-1)?.end], [1, "failed"]);
      }
    });
  }

  it("a call is handed over with the good end of its answer, and what came behind it keeps its place", async () => {
    const gate = Promise.withResolvers<void>();
    const rest = [...call("t", { b: 1 }, "c2"), ...say("Both.", "2"), finish("tool-calls")];
    const { model, effects } = recovered([
      [...say("See:"), ...call("t", { a: 1 }, "c1"), { until: gate.promise }, ...rest],
    ]);
    const got: StreamPart[] = [];
    const { stream } = await model.doStream({ prompt: [] });
    const reading = (async () => {
      for await (const part of stream) got.push(part);
    })();
    await effects.settle();
    assert.deepEqual(got, [...say("See:"), ...call("t", { a: 1 }, "c1").slice(0, 3)]);
    gate.resolve();
    await effects.run(reading);
    assert.deepEqual(got, [...say("See:"), ...call("t", { a: 1 }, "c1"), ...rest]);
  });

  it("a veto of the provider's filter beside a call is an error; a full window is an end", async () => {
    const vetoed = await recovered([[...call("t", {}), finish("content-filter")]]).stream();
    assert.equal(failedWith(vetoed).failure.kind, "filtered");
    const full = await recovered([[...say("Long"), finish("length")]]).stream();
    assert.equal(assertOneEnd(full), "good");
  });
});

describe("reasoning that is shown", () => {
  const proof = { p: { signature: "s" } };
  const signed = (text: string): StreamPart[] => [
    { type: "reasoning-start", id: "r", providerMetadata: { p: { item: text } } },
    { type: "reasoning-delta", id: "r", delta: text },
    { type: "reasoning-delta", id: "r", delta: "", providerMetadata: proof },
    { type: "reasoning-end", id: "r", providerMetadata: { p: { last: true } } },
  ];
  const show: RecoverOptions = { reasoning: "show" };

  it("is sealed without its proof where its attempt is lost; the next one's comes under an id of its own", async () => {
    const good = [...signed("Then."), ...say("Whole."), finish()];
    const { stream, reports } = recovered(
      [
        [...announced, ...signed("Hm."), dropped],
        [...announced, ...good],
      ],
      show,
    );
    const { parts } = await stream();
    const id = "a_000002-1-r";
    assert.deepEqual(parts, [
      ...announced,
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "Hm." },
      { type: "reasoning-end", id: "r" },
      { type: "response-metadata", id: "lost" },
      { type: "reasoning-start", id },
      { type: "reasoning-delta", id, delta: "Then." },
      { type: "reasoning-delta", id, delta: "", providerMetadata: { p: { item: "Then." } } },
      { type: "reasoning-delta", id, delta: "", providerMetadata: proof },
      { type: "reasoning-end", id, providerMetadata: { p: { last: true } } },
      ...say("Whole."),
      finish(),
    ]);
    assert.deepEqual(
      reports.map(({ end, exposure }) => [end, exposure.reasoning, exposure.clientState]),
      [
        ["sealed", true, false],
        ["committed", true, true],
      ],
    );
  });

  it("is heard while it comes", async () => {
    const { model, effects } = recovered([[...signed("Hm."), { silence: true }]], show);
    const reader = (await model.doStream({ prompt: [] })).stream.getReader();
    assert.deepEqual((await reader.read()).value, { type: "reasoning-start", id: "r" });
    assert.deepEqual((await reader.read()).value, { type: "reasoning-delta", id: "r", delta: "Hm." });
    await reader.cancel();
    await effects.settle();
    assert.equal(effects.waiting, 0);
  });

  it("several thoughts of a lost attempt are all closed without their proofs, and only once", async () => {
    const lost = [...signed("One."), ...signed("Two."), ...signed("Three."), dropped];
    const { parts } = await recovered([lost, [...say("Whole."), finish()]], show).stream();
    const thoughts = parts.slice(0, -4);
    assert.equal(wordsOf(thoughts, "reasoning"), "One.Two.Three.");
    assert.equal(thoughts.length, 9);
    assert.ok(thoughts.every((part) => part.type.startsWith("reasoning-") && !("providerMetadata" in part)));
    assert.deepEqual(parts.slice(-4), [...say("Whole."), finish()]);
  });

  it("is sealed so often as policy says, and no more", async () => {
    const { stream, inner } = recovered(Array(9).fill([...signed("Hm."), dropped]), show);
    const got = await stream();
    assert.match(failedWith(got).decision.reason, /broke off 3 times/);
    assert.equal(inner.requests.length, 3);
    const ids = got.parts.flatMap((part) => (part.type === "reasoning-start" ? [part.id] : []));
    assert.equal(new Set(ids).size, 3);
  });

  it("a part that a stream opens twice under one id is two parts", async () => {
    const twice = [...signed("One."), ...signed("Two."), ...say("Whole."), finish()];
    const { parts } = await recovered([twice], show).stream();
    const ids = parts.flatMap((part) => (part.type === "reasoning-end" ? [part.id] : []));
    assert.deepEqual(ids, ["r", "a_000001-1-r"]);
  });
});

describe("an answer that is held back whole", () => {
  const lost: StreamPart[][] = [say("Half"), [...think("Hm."), ...call("t", {})], call("t", '{"a').slice(0, 2)];

  it("is asked for again whatever had come", async () => {
    for (const parts of lost) {
      const { stream, inner } = recovered([[...parts, dropped], whole], { buffer: "answer" });
      assert.deepEqual(await stream(), { parts: whole });
      assert.equal(inner.requests.length, 2);
    }
  });

  it("but not where a tool of the provider ran", async () => {
    const ran: StreamPart = { type: "tool-call", toolCallId: "s", toolName: "x", input: "{}", providerExecuted: true };
    const { stream, inner } = recovered([[ran, dropped], whole], { buffer: "answer" });
    const got = await stream();
    assert.deepEqual([got.parts, failedWith(got).decision.action, inner.requests.length], [[], "stop", 1]);
  });

  it("doGenerate gives the content of the good attempt, and its figures alone", async () => {
    const proof = { p: { signature: "s" } };
    const answer: StreamPart[] = [
      { type: "stream-start", warnings: [{ type: "other", message: "w" }] },
      { type: "response-metadata", id: "resp", modelId: "m" },
      { type: "reasoning-start", id: "1", providerMetadata: { p: { item: "i" } } },
      { type: "reasoning-delta", id: "1", delta: "Hm." },
      { type: "reasoning-delta", id: "1", delta: "", providerMetadata: proof },
      { type: "reasoning-end", id: "1" },
      ...say("Whole."),
      ...call("t", { a: 1 }),
      finish("tool-calls"),
    ];
    const { model, effects, reports } = recovered([[...say("Half"), dropped], answer]);
    const result = await effects.run(Promise.resolve(model.doGenerate({ prompt: [] })));
    assert.deepEqual(result.content, [
      { type: "reasoning", text: "Hm.", providerMetadata: { p: { item: "i", signature: "s" } } },
      { type: "text", text: "Whole." },
      { type: "tool-call", toolCallId: "call_t", toolName: "t", input: '{"a":1}' },
    ]);
    assert.deepEqual([result.finishReason.unified, result.response?.id], ["tool-calls", "resp"]);
    assert.deepEqual(result.warnings, [{ type: "other", message: "w" }]);
    assert.equal(result.usage.outputTokens.total, 5);
    assert.deepEqual(
      reports.map(({ end, usage }) => [end, usage.measure]),
      [
        ["discarded", "estimated"],
        ["committed", "reported"],
      ],
    );
  });

  it("doGenerate rejects with what a stream would end with", async () => {
    const { model, effects } = recovered([[...say("Half"), dropped]], { recovery: { attemptsPerStep: 1 } });
    await assert.rejects(effects.run(Promise.resolve(model.doGenerate({ prompt: [] }))), { name: "ModelCallFailed" });
  });
});

describe("edges", () => {
  it("an answer whose terminal frame came is whole, though its package broke: open parts and calls are closed", async () => {
    const frame: StreamPart = { type: "raw", rawValue: { choices: [{ finish_reason: "tool_calls" }] } };
    const open = call("t", { a: 1 }).slice(0, 2);
    const { parts } = await recovered([
      [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "See:" }, ...open, frame, dropped],
    ]).stream();
    assert.deepEqual(parts.slice(-4, -1), [
      { type: "text-end", id: "1" },
      { type: "tool-input-end", id: "call_t" },
      { type: "tool-call", toolCallId: "call_t", toolName: "t", input: '{"a":1}' },
    ]);
    const end = parts.at(-1);
    assert.deepEqual(end?.type === "finish" && end.finishReason, { unified: "tool-calls", raw: "tool_calls" });
  });

  it("R20: an error behind the terminal frame is no part of the answer", async () => {
    const frame: StreamPart = { type: "raw", rawValue: { choices: [{ finish_reason: "stop" }] } };
    const late: StreamPart = { type: "error", error: new Error("late") };
    const got = await recovered([[...say("Whole."), frame, late, finish()]]).stream();
    assert.deepEqual(got, { parts: [...say("Whole."), finish()] });
  });

  it("raw parts go to who asked for them", async () => {
    const raw: StreamPart = { type: "raw", rawValue: 1 };
    const script = () => [[raw, { type: "ping" } as StreamPart, ...say("Whole."), finish()]];
    assert.deepEqual((await recovered(script()).stream()).parts, [...say("Whole."), finish()]);
    const asked = recovered(script());
    assert.deepEqual((await asked.stream({ includeRawChunks: true })).parts, [raw, ...say("Whole."), finish()]);
    assert.equal(asked.inner.requests[0]?.includeRawChunks, true);
  });

  it("the request and the headers are those of the attempt that was handed on", async () => {
    const inner = scriptedModel([[dropped], whole]);
    const about = {
      ...inner,
      doStream: async (call: Parameters<typeof inner.doStream>[0]) => {
        const { stream } = await inner.doStream(call);
        return { stream, response: { headers: { number: String(inner.requests.length) } } };
      },
    };
    const effects = new FakeEffects();
    const { response } = await effects.run(Promise.resolve(recover(about, { effects }).doStream({ prompt: [] })));
    assert.deepEqual(response, { headers: { number: "2" } });
  });

  it("a hook that throws costs nothing", async () => {
    const { stream } = recovered([[dropped], whole], { onAttempt: () => assert.fail("the books are closed") });
    assert.deepEqual(await stream(), { parts: whole });
  });

  it("a model of another kind, and a figure that bounds nothing, are refused", () => {
    const effects = new FakeEffects();
    const refusedBy = (make: () => unknown) => assert.throws(make, (error) => isPawlError(error, "INVALID_INPUT"));
    refusedBy(() => recover("openai/gpt-5" as never, { effects }));
    refusedBy(() => recover({ ...scriptedModel([]), specificationVersion: "v3" } as never, { effects }));
    refusedBy(() => recover(scriptedModel([]), { effects, recovery: { attemptsPerStep: Number.NaN } }));
  });

  it("the words of two attempts are never joined", async () => {
    const { parts } = await recovered([[...think("A."), dropped], [...think("B."), dropped], whole], {
      reasoning: "show",
    }).stream();
    assert.deepEqual([wordsOf(parts), wordsOf(parts, "reasoning")], ["Whole.", "A.B.Then."]);
    assert.equal(parts.filter(({ type }) => type === "reasoning-end").length, 3);
  });
});
