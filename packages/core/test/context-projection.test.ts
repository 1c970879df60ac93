import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import fc, { type Arbitrary } from "fast-check";
import { assistantMessage, needsStandIn, type Replay, thoughtStandIn } from "../src/context/assistant.ts";
import { unpaired } from "../src/context/laws.ts";
import {
  goOnMessage,
  inputOf,
  isWellFormed,
  picture,
  picturesMessage,
  summaryMessage,
  toolResult,
  userMessage,
  wireToolName,
} from "../src/context/message.ts";
import { contextFold, promptOf } from "../src/context/projection.ts";
import { isHome, type Target, targetKey, targetOf } from "../src/context/target.ts";
import { WireIds } from "../src/context/wire-id.ts";
import { limit } from "../src/limit.ts";
import type { CallPart, LogEvent, MessagePart, Part, ToolOutput } from "../src/log/event.ts";
import { runFold } from "../src/log/fold.ts";
import { arbitraryEvent } from "./arbitrary.ts";
import {
  attemptEnded,
  attemptStarted,
  callPart,
  committed,
  entered,
  header,
  input,
  logOf,
  settled,
  stepStarted,
  text,
  turnEnded,
  turnOf,
  turnStarted,
} from "./log-builder.ts";
import { promptFor, testTarget } from "./turn-world.ts";

const callId = fc.constantFrom("c1", "c2", "c3", "c4", "c5");
const providerId = fc.constantFrom("", " ", "call_0", "call_0_2", "x".repeat(80), "toolu/1", "c1");
const anyCall: Arbitrary<CallPart> = fc
  .record({
    id: callId,
    providerId,
    tool: fc.constantFrom("act", "", "no/such tool", "x".repeat(99)),
    input: fc.constantFrom("{}", "", '{"a":', "[]", "null", '"\ud800"'),
    providerExecuted: fc.boolean(),
  })
  .map(({ id, providerExecuted, ...rest }) =>
    callPart(id, rest.providerId, { ...rest, ...(providerExecuted ? { providerExecuted } : {}) }),
  );
const part: Arbitrary<MessagePart> = fc.oneof(
  anyCall,
  fc.constantFrom("", " ", "words", "\ud83d").map((words) => text("p", words)),
  fc.record({
    type: fc.constant("tool-result" as const),
    id: callId,
    call: callId,
    tool: fc.constant("act"),
    result: fc.constant(1),
  }),
);
const message = fc.array(part, { maxLength: 5 }).map((parts) => committed("a1", ...parts));

/** Facts about a few calls in any order: results before, without and after their call, twice, in another turn. */
const messy: Arbitrary<LogEvent[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: message },
    { weight: 4, arbitrary: callId.map((id) => settled(id, `result of ${id}`)) },
    { weight: 1, arbitrary: callId.map((id) => entered(id)) },
    fc.constantFrom(input("in1"), input("in2", " "), turnStarted("t1"), turnEnded("t1"), stepStarted("st1", "t1", 1)),
    fc.constantFrom(
      attemptStarted("a1", "st1"),
      attemptEnded("a1", { end: "failed", fragment: [text("a1-1"), callPart("c1")] }),
    ),
    arbitraryEvent,
  ),
  { maxLength: 40 },
);

/** The parts of all messages, with the fields that these tests look at. */
interface AnyPart {
  type: string;
  text?: string;
  toolName?: string;
  toolCallId?: string;
  providerExecuted?: boolean;
}

function contentOf(prompt: LanguageModelV4Prompt): AnyPart[] {
  return prompt.flatMap((message): AnyPart[] => (message.role === "system" ? [] : (message.content as AnyPart[])));
}

describe("context", () => {
  test("L1: whatever the log, each call of the request has one result, directly after it, in call order", () => {
    fc.assert(
      fc.property(messy, (events) => assert.deepEqual(unpaired(promptFor(logOf(events))), [])),
      { numRuns: 500 },
    );
  });

  test("R51: whatever the log, the request is well-formed, and no name or id on it is odd", () => {
    fc.assert(
      fc.property(messy, (events) => {
        const prompt = promptFor(
          logOf(events.filter((event) => event.type !== "message.committed" || event.attempt === "a1")),
        );
        for (const one of contentOf(prompt)) {
          const { toolName, toolCallId } = one;
          if (one.type === "tool-call" && !one.providerExecuted) assert.match(toolName ?? "", /^[A-Za-z0-9_-]{1,64}$/);
          if (toolCallId !== undefined) assert.match(toolCallId, /^[A-Za-z0-9_-]{1,64}$/);
          assert.ok((one.text ?? "").isWellFormed());
        }
      }),
    );
  });

  test("L10: stepping on gives the same as starting from empty, at every prefix", () => {
    fc.assert(
      fc.property(messy, (events) => {
        const entries = logOf(events);
        const fold = contextFold(testTarget);
        let state = fold.init();
        for (const [index, entry] of entries.entries()) {
          state = fold.step(state, entry);
          const whole = runFold(contextFold(testTarget), entries.slice(0, index + 1));
          assert.deepEqual(promptOf(state, "be brief"), promptOf(whole, "be brief"));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("R40: killed after the message and before any result: the request is whole, with the same words every time", () => {
    const open = [
      ...turnOf(1),
      input("in2"),
      turnStarted("t2", "in2"),
      stepStarted("st2", "t2", 1),
      attemptStarted("a2", "st2"),
      attemptEnded("a2"),
      committed("a2", callPart("a2-1"), callPart("a2-2")),
    ];
    const later = [...open, entered("a2-1"), turnEnded("t2"), input("in3", "hi")];
    assert.deepEqual(unpaired(promptFor(logOf(open))), []);
    const prompt = promptFor(logOf(later));
    assert.deepEqual(
      prompt.map(({ role }) => role),
      ["user", "assistant", "user", "assistant", "tool", "user"],
    );
    assert.match(JSON.stringify(prompt[4]), /TOOL_OUTCOME_UNKNOWN.*TOOL_NOT_STARTED/);
    assert.deepEqual(
      promptFor(logOf([...later, settled("a2-1", "late")])),
      prompt,
      "a late result changes nothing that was sent",
    );
  });

  test("R33: wire ids are unique and stable, whatever the provider's are, and cost the same for the thousandth", () => {
    fc.assert(
      fc.property(fc.array(providerId, { maxLength: 60 }), (ids) => {
        const wire = new WireIds();
        const given = ids.map((id, index) => wire.next(id, `${"a".repeat(45)}-${index}`));
        assert.equal(new Set(given).size, given.length);
        const again = new WireIds();
        assert.deepEqual(
          ids.map((id, index) => again.next(id, `${"a".repeat(45)}-${index}`)),
          given,
        );
        for (const id of given) assert.match(id, /^[A-Za-z0-9_-]{1,40}$/);
      }),
    );
    const wire = new WireIds();
    for (let n = 0; n < 20_000; n += 1) wire.next("call_0", "a");
    assert.equal(wire.next("call_0", "a"), "call_0_20001");
  });

  test("R27: a nudge comes behind the results of a call that a broken log has left open", () => {
    const empty = { kind: "empty" as const, message: "nothing", retryable: true };
    const log = logOf([
      input("in1"),
      committed("a1", callPart("a1-1")),
      ...["a2", "a3"].flatMap((id) => [
        attemptStarted(id, "st1"),
        attemptEnded(id, { end: "discarded", failure: empty }),
      ]),
      attemptStarted("a4", "st1"),
    ]);
    const prompt = promptOf(runFold(contextFold(testTarget), log), undefined);
    assert.deepEqual(
      prompt.map(({ role }) => role),
      ["user", "assistant", "tool", "user"],
    );
  });

  test("a declared tool keeps its name on the wire, however it is spelled; a made-up one becomes one that is taken", () => {
    const log = logOf([
      input("in1"),
      committed("a1", callPart("c1", "c1", { tool: "mcp.read" }), callPart("c2", "c2", { tool: "mcp.write" })),
    ]);
    const target = targetOf({ ...header, tools: [{ name: "mcp.read", inputSchema: {} }] });
    const prompt = promptOf(runFold(contextFold(target), log), undefined);
    assert.match(JSON.stringify(prompt), /"mcp\.read".*"mcp_write".*"mcp\.read".*"mcp_write"/);
  });

  test("a provider's own call goes back to that provider with its result, and to nobody else", () => {
    const executed = callPart("a1-1", "srv_1", { providerExecuted: true });
    const result: MessagePart = { type: "tool-result", id: "a1-2", call: "a1-1", tool: "act", result: { found: 1 } };
    const log = logOf([
      input("in1"),
      committed("a1", executed, result, callPart("a1-3", "srv_2", { providerExecuted: true }), text("a1-4")),
    ]);
    assert.deepEqual(
      contentOf(promptFor(log))
        .slice(1)
        .map(({ type }) => type),
      ["tool-call", "tool-result", "text"],
    );
    const other = promptOf(runFold(contextFold({ ...testTarget, provider: "other", model: "other" }), log), undefined);
    assert.deepEqual(
      contentOf(other).map(({ type }) => type),
      ["text", "text"],
    );
  });

  test("what a title or a summary had let out when it failed is no part of the conversation", () => {
    const title: LogEvent = {
      type: "attempt.started",
      attempt: "a2",
      step: "st1",
      number: 2,
      purpose: "title",
      model: header.model,
    };
    const prompt = promptFor(
      logOf([
        input("in1"),
        title,
        attemptEnded("a2", { end: "failed", fragment: [text("a2-1", "A Title")] }),
        turnEnded("t1"),
      ]),
    );
    assert.equal(prompt.length, 1);
  });
});

const image: Part = { type: "file", mediaType: "image/png", url: "https://example.org/a.png" };

describe("what people and tools said", () => {
  const textOf = (message: { content: unknown }) =>
    (message.content as AnyPart[]).map(({ text, type }) => text ?? type);

  test("an input goes out part by part: text, data as JSON, of a file its name", () => {
    const file = (rest: object) => ({ type: "file", mediaType: "a/b", ...rest }) as Part;
    const parts: Part[] = [
      { type: "text", text: "half \ud83d" },
      { type: "text", text: " \n" },
      { type: "data", data: { a: [1] } },
      file({ filename: "n.b", blob: "bb", url: "u" }),
      file({ blob: "bb", url: "u" }),
      file({ url: "u" }),
      file({}),
    ];
    const message = userMessage(parts);
    assert.equal(message.role, "user");
    assert.deepEqual(textOf(message), [
      "half \ufffd",
      '{"a":[1]}',
      "[file n.b (a/b)]",
      "[file bb (a/b)]",
      "[file u (a/b)]",
      "[file without a name (a/b)]",
    ]);
    assert.deepEqual(userMessage([]), { role: "user", content: [{ type: "text", text: "(empty message)" }] });
    assert.deepEqual(goOnMessage(), { role: "user", content: [{ type: "text", text: "Go on." }] });
    assert.deepEqual(textOf(summaryMessage([{ type: "text", text: " " }])), [
      "[The earlier conversation was left out.]",
    ]);
  });

  test("a picture goes along where the target takes pictures, else its name does", () => {
    assert.deepEqual(textOf(userMessage([image])), ["[file https://example.org/a.png (image/png)]"]);
    const { content } = userMessage([image, { type: "text", text: "this?" }], "send");
    assert.deepEqual(content, [
      { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.org/a.png") } },
      { type: "text", text: "this?" },
    ]);
  });

  test("a picture is an image that is somewhere, by its blob before its address, under a name that is whole", () => {
    const at = (rest: object) => picture({ type: "file", mediaType: "image/webp", ...rest } as Part);
    assert.deepEqual(at({ blob: "ab", url: "https://example.org", filename: "a\ud83d" }), {
      type: "file",
      mediaType: "image/webp",
      data: { type: "url", url: new URL("pawl-blob:ab") },
      filename: "a\ufffd",
    });
    const elsewhere = [
      "not an address",
      "data:image/webp,raw",
      "file:///etc/passwd",
      "javascript:1",
      "http://plain/",
      "xhttps://a/",
    ];
    for (const none of [{}, ...elsewhere.map((url) => ({ url }))]) assert.equal(at(none), undefined);
    for (const mediaType of ["image/png", "image/jpeg", "image/gif", "image/webp"])
      assert.equal(picture({ ...image, mediaType } as Part)?.mediaType, mediaType);
    for (const mediaType of [
      "video/image/png",
      "image/svg+xml",
      "image/tiff",
      "image/",
      "image/*",
      "image/png;x",
      "image/png x",
      "ximage/png",
    ])
      assert.equal(picture({ ...image, mediaType } as Part), undefined, mediaType);
    assert.equal(picture({ type: "text", text: "image/png" }), undefined);
  });

  test("pictures among results stand behind them, each under the tool that showed it", () => {
    const shows = (...content: Part[]): ToolOutput => ({ content, isError: false });
    const words: Part = { type: "text", text: "ok" };
    assert.equal(picturesMessage([{ tool: "look", output: shows(words) }]), undefined);
    const message = picturesMessage([
      { tool: "look", output: shows(words, image, image) },
      { tool: "act", output: shows(words) },
      { tool: "see", output: shows(image) },
    ]);
    assert.equal(message?.role, "user");
    assert.deepEqual(textOf(message ?? assert.fail()), ["[shown by look]", "file", "file", "[shown by see]", "file"]);
  });

  test("a result is JSON where it is one piece of data, else text, and never blank", () => {
    const result = (content: Part[], isError = false, chars?: number) =>
      toolResult("act", "c1", { content, isError }, chars).output;
    const data: Part = { type: "data", data: { a: "\ud83d", b: [null, 1, "\ud83d"] } };
    const words: Part = { type: "text", text: "ok" };
    assert.deepEqual(result([data]), { type: "json", value: { a: "\ufffd", b: [null, 1, "\ufffd"] } });
    assert.equal(result([data], true).type, "error-text");
    assert.deepEqual(result([{ type: "data", data: 1 }, words]), { type: "text", value: "1\nok" });
    assert.deepEqual(result([words, words]), { type: "text", value: "ok\nok" });
    for (const blank of [[], [{ type: "text", text: " \n" } as Part]])
      assert.deepEqual(result(blank), { type: "text", value: "(no output)" });
    assert.deepEqual(result([], true), { type: "error-text", value: "(no output)" });
    const long = (length: number, chars: number) => result([{ type: "text", text: "x".repeat(length) }], false, chars);
    assert.deepEqual(long(100, 100), { type: "text", value: "x".repeat(100) });
    const note = (left: number) => `\n[… ${left} characters of an old result were left out]`;
    assert.deepEqual(long(101, 10), { type: "text", value: `${"x".repeat(10)}${note(91)}` });
    assert.deepEqual(long(note(61).length + 10, 10).type, "text");
    const even = note(51).length;
    assert.deepEqual(long(even, 0), { type: "text", value: "x".repeat(even) }, "no shorter than it was");
    assert.deepEqual(long(even + 1, 0), { type: "text", value: note(even + 1) });
  });

  test("R51: an input is the object that it says, else an object that carries its words", () => {
    for (const [words, input, same] of [
      ['{"a":1}', { a: 1 }, true],
      ["", {}, true],
      [" \n", {}, true],
      ["null", {}, false],
      ["[1]", { unparsed: "[1]" }, false],
      ["1", { unparsed: "1" }, false],
      ['"a"', { unparsed: '"a"' }, false],
      ['{"a":', { unparsed: '{"a":' }, false],
      ["\ud83d", { unparsed: "\ufffd" }, false],
      ['{"\\ud83d":"\\ud83d"}', { "\ufffd": "\ufffd" }, false],
      ['{"a":"\\\\ud83d"}', { a: "\\ud83d" }, true],
    ] as const) {
      assert.deepEqual(inputOf(words), { input, same }, words);
    }
    const deep = `${'{"a":'.repeat(limit.jsonDepth + 2)}1${"}".repeat(limit.jsonDepth + 2)}`;
    assert.deepEqual(inputOf(deep), { input: { unparsed: deep }, same: false }, "deeper than anybody can hand over");
    assert.ok(isWellFormed(undefined));
    for (const whole of ["\\ud83d", ["\\ud83d", 1, null], { a: "\\ud83d", b: true }])
      assert.ok(isWellFormed(whole), JSON.stringify(whole));
    for (const half of ["\ud83d", ["\\ud83d", "\udc00"], { "\ud83d": 1 }]) assert.ok(!isWellFormed(half));
  });

  test("R51: a made-up name becomes one that every endpoint takes", () => {
    const none: ReadonlySet<string> = new Set();
    for (const [name, wire] of [
      ["", "unnamed"],
      ["a/b c", "a_b_c"],
      ["read", "read"],
      ["x".repeat(64), "x".repeat(64)],
      [`${"x".repeat(64)}y`, "x".repeat(64)],
      ["\u00e4\ud83d", "__"],
    ] as const)
      assert.equal(wireToolName(name, none), wire);
    assert.equal(wireToolName("a/b c", new Set(["a/b c"])), "a/b c");
  });

  test("R33: what a provider ran keeps its own id up to 64 characters, if it is one", () => {
    for (const [given, executed, wire] of [
      ["x".repeat(64), true, "x".repeat(64)],
      ["x".repeat(65), true, "own"],
      ["x".repeat(41), false, "own"],
      ["x/y", true, "own"],
      ["/xy", true, "own"],
      ["xy/", true, "own"],
    ] as const)
      assert.equal(new WireIds().next(given, "own", executed), wire, given);
  });
});

describe("whom a request is for", () => {
  const target = (rest: Partial<Target> = {}): Target => ({ provider: "p", model: "m", tools: new Set(), ...rest });

  test("a header names the target, with what it says and nothing else", () => {
    assert.deepEqual(targetOf({ model: { provider: "p", id: "m" }, tools: [] }), target());
    const tools = [{ name: "read", inputSchema: {} }];
    assert.deepEqual(
      targetOf({ model: { provider: "p", id: "m" }, tools, reasoning: "turn", images: "send" }),
      target({ tools: new Set(["read"]), reasoning: "turn", images: "send" }),
    );
  });

  test("R45: home is the provider and the family, whatever the date behind its name", () => {
    const home = (id: string, model = "m-5") => isHome({ provider: "p", id }, target({ model }));
    for (const dated of ["m-5-20260101", "m-5-2026-01-01", "m-5-latest"]) {
      assert.ok(home(dated) && home("m-5", dated), dated);
      assert.ok(!home(`${dated}-x`), dated);
    }
    assert.ok(!home("m-5-latest-x", "m-5-x"));
    for (const other of ["m-5-mini", "m-5-2026-01", "m-5-2026010", "xm-5"]) assert.ok(!home(other), other);
    assert.ok(!isHome({ provider: "q", id: "m" }, target()));
  });

  test("targets have the same key where they are told the same", () => {
    const key = (rest: Partial<Target> = {}) => targetKey(target(rest));
    const tools = (...names: string[]) => ({ tools: new Set(names) });
    assert.equal(key(tools("read", "write")), key());
    assert.equal(key(tools("a/b", "c d")), key(tools("c d", "a/b", "read")));
    const keys = [
      key(),
      key(tools("a/b")),
      key(tools("c d")),
      key({ provider: "q" }),
      key({ model: "n" }),
      key({ reasoning: "turn" }),
      key({ reasoning: "drop" }),
      key({ images: "send" }),
    ];
    assert.equal(new Set(keys).size, keys.length);
  });
});

describe("a message that is sent back", () => {
  const home: Replay = { home: true, state: true, reasoning: "proven", standIn: false, thoughtsSignedAlone: false };
  const away: Replay = { ...home, home: false, state: false, reasoning: "none" };
  const meta = { openai: { itemId: "i1" } };
  const sent = (parts: MessagePart[], replay: Replay, wireId?: string) => {
    const calls = parts.filter((one) => one.type === "tool-call");
    const wires = calls.map(({ providerId, tool }) => ({ wireId: wireId ?? providerId, wireName: tool }));
    return assistantMessage(parts, wires, replay)?.content as { [key: string]: unknown }[] | undefined;
  };
  const types = (parts: MessagePart[], replay = home, wireId?: string) =>
    sent(parts, replay, wireId)?.map(({ type }) => type);
  const item = (id: string): MessagePart => ({ type: "reasoning", id, text: "why", meta });
  const search = callPart("s", "s", { providerExecuted: true });
  const found: MessagePart = { type: "tool-result", id: "f", call: "s", tool: "act", result: [] };

  test("a file goes home as it came, and elsewhere as its type", () => {
    const file: MessagePart = { type: "file", id: "f", mediaType: "image/png", data: "aa", meta };
    const data = { type: "data", data: "aa" };
    assert.deepEqual(sent([file], home), [{ type: "file", mediaType: "image/png", data, providerOptions: meta }]);
    assert.deepEqual(sent([file], { ...home, state: false }), [{ type: "file", mediaType: "image/png", data }]);
    const named = [{ type: "text", text: "[file (image/png)]" }];
    assert.deepEqual(sent([file], away), named);
    const { data: _, ...bare } = file;
    assert.deepEqual(sent([bare], home), named);
    assert.deepEqual(types([item("r"), bare, text("t")]), ["text", "text"], "what is changed takes the state along");
  });

  test("what only its provider knows goes back with its state, or not at all; a citation never does", () => {
    const custom: MessagePart = { type: "custom", id: "c", kind: "openai.x", meta };
    assert.deepEqual(sent([custom, text("t")], home)?.[0], { type: "custom", kind: "openai.x", providerOptions: meta });
    assert.deepEqual(types([custom, text("t")], { ...home, state: false }), ["text"]);
    assert.deepEqual(types([{ type: "custom", id: "c", kind: "x" }, text("t")]), ["text"]);
    assert.deepEqual(types([{ type: "source", id: "c", source: {} }, text("t")]), ["text"]);
    assert.equal(sent([{ type: "source", id: "c", source: {} }], home), undefined);
    assert.equal(sent([custom], home), undefined, "without substance");
    assert.equal(sent([item("r")], home), undefined);
  });

  test("R45: an item of reasoning goes back before text or a call of ours, not before one that the provider ran", () => {
    assert.deepEqual(types([item("r"), text("t")]), ["reasoning", "text"]);
    assert.deepEqual(types([item("r"), callPart("c")]), ["reasoning", "tool-call"]);
    assert.deepEqual(types([item("r"), search, found]), undefined);
    const signed: MessagePart = { type: "reasoning", id: "r", text: "why", meta: { anthropic: { signature: "s" } } };
    assert.deepEqual(types([signed, search, found]), ["reasoning", "tool-call", "tool-result"]);
    const both = { openai: { itemId: "i1" }, gateway: {} };
    assert.equal(types([{ ...item("r"), meta: both } as MessagePart, search, found]), undefined);
    const file: MessagePart = { type: "file", id: "f", mediaType: "image/png", data: "aa" };
    assert.deepEqual(types([item("r"), file]), ["file"]);
  });

  test("what the provider ran goes back whole, under its own id, or not at all", () => {
    const whole = ["tool-call", "tool-result"];
    assert.deepEqual(types([search, found]), whole);
    assert.deepEqual(types([search, text("t")]), ["text"]);
    assert.deepEqual(types([search, found, text("t")], home, "another"), ["text"]);
    assert.deepEqual(types([{ ...search, input: "null" }, found, text("t")]), ["text"]);
    assert.deepEqual(types([search, { ...found, result: "\ud83d" } as MessagePart, text("t")]), ["text"]);
    const [ours, , ...more] = sent([callPart("c"), found, search, text("t")], home) ?? [];
    assert.deepEqual([ours?.["toolCallId"], more.length], ["c", 0], "a result before its call is none");
    const edited = [search, found, { ...text("t", "\ud83d"), meta } as MessagePart];
    assert.deepEqual(types(edited), [...whole, "text"], "it rests on no reasoning");
    assert.deepEqual(types([{ type: "reasoning", id: "r", text: "why" }, ...edited]), [...whole, "text"]);
    assert.deepEqual(types([item("r"), ...edited]), ["text"]);
    assert.deepEqual(types([search, found], away), undefined);
    const [call, result] = sent([{ ...search, meta }, { ...found, isError: true, meta } as MessagePart], home) ?? [];
    assert.deepEqual([call?.["providerExecuted"], call?.["providerOptions"]], [true, meta]);
    assert.deepEqual(result?.["output"], { type: "error-json", value: [] });
    assert.deepEqual(result?.["providerOptions"], meta);
    assert.equal(sent([search, found], home)?.[1]?.["providerOptions"], undefined);
  });

  test("a call without a name on the wire is left out", () => {
    assert.deepEqual(assistantMessage([callPart("c"), text("t")], [], home)?.content, [
      { type: "text", text: "words" },
    ]);
  });

  test("reasoning without proof goes back where all of it does, and half a character in it takes the state along", () => {
    const plain = (words: string): MessagePart => ({ type: "reasoning", id: "r", text: words });
    const all = { ...home, reasoning: "all" } as const;
    assert.deepEqual(types([plain("why"), text("t")]), ["text"]);
    assert.deepEqual(types([plain("why"), text("t")], all), ["reasoning", "text"]);
    assert.deepEqual(types([plain(" "), text("t")], all), ["text"]);
    assert.equal(sent([plain("why"), { ...text("t"), meta } as MessagePart], all)?.[1]?.["providerOptions"], meta);
    const half = sent([plain("\ud83d"), { ...text("t"), meta } as MessagePart], all);
    assert.deepEqual(half, [
      { type: "reasoning", text: "\ufffd" },
      { type: "text", text: "words" },
    ]);
  });

  test("R46: the stand-in signs the first call of ours where none is signed, beside what it carries", () => {
    const standIn = { ...home, standIn: true };
    const signature = (parts: MessagePart[]) =>
      sent(parts, standIn)?.map(
        ({ providerOptions }) => (providerOptions as typeof meta & { google?: object })?.google,
      );
    const own = { google: { thoughtSignature: thoughtStandIn } };
    assert.equal(thoughtStandIn, "skip_thought_signature_validator");
    assert.deepEqual(signature([text("t"), callPart("c"), callPart("d")]), [undefined, own.google, undefined]);
    assert.deepEqual(signature([search, found, callPart("c")]), [undefined, undefined, own.google]);
    assert.deepEqual(signature([text("t")]), [undefined]);
    const noted = callPart("c", "c", { meta: { google: { note: 1 }, vertex: {} } });
    assert.deepEqual(sent([noted], standIn)?.[0]?.["providerOptions"], {
      google: { note: 1, thoughtSignature: thoughtStandIn },
      vertex: {},
    });
    const signed = callPart("d", "d", { meta: { vertex: { thoughtSignature: "s" }, google: {} } });
    assert.deepEqual(signature([callPart("c"), signed]), [undefined, {}]);
    for (const [provider, model, needs] of [
      ["google.vertex", "gemini-3-pro", true],
      ["google", "models/gemini-10.5-pro", true],
      ["google", "gemini-2.5-pro", false],
      ["google", "gemini-3", false],
      ["google", "gemini-1x-pro", false],
      ["google", "gemini-x1-pro", false],
      ["google", "notgemini-3-pro", false],
      ["openai", "gemini-3-pro", false],
    ] as const)
      assert.equal(needsStandIn({ provider, model, tools: new Set() }), needs, model);
  });
});
