/** One message out of any sequence of parts. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import fc from "fast-check";
import { Assembler, type PartSink } from "../src/attempt/assemble.ts";
import { verdict } from "../src/attempt/verdict.ts";
import type { MessagePart } from "../src/log/event.ts";
import type { Exposure } from "../src/log/value.ts";
import { call, finish, say, think } from "../src/testing.ts";

const silent: PartSink = { started: () => {}, delta: () => {}, ended: () => {} };

function assembled(parts: readonly LanguageModelV4StreamPart[], sink = silent): Assembler {
  const assembler = new Assembler("a_1", sink);
  for (const part of parts) assembler.push(part);
  assembler.seal();
  return assembler;
}

function judged(parts: readonly LanguageModelV4StreamPart[]): string {
  return verdict(assembled(parts), { now: 0 })?.kind ?? "good";
}

function shown(part: MessagePart): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return `${part.type}:${part.text}`;
    case "tool-call":
      return `call:${part.tool}(${part.input})${part.cut ? " cut" : ""}`;
    default:
      return part.type;
  }
}

/** Random streams as packages make them: deltas of several open parts interleave; anything may be missing its end. */
const ids = fc.constantFrom("0", "1", "2");
const text = fc.string({ unit: "grapheme", maxLength: 8 });
const anyPart: fc.Arbitrary<LanguageModelV4StreamPart> = fc.oneof(
  ids.map((id) => ({ type: "text-start" as const, id })),
  fc.record({ type: fc.constant("text-delta" as const), id: ids, delta: text }),
  ids.map((id) => ({ type: "text-end" as const, id })),
  ids.map((id) => ({ type: "reasoning-start" as const, id })),
  fc.record({ type: fc.constant("reasoning-delta" as const), id: ids, delta: text }),
  ids.map((id) => ({ type: "reasoning-end" as const, id, providerMetadata: { p: { signature: "s" } } })),
  ids.map((id) => ({ type: "tool-input-start" as const, id, toolName: "read" })),
  fc.record({ type: fc.constant("tool-input-delta" as const), id: ids, delta: text }),
  ids.map((id) => ({ type: "tool-input-end" as const, id })),
  ids.map((id) => ({ type: "tool-call" as const, toolCallId: id, toolName: "read", input: "{}" })),
  fc.constant({ type: "response-metadata" as const, id: "r" }),
  fc.constant({ type: "raw" as const, rawValue: { choices: [{ finish_reason: null }] } }),
  fc.constant({ type: "ping" } as unknown as LanguageModelV4StreamPart),
);
const anyStream = fc.array(anyPart, { maxLength: 60 });

describe("any sequence of parts", () => {
  it("L2: ids are fresh, in order, of this attempt alone", () => {
    fc.assert(
      fc.property(anyStream, (parts) => {
        const found = assembled(parts).parts.map((part) => part.id);
        assert.deepEqual(
          found,
          found.map((_, index) => `a_1-${index + 1}`),
        );
      }),
    );
  });

  it("text, reasoning and arguments are what came, byte for byte, and a sink hears the same", () => {
    fc.assert(
      fc.property(anyStream, (parts) => {
        const heard = new Map<string, string>();
        const sink: PartSink = {
          ...silent,
          delta: (part, more) => heard.set(part.id, (heard.get(part.id) ?? "") + more),
        };
        const { parts: message } = assembled(parts, sink);
        for (const [delta, kind] of [
          ["text-delta", "text"],
          ["reasoning-delta", "reasoning"],
        ] as const) {
          const sent = parts.map((part) => (part.type === delta ? part.delta : ""));
          const kept = message.map((part) => (part.type === kind && "text" in part ? part.text : ""));
          assert.equal([...kept.join("")].sort().join(""), [...sent.join("")].sort().join(""));
        }
        for (const part of message)
          if (part.type === "text" || part.type === "reasoning") assert.equal(heard.get(part.id) ?? "", part.text);
      }),
    );
  });

  it("deltas of one id are concatenated in order, whatever comes between", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(ids, text), { maxLength: 40 }), (deltas) => {
        const { parts } = assembled(deltas.map(([id, delta]) => ({ type: "text-delta", id, delta })));
        const order = [...new Set(deltas.map(([id]) => id))];
        const expected = order.map((id) => deltas.map(([other, delta]) => (other === id ? delta : "")).join(""));
        assert.deepEqual(
          parts.map((part) => (part.type === "text" ? part.text : "")),
          expected,
        );
      }),
    );
  });

  it("L4: a call is complete only if the provider said so; a prefix never runs", () => {
    fc.assert(
      fc.property(anyStream, (parts) => {
        const assembler = assembled(parts);
        const closed = parts.filter((part) => part.type === "tool-call").length;
        const complete = assembler.calls().filter((part) => !part.cut);
        assert.equal(complete.length, closed);
        assert.equal(assembler.exposure.calls, closed);
      }),
    );
  });

  it("exposure only grows", () => {
    fc.assert(
      fc.property(anyStream, (parts) => {
        const assembler = new Assembler("a_1", silent);
        let before: Exposure = { ...assembler.exposure };
        for (const part of parts) {
          assembler.push(part);
          for (const [fact, value] of Object.entries(before)) {
            assert.ok(Number(assembler.exposure[fact as keyof Exposure]) >= Number(value), fact);
          }
          before = { ...assembler.exposure };
        }
      }),
    );
  });

  it("R20: an error part voids, wherever it comes and whatever follows", () => {
    fc.assert(
      fc.property(anyStream, fc.nat(60), (parts, at) => {
        const broken: LanguageModelV4StreamPart[] = [
          ...parts.slice(0, at),
          { type: "error", error: new Error("x") },
          ...parts.slice(at),
          ...say("done"),
          finish("stop"),
        ];
        assert.equal(judged(broken), "stream-broken");
      }),
    );
  });

  it("the same parts give the same message", () => {
    fc.assert(fc.property(anyStream, (parts) => assert.deepEqual(assembled(parts).parts, assembled(parts).parts)));
  });
});

describe("how streams end", () => {
  it("R20: no finish is no answer, with text, with calls, with nothing", () => {
    assert.equal(judged(say("Half")), "stream-broken");
    assert.equal(judged([...say("Half"), finish("interrupted")]), "stream-broken");
    assert.equal(judged(call("read", { path: "a" })), "stream-broken");
    assert.equal(judged([]), "empty");
    assert.equal(judged([{ type: "stream-start", warnings: [] }]), "empty");
    assert.equal(judged([...say("All"), finish("stop")]), "good");
  });

  it("R21: finish, content and usage are independent; a turn that ends in a call needs no text", () => {
    assert.equal(judged([...call("read", {}), finish("tool-calls")]), "good");
    const bare = {
      type: "finish" as const,
      finishReason: { unified: "stop" as const, raw: "STOP" },
      usage: {} as never,
    };
    const assembler = assembled([...say("hi"), bare]);
    assert.equal(verdict(assembler, { now: 0 }), undefined);
    assert.deepEqual([assembler.finish, assembler.usage], [{ reason: "stop", raw: "STOP" }, { measure: "unknown" }]);
  });

  it("R22: on length the last open call is cut; complete earlier ones stand", () => {
    const open = call("write", '{"path":"b","content":"half').slice(0, 2);
    const half = call("write", '{"path":"b","content":"half');
    for (const last of [open, half]) {
      const assembler = assembled([...call("read", { path: "a" }), ...last, finish("length")]);
      assert.deepEqual(assembler.parts.map(shown), [
        'call:read({"path":"a"})',
        'call:write({"path":"b","content":"half) cut',
      ]);
      assert.equal(verdict(assembler, { now: 0 }), undefined);
    }
  });

  it("R22: a call that the limit cut before its first argument is no call without arguments", () => {
    const start: LanguageModelV4StreamPart = { type: "tool-input-start", id: "c", toolName: "wipe" };
    for (const input of ["", "{}"]) {
      const closed: LanguageModelV4StreamPart = { type: "tool-call", toolCallId: "c", toolName: "wipe", input };
      assert.deepEqual(
        assembled([start, closed, finish("length")])
          .calls()
          .map((one) => one.cut),
        [true],
        input,
      );
      assert.deepEqual(
        assembled([start, closed, finish("tool-calls")])
          .calls()
          .map((one) => one.cut),
        [undefined],
        input,
      );
      // Text behind it shows that the model had closed it.
      assert.deepEqual(
        assembled([start, closed, ...say("more"), finish("length")])
          .calls()
          .map((one) => one.cut),
        [undefined],
      );
    }
    assert.deepEqual(
      assembled([
        { type: "tool-call", toolCallId: "c", toolName: "read", input: '{"a":1}' },
        finish("length"),
      ]).calls()[0]?.cut,
      undefined,
    );
    assert.equal(
      assembled([...call("count", "12"), finish("length")]).calls()[0]?.cut,
      true,
      "a number may be the start of a longer one",
    );
  });

  it("R24: a filter's answer is kept, without one it is filtered, and calls beside a veto never run", () => {
    assert.equal(judged([...say("Some"), finish("content-filter")]), "good");
    assert.equal(judged([finish("content-filter")]), "filtered");
    assert.equal(judged([...think("hm"), finish("content-filter")]), "filtered");
    assert.equal(judged([...say("Some"), ...call("read", {}), finish("content-filter")]), "filtered");
  });

  it("R24: a reason that we do not know is said, not guessed, and not retried", () => {
    const failure = verdict(
      assembled([
        ...say("x"),
        { ...finish("other"), finishReason: { unified: "other", raw: "model_length" } } as LanguageModelV4StreamPart,
      ]),
      { now: 0 },
    );
    assert.deepEqual([failure?.kind, failure?.retryable], ["unknown", false]);
    assert.match(failure?.message ?? "", /model_length/);
  });

  it("R25 R26: calls count, the reason does not", () => {
    assert.equal(judged([...call("read", {}), finish("stop")]), "good");
    assert.equal(judged([...say("No tools needed."), finish("tool-calls")]), "good");
    assert.equal(judged([finish("tool-calls")]), "empty");
  });

  it("R27: reasoning alone, blank text and nothing are no answer", () => {
    for (const parts of [think("I wonder"), say("\n \n"), [], [...think("hm"), ...say("  ")]]) {
      for (const reason of ["stop", "length", "tool-calls"] as const)
        assert.equal(judged([...parts, finish(reason)]), "empty");
    }
    const source: LanguageModelV4StreamPart = { type: "source", sourceType: "url", id: "s", url: "http://x" };
    assert.equal(judged([source, finish("stop")]), "empty");
    const file = { type: "file" as const, mediaType: "image/png", data: { type: "data" as const, data: "AAAA" } };
    assert.equal(judged([file, finish("stop")]), "good");
  });

  it("a package's announcements are no output: reasoning behind one is still only reasoning", () => {
    const started: LanguageModelV4StreamPart = {
      type: "custom",
      kind: "anthropic.message_start",
      providerMetadata: { anthropic: { id: "m", usage: { input_tokens: 1 } } },
    };
    const assembler = assembled([started, ...think("hm")]);
    assert.deepEqual(
      [assembler.exposure.text, assembler.exposure.clientState, assembler.parts.length],
      [false, false, 1],
    );
    assert.equal(judged([started, finish("stop")]), "empty");
  });
});

describe("R29: absent is not zero", () => {
  const withUsage = (usage: unknown): LanguageModelV4StreamPart =>
    ({ ...finish("stop"), usage }) as LanguageModelV4StreamPart;
  it("no figures, undefined ones and all zeros are unknown; one figure is a report", () => {
    const none = { inputTokens: { total: undefined }, outputTokens: { total: undefined } };
    const zeros = { inputTokens: { total: 0, cacheRead: 0 }, outputTokens: { total: 0, reasoning: 0 } };
    for (const usage of [none, zeros, {}])
      assert.deepEqual(assembled([...say("x"), withUsage(usage)]).usage, { measure: "unknown" });
    const some = { inputTokens: { total: 7 }, outputTokens: { total: Number.NaN } };
    assert.deepEqual(assembled([...say("x"), withUsage(some)]).usage, { measure: "reported", input: 7 });
  });
});

describe("the terminal frame in raw parts", () => {
  const raw = (rawValue: unknown): LanguageModelV4StreamPart => ({ type: "raw", rawValue });
  it("closes what the protocol closed, when the package never comes to it", () => {
    const parts = call("read", { path: "a" }).slice(0, 2);
    const assembler = new Assembler("a_1", silent);
    for (const part of [...parts, raw({ choices: [{ delta: {}, finish_reason: "tool_calls" }] })]) assembler.push(part);
    assert.ok(assembler.terminal);
    assembler.closeBy(assembler.terminal);
    assembler.seal();
    assert.deepEqual(assembler.parts.map(shown), ['call:read({"path":"a"})']);
    assert.equal(verdict(assembler, { now: 0 }), undefined);
  });

  it("R22: and leaves a half call cut", () => {
    const assembler = new Assembler("a_1", silent);
    for (const part of [...call("read", '{"pa').slice(0, 2), raw({ choices: [{ finish_reason: "length" }] })])
      assembler.push(part);
    assert.ok(assembler.terminal);
    assembler.closeBy(assembler.terminal);
    assembler.seal();
    assert.deepEqual(assembler.parts.map(shown), ['call:read({"pa) cut']);
  });

  it("means nothing behind an error", () => {
    const assembler = assembled([{ type: "error", error: new Error("x") }, raw({ type: "response.completed" })]);
    assert.equal(assembler.terminal, undefined);
  });
});
