/** What of earlier messages goes back to a model: reasoning, signatures, item ids, and nothing that is refused. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { Issued, type Protocol } from "@pawl/model-server";
import { thoughtStandIn } from "../src/context/assistant.ts";
import type { LogEvent, MessagePart, ProviderMeta } from "../src/log/event.ts";
import type { ModelRef } from "../src/log/value.ts";
import { bodyOf, modelRefOf, promptsOf, reasoning, refusals, targetFor } from "./context-request.ts";
import {
  attemptEnded,
  attemptStarted,
  callPart,
  committed,
  input,
  logOf,
  settled,
  text,
  turnEnded,
} from "./log-builder.ts";

const claude = modelRefOf("anthropic");
const gpt = modelRefOf("responses");
const chat = modelRefOf("chat");
const gemini: ModelRef = { provider: "google.generative-ai", id: "gemini-3-pro-preview" };
const protocols: Protocol[] = ["anthropic", "responses", "chat"];

function by(model: ModelRef, attempt: string, ...parts: MessagePart[]): LogEvent {
  return { ...committed(attempt, ...parts), model } as LogEvent;
}

function signed(id: string, words: string, signature: string): MessagePart {
  return reasoning(id, words, { anthropic: { signature } });
}

function failed(call: string): LogEvent {
  return { type: "tool.settled", call, output: { content: [], isError: true }, by: "tool" };
}

function stripped(provider: string): LogEvent {
  return { type: "provider-state.stripped", provider, reason: "refused" };
}

type AnyPart = { type: string; text?: string; providerOptions?: ProviderMeta };

/** The parts of assistant messages. */
function said(prompt: LanguageModelV4Prompt): AnyPart[] {
  return prompt.flatMap(({ role, content }) => (role === "assistant" ? (content as AnyPart[]) : []));
}

function typesSaid(prompt: LanguageModelV4Prompt): string[] {
  return said(prompt).map(({ type }) => type);
}

describe("replay", () => {
  test("R43: interleaved thinking with three calls goes back byte for byte, in place", async () => {
    const issued = new Issued();
    const words = ["  First look. \n\n", "\tThen all three:\u2028 "];
    const meta = words.map((each) => ({ anthropic: { signature: issued.sign(each) } }));
    const parts = [
      reasoning("a1-1", words[0] ?? "", meta[0]),
      callPart("a1-2", "toolu_1"),
      reasoning("a1-3", words[1] ?? "", meta[1]),
      ...["toolu_2", "toolu_3", "toolu_4"].map((id, at) => callPart(`a1-${4 + at}`, id)),
    ];
    const results = [3, 5, 2, 4].map((n) => settled(n === 2 ? "a1-2" : `a1-${n === 3 ? 6 : n}`));
    const log = logOf([input("in1"), by(claude, "a1", ...parts), ...results, input("in2")]);
    const prompt = promptsOf(log, targetFor(claude));
    assert.deepEqual(
      said(prompt).flatMap(({ type, text, providerOptions }) =>
        type === "reasoning" ? [[text, providerOptions]] : [],
      ),
      words.map((each, at) => [each, meta[at]]),
    );
    assert.deepEqual(typesSaid(prompt), ["reasoning", "tool-call", "reasoning", "tool-call", "tool-call", "tool-call"]);
    const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } };
    assert.deepEqual(await refusals("anthropic", prompt, { issued, providerOptions }), []);
    const body = JSON.stringify(await bodyOf("anthropic", prompt));
    for (const each of words) assert.ok(body.includes(JSON.stringify({ thinking: each }).slice(1, -1)));
  });

  test("R43: thinking that is known to be bad goes, with the state of its message and no other", () => {
    const log = logOf([
      input("in1"),
      by(claude, "a1", signed("a1-1", "good", "sig-1"), text("a1-2")),
      by(claude, "a2", signed("a2-1", "half \ud83d", "sig-2"), signed("a2-2", "whole", "sig-3"), text("a2-3")),
    ]);
    const prompt = promptsOf(log, targetFor(claude));
    assert.deepEqual(typesSaid(prompt), ["reasoning", "text", "text"]);
    assert.doesNotMatch(JSON.stringify(prompt), /sig-[23]/);
  });

  test("R43: once the provider has refused state, none is sent to it any more, and reasoning without state still is", () => {
    const before = by(claude, "a1", signed("a1-1", "why", "sig-1"), text("a1-2"));
    const after = by(claude, "a2", signed("a2-1", "why", "sig-2"), reasoning("a2-2", "plain"), text("a2-3"));
    const log = [input("in1"), before, stripped(claude.provider), after];
    assert.deepEqual(typesSaid(promptsOf(logOf(log), targetFor(claude))), ["text", "text"]);
    assert.deepEqual(typesSaid(promptsOf(logOf(log), targetFor(claude, "send"))), ["text", "reasoning", "text"]);
    const other = logOf([input("in1"), before, stripped("openai.responses"), after]);
    assert.match(JSON.stringify(promptsOf(other, targetFor(claude))), /sig-1.*sig-2/);
    const cut: LogEvent = { type: "context.compacted", upTo: 3, summary: [] };
    assert.doesNotMatch(JSON.stringify(promptsOf(logOf([...log, cut]), targetFor(claude))), /sig/, "also after a cut");
  });

  test("R45: state goes back to the family that gave it, however it is dated, and to nobody else", () => {
    const there = (model: ModelRef) => {
      const log = logOf([input("in1"), by(model, "a1", signed("a1-1", "why", "sig-1"), text("a1-2"))]);
      return JSON.stringify(promptsOf(log, targetFor(claude))).includes("sig-1");
    };
    const { provider, id } = claude;
    assert.ok(there(claude));
    for (const dated of ["-20251101", "-2025-11-01", "-latest"]) assert.ok(there({ provider, id: id + dated }), dated);
    for (const other of ["-mini", "-2025", "-20251101-x"]) assert.ok(!there({ provider, id: id + other }), other);
    assert.ok(!there({ provider: "bedrock", id }));
    assert.ok(!there(gpt));
  });

  test("R45: switched from A to B and back, each is sent its own signatures alone", async () => {
    const issued = new Issued();
    const sealed = issued.seal("rs_1", "b");
    const b = reasoning("b1-1", "b", { openai: { itemId: "rs_1", reasoningEncryptedContent: sealed } });
    const log = logOf([
      input("in1"),
      by(claude, "a1", signed("a1-1", "a", issued.sign("a")), callPart("a1-2", "toolu_1")),
      settled("a1-2"),
      by(gpt, "b1", b, callPart("b1-2", "call_1")),
      settled("b1-2"),
      by(claude, "a2", signed("a2-1", "aa", issued.sign("aa")), callPart("a2-2", "toolu_2")),
    ]);
    const toClaude = promptsOf(log, targetFor(claude));
    const toGpt = promptsOf(log, targetFor(gpt));
    assert.deepEqual(
      said(toClaude)
        .map(({ text }) => text)
        .filter(Boolean),
      ["a", "aa"],
    );
    assert.deepEqual(
      said(toGpt)
        .map(({ text }) => text)
        .filter(Boolean),
      ["b"],
    );
    assert.deepEqual(await refusals("anthropic", toClaude, { issued }), []);
    assert.deepEqual(await refusals("responses", toGpt, { issued, providerOptions: { openai: { store: false } } }), []);
  });

  const unsigned = { openai: { itemId: "x" } };
  const edits: { name: string; parts: MessagePart[]; edit: boolean }[] = [
    { name: "an input that does not parse", parts: [callPart("c", "c", { input: '{"a":' })], edit: false },
    { name: "an input with half a character", parts: [callPart("c", "c", { input: '{"a":"\\ud83d"}' })], edit: false },
    { name: "a name no endpoint takes", parts: [callPart("c", "c", { tool: "no/such" })], edit: false },
    { name: "text with half a character", parts: [text("t", "half \ud83d")], edit: true },
    {
      name: "a provider's call without its result",
      parts: [callPart("c", "c", { providerExecuted: true })],
      edit: true,
    },
    { name: "a blank text that is an item", parts: [{ type: "text", id: "t", text: " ", meta: unsigned }], edit: true },
    { name: "reasoning that leads nowhere", parts: [text("t"), signed("r", "why", "sig-2")], edit: true },
    { name: "a blank text that is none", parts: [text("t", "\n\n"), callPart("c")], edit: false },
    { name: "an input that is empty", parts: [callPart("c", "c", { input: "" })], edit: false },
    { name: "a citation", parts: [text("t"), { type: "source", id: "s", source: {} }], edit: false },
    { name: "an id that had to be changed", parts: [callPart("c", "not/allowed")], edit: false },
  ];
  for (const { name, parts, edit } of edits) {
    test(`R45: ${name} ${edit ? "takes the state of its message along" : "is no edit"}`, () => {
      const log = logOf([
        input("in1"),
        by(claude, "a1", signed("a1-1", "why", "sig-1"), ...parts, text("a1-9", "done")),
      ]);
      const trailing = parts.at(-1)?.type === "reasoning";
      const whole = trailing ? log.map((entry) => ({ ...entry, event: withoutLast(entry.event) })) : log;
      const prompt = promptsOf(whole, targetFor(claude));
      assert.equal(/sig-/.test(JSON.stringify(prompt)), !edit);
      assert.equal(typesSaid(prompt).includes("reasoning"), !edit);
    });
  }

  for (const { name, parts } of edits.slice(0, 3)) {
    test(`R45: ${name} takes the state along where a signature covers more than its thought`, () => {
      const thought = reasoning("a1-1", "why", { google: { thoughtSignature: "sig-1" } });
      const log = logOf([input("in1"), by(gemini, "a1", thought, ...parts, text("a1-9", "done"))]);
      assert.doesNotMatch(JSON.stringify(promptsOf(log, targetFor(gemini))), /sig-/);
    });
  }

  test("R22 R39: a thought before a call that was cut goes back with it: in a tool loop it is asked for", async () => {
    const issued = new Issued();
    const thought = reasoning("a1-1", "why", { anthropic: { signature: issued.sign("why") } });
    const cut = callPart("c", "c", { input: '{"a":', cut: true });
    const log = logOf([input("in1"), by(claude, "a1", thought, cut), failed("c")]);
    const thinking = { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } };
    assert.deepEqual(
      await refusals("anthropic", promptsOf(log, targetFor(claude)), { issued, providerOptions: thinking }),
      [],
    );
  });

  test("R45: what the provider ran goes with the reasoning that led to it, and never without its result behind it", () => {
    const search = callPart("s", "s", { providerExecuted: true });
    const found: MessagePart = { type: "tool-result", id: "f", call: "s", tool: "act", result: [] };
    const bad = text("t", "half \ud83d");
    const types = (...parts: MessagePart[]) =>
      typesSaid(promptsOf(logOf([input("in1"), by(claude, "a1", ...parts)]), targetFor(claude)));
    const why = signed("r", "why", "sig-1");
    assert.deepEqual(types(why, search, found, text("a1-9")), ["reasoning", "tool-call", "tool-result", "text"]);
    assert.deepEqual(types(why, search, found, bad), ["text"]);
    assert.deepEqual(types(search, found, bad), ["tool-call", "tool-result", "text"]);
    assert.deepEqual(types(why, found, search, text("a1-9")), ["text"]);
    assert.deepEqual(types(search, found, search, text("a1-9")), ["tool-call", "tool-result", "text"]);
  });

  test("R45: of an attempt that stands twice in a broken log, state goes back once", () => {
    const one = by(claude, "a1", signed("a1-1", "why", "sig-1"), text("a1-2"));
    const prompt = promptsOf(logOf([input("in1"), one, input("in2"), one]), targetFor(claude));
    assert.deepEqual(typesSaid(prompt), ["reasoning", "text", "text"]);
  });

  test("R45: what was let out by an attempt that broke goes back as text, its signatures never", () => {
    const fragment = [signed("a1-1", "why", "sig-1"), text("a1-2", "half a sen"), callPart("a1-3")];
    const log = [
      input("in1"),
      attemptStarted("a1", "st1"),
      attemptEnded("a1", { end: "failed", fragment }),
      turnEnded("t1"),
    ];
    const prompt = promptsOf(logOf(log), targetFor(claude, "send"));
    assert.deepEqual(said(prompt), [{ type: "text", text: "half a sen [interrupted]" }]);
  });

  test("R46: thought signatures keep their part, parallel calls their message", () => {
    const meta: ProviderMeta = { google: { thoughtSignature: "sig-1" } };
    const parts: MessagePart[] = [
      { type: "text", id: "a1-1", text: "Both.", meta: { google: { thoughtSignature: "sig-0" } } },
      callPart("a1-2", "", { meta }),
      callPart("a1-3", ""),
    ];
    const log = logOf([input("in1"), by(gemini, "a1", ...parts), settled("a1-3"), settled("a1-2")]);
    const prompt = promptsOf(log, targetFor(gemini));
    assert.deepEqual(
      said(prompt).map(({ type, providerOptions }) => [type, providerOptions?.["google"]?.["thoughtSignature"]]),
      [
        ["text", "sig-0"],
        ["tool-call", "sig-1"],
        ["tool-call", undefined],
      ],
    );
    assert.deepEqual(
      prompt.map(({ role }) => role),
      ["system", "user", "assistant", "tool"],
    );
  });

  test("R46: another model's calls get the documented stand-in, once a message, for Gemini 3 alone", () => {
    const log = logOf([
      input("in1"),
      by(claude, "a1", signed("a1-1", "why", "sig-1"), callPart("a1-2"), callPart("a1-3")),
      settled("a1-2"),
      settled("a1-3"),
      by(gemini, "a2", callPart("a2-1", "g1", { meta: { google: { thoughtSignature: "sig-2" } } })),
    ]);
    const signatures = (model: ModelRef) =>
      said(promptsOf(log, targetFor(model))).map(
        ({ providerOptions }) => providerOptions?.["google"]?.["thoughtSignature"],
      );
    assert.deepEqual(signatures(gemini), [thoughtStandIn, undefined, "sig-2"]);
    assert.deepEqual(signatures({ ...gemini, id: "gemini-2.5-pro" }), [undefined, undefined, undefined]);
    assert.deepEqual(signatures({ provider: "openrouter", id: "google/gemini-3-pro" }), [
      undefined,
      undefined,
      undefined,
    ]);
  });

  const blanks: { name: string; events: LogEvent[] }[] = [
    { name: "an empty input", events: [input("in1", ""), by(chat, "a1", text("a1-1")), input("in2", " \n")] },
    { name: "an empty answer", events: [input("in1"), by(chat, "a1", text("a1-1", " ")), input("in2")] },
    { name: "reasoning alone", events: [input("in1"), by(chat, "a1", reasoning("a1-1", "why")), input("in2")] },
    { name: "an empty result", events: [input("in1"), by(chat, "a1", callPart("a1-1")), settled("a1-1", "\t")] },
    { name: "an empty error", events: [input("in1"), by(chat, "a1", callPart("a1-1")), failed("a1-1")] },
    { name: "an id of sixty characters", events: [input("in1"), by(chat, "a1", callPart("a1-1", "x".repeat(60)))] },
    { name: "an empty summary", events: [input("in1"), { type: "context.compacted", upTo: 1, summary: [] }] },
    { name: "a beginning that is lost", events: [by(chat, "a1", text("a1-1"))] },
    {
      name: "a blank summary",
      events: [input("in1"), { type: "context.compacted", upTo: 1, summary: [{ type: "text", text: " " }] }],
    },
  ];
  for (const { name, events } of blanks) {
    test(`R49: ${name} is refused on no wire`, async () => {
      for (const protocol of protocols) {
        const prompt = promptsOf(logOf(events), targetFor(modelRefOf(protocol), "send"));
        assert.deepEqual(await refusals(protocol, prompt), [], protocol);
        assert.doesNotMatch(JSON.stringify(prompt), /"(text|value)":"(\\\\.|\s)*"/);
      }
    });
  }

  const thinking = [
    input("in1"),
    { type: "turn.started", turn: "t1", inputs: ["in1"] } as LogEvent,
    by(chat, "a1", reasoning("a1-1", "first"), callPart("a1-2")),
    settled("a1-2"),
    turnEnded("t1"),
    input("in2"),
    { type: "turn.started", turn: "t2", inputs: ["in2"] } as LogEvent,
    by(chat, "a2", reasoning("a2-1", "second"), callPart("a2-2")),
    settled("a2-2"),
  ];

  test("R78: reasoning without a proof goes back where the agent says so, to the model that gave it", async () => {
    const sent = promptsOf(logOf(thinking), targetFor(chat, "send"));
    assert.deepEqual(await refusals("chat", sent, { mood: "required" }), []);
    const messages = (await bodyOf("chat", sent))["messages"] as { reasoning_content?: string }[];
    assert.deepEqual(
      messages.flatMap((message) => message.reasoning_content ?? []),
      ["first", "second"],
    );
    for (const target of [targetFor(chat), targetFor(chat, "drop"), targetFor({ ...chat, id: "other" }, "send")])
      assert.deepEqual(await refusals("chat", promptsOf(logOf(thinking), target), { mood: "forbidden" }), []);
  });

  test("R78: with `turn`, reasoning goes back inside its turn and vanishes when the next one begins", () => {
    const target = targetFor(chat, "turn");
    const reasons = (entries: number) =>
      said(promptsOf(logOf(thinking.slice(0, entries)), target)).flatMap(({ type, text }) =>
        type === "reasoning" ? [text] : [],
      );
    assert.deepEqual(
      thinking.map((_, at) => reasons(at + 1)),
      [[], [], ["first"], ["first"], ["first"], ["first"], [], ["second"], ["second"]],
    );
  });

  test("R78: reasoning that is dropped takes the item ids of its message along", async () => {
    const item = (itemId: string): ProviderMeta => ({ openai: { itemId } });
    const reason = reasoning("a1-1", "why", { openai: { itemId: "rs_1", reasoningEncryptedContent: "x" } });
    const answer: MessagePart = { type: "text", id: "a1-2", text: "so", meta: item("msg_1") };
    const events = [input("in1"), by(gpt, "a1", reason, answer, callPart("a1-3", "call_1", { meta: item("fc_1") }))];
    const next = [settled("a1-3"), turnEnded("t1"), input("in2"), { ...thinking[1], turn: "t2" } as LogEvent];
    for (const policy of ["drop", "turn"] as const) {
      const prompt = promptsOf(logOf([...events, ...next]), targetFor(gpt, policy));
      for (const store of [true, false]) {
        const providerOptions = { openai: { store } };
        assert.deepEqual(await refusals("responses", prompt, { providerOptions }), []);
        assert.doesNotMatch(JSON.stringify(await bodyOf("responses", prompt, { providerOptions })), /rs_1|msg_1|fc_1/);
      }
    }
    const kept = promptsOf(logOf(events), targetFor(gpt, "turn"));
    assert.match(JSON.stringify(kept), /rs_1.*msg_1.*fc_1/);
  });
});

/** A message without its last part. */
function withoutLast(event: LogEvent): LogEvent {
  return event.type === "message.committed" ? { ...event, parts: event.parts.slice(0, -1) } : event;
}
