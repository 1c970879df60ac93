import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Issued, type JudgeOptions, judge, type Rule } from "../src/index.ts";
import { signatureOf } from "../src/issued.ts";

type Message = { role: string; content: unknown };

const user = (content: unknown): Message => ({ role: "user", content });
const assistant = (content: unknown): Message => ({ role: "assistant", content });
const text = (value: string) => ({ type: "text", text: value });
const use = (id: string, name = "bash", input: unknown = {}) => ({ type: "tool_use", id, name, input });
const result = (id: string, content: unknown = "ok") => ({ type: "tool_result", tool_use_id: id, content });
const thinking = (value: string, signature = signatureOf(value)) => ({ type: "thinking", thinking: value, signature });

function body(messages: unknown, more: Record<string, unknown> = {}) {
  return { model: "claude", max_tokens: 100, messages, ...more };
}

function rules(value: unknown, options: JudgeOptions = { issued: new Issued() }): Rule[] {
  return judge("anthropic", value, options).violations.map(({ rule }) => rule);
}

function messageOf(value: unknown, options: JudgeOptions = { issued: new Issued() }): string | undefined {
  return judge("anthropic", value, options).violations[0]?.message;
}

const LOOP = [user("go"), assistant([text("ok"), use("a"), use("b")]), user([result("a"), result("b")])];

describe("anthropic judge accepts", () => {
  const good: [string, unknown][] = [
    ["a plain question", body([user("hi")])],
    ["results in any order", body([...LOOP.slice(0, 2), user([result("b"), result("a")])])],
    ["results, then text", body([...LOOP.slice(0, 2), user([result("a"), result("b"), text("go on")])])],
    ["consecutive messages of one role", body([user("a"), user("b"), assistant("c"), assistant("d"), user("e")])],
    ["an empty final assistant message", body([user("a"), assistant([])])],
    ["a prefill", body([user("a"), assistant("The answer is")])],
    ["an empty result that is no error", body([user("a"), assistant([use("x")]), user([result("x", "")])])],
    [
      "a result without content",
      body([user("a"), assistant([use("x")]), user([{ type: "tool_result", tool_use_id: "x" }])]),
    ],
    ["a whole emoji and an escaped one in text", body([user("🙂 \\ud83d")])],
    [
      "four cache markers",
      body([1, 2, 3, 4].map((n) => user([{ ...text(`${n}`), cache_control: { type: "ephemeral" } }]))),
    ],
    ["signed thinking", body([user("a"), assistant([thinking("hm"), text("b")]), user("c")])],
    ["a system prompt", body([user("a")], { system: [text("be brief")] })],
  ];
  for (const [name, value] of good) it(name, () => assert.deepEqual(rules(value), []));
});

describe("anthropic judge refuses", () => {
  const bad: [string, unknown, Rule, RegExp][] = [
    ["no model", { max_tokens: 1, messages: [user("a")] }, "missing-field", /^model: Field required$/],
    ["no max_tokens", { model: "m", messages: [user("a")] }, "missing-field", /^max_tokens: Field required$/],
    ["max_tokens of 0", body([user("a")], { max_tokens: 0 }), "wrong-type", /greater than or equal to 1/],
    ["no messages", { model: "m", max_tokens: 1 }, "missing-field", /^messages: Field required$/],
    ["an empty list", body([]), "missing-field", /at least one message is required/],
    ["messages that are no list", body("hi"), "wrong-type", /valid list/],
    ["a body that is no object", [], "wrong-type", /not valid JSON/],
    [
      "a system role",
      body([{ role: "system", content: "x" }, user("a")]),
      "unknown-role",
      /top-level `system` parameter/,
    ],
    ["a tool role", body([user("a"), { role: "tool", content: "x" }]), "unknown-role", /Allowed roles/],
    ["assistant first", body([assistant("a"), user("b")]), "first-not-user", /first message must use the "user" role/],
    [
      "an empty message",
      body([user(""), assistant("b")]),
      "empty-message",
      /messages\.0: all messages must have non-empty content/,
    ],
    ["an empty message in the middle", body([user("a"), assistant([]), user("b")]), "empty-message", /^messages\.1:/],
    ["an empty text block", body([user([text("")])]), "blank-text", /text content blocks must be non-empty/],
    ["a blank text block", body([user([text(" \n")])]), "blank-text", /must contain non-whitespace text/],
    [
      "a blank block in a result",
      body([user("a"), assistant([use("x")]), user([result("x", [text("")])])]),
      "blank-text",
      /non-empty/,
    ],
    ["a blank system block", body([user("a")], { system: [text("")] }), "blank-text", /^system: /],
    [
      "an empty error result",
      body([user("a"), assistant([use("x")]), user([{ ...result("x", ""), is_error: true }])]),
      "blank-text",
      /is_error/,
    ],
    [
      "trailing whitespace of a prefill",
      body([user("a"), assistant("b \n")]),
      "trailing-whitespace",
      /trailing whitespace/,
    ],
    [
      "a call without a result",
      body([user("a"), assistant([use("x")]), user("b")]),
      "call-unanswered",
      /^messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: x\. Each `tool_use` block must have a corresponding `tool_result` block in the next message\.$/,
    ],
    ["a call at the end", body([user("a"), assistant([use("x")])]), "call-unanswered", /immediately after: x/],
    [
      "one of two results",
      body([...LOOP.slice(0, 2), user([result("b")])]),
      "call-unanswered",
      /immediately after: a\./,
    ],
    [
      "a result one message later",
      body([...LOOP.slice(0, 2), user("wait"), user([result("a"), result("b")])]),
      "call-unanswered",
      /: a, b\./,
    ],
    [
      "text before the results",
      body([...LOOP.slice(0, 2), user([text("so"), result("a"), result("b")])]),
      "result-not-first",
      /immediately after: a, b/,
    ],
    [
      "an orphan result",
      body([user([result("x")])]),
      "result-orphan",
      /^messages\.0\.content\.0: unexpected `tool_use_id` found in `tool_result` blocks: x\. Each `tool_result` block must have a corresponding `tool_use` block in the previous message\.$/,
    ],
    [
      "two results for one call",
      body([user("a"), assistant([use("x")]), user([result("x"), result("x")])]),
      "result-duplicate",
      /each tool_use must have a single result\. Found multiple `tool_result` blocks with id: x/,
    ],
    [
      "one id for two calls",
      body([user("a"), assistant([use("x"), use("x")]), user([result("x")])]),
      "call-duplicate",
      /^messages\.1\.content\.1: `tool_use` ids must be unique$/,
    ],
    [
      "an id used again in a later turn",
      body([...LOOP, assistant([use("a")]), user([result("a")])]),
      "call-duplicate",
      /must be unique/,
    ],
    [
      "an id with a bad character",
      body([user("a"), assistant([use("x:1")]), user([result("x:1")])]),
      "call-id",
      /tool_use\.id: String should match pattern '\^\[a-zA-Z0-9_-\]\+\$'/,
    ],
    ["an empty id", body([user("a"), assistant([use("")]), user([result("")])]), "call-id", /should match pattern/],
    [
      "a tool name with a dot",
      body([user("a"), assistant([use("x", "fs.read")]), user([result("x")])]),
      "tool-name",
      /tool_use\.name/,
    ],
    ["a declared tool name with a space", body([user("a")], { tools: [{ name: "a b" }] }), "tool-name", /^tools\.0/],
    [
      "input as text",
      body([user("a"), assistant([use("x", "f", '{"a"')]), user([result("x")])]),
      "arguments",
      /input: Input should be a valid dictionary/,
    ],
    [
      "a call in a user message",
      body([user([use("x")]), user([result("x")])]),
      "unknown-role",
      /can only be in `assistant`/,
    ],
    [
      "a result in an assistant message",
      body([user("a"), assistant([use("x")]), assistant([result("x")])]),
      "unknown-role",
      /can only be in `user`/,
    ],
    [
      "half a character",
      body([user("cut \ud83d")]),
      "lone-surrogate",
      /^The request body is not valid JSON: no low surrogate in string: line 1 column \d+ \(char \d+\)$/,
    ],
    ["the other half", body([user("cut \ude42 off")]), "lone-surrogate", /no low surrogate/],
    [
      "five cache markers",
      body([1, 2, 3, 4, 5].map((n) => user([{ ...text(`${n}`), cache_control: { type: "ephemeral" } }]))),
      "cache-markers",
      /Found 5/,
    ],
    [
      "thinking without a signature",
      body([user("a"), assistant([{ type: "thinking", thinking: "hm" }, text("b")]), user("c")]),
      "signature-missing",
      /thinking\.signature: Field required/,
    ],
    [
      "a foreign signature",
      body([user("a"), assistant([thinking("hm", "foreign"), text("b")]), user("c")]),
      "signature-unknown",
      /^messages\.1\.content\.0: Invalid `signature` in `thinking` block$/,
    ],
    [
      "foreign redacted thinking",
      body([user("a"), assistant([{ type: "redacted_thinking", data: "x" }, text("b")]), user("c")]),
      "signature-unknown",
      /Invalid `data` in `redacted_thinking` block/,
    ],
    [
      "thinking at the end",
      body([user("a"), assistant([text("b"), thinking("hm")]), user("c")]),
      "thinking-last",
      /final block in an assistant message cannot be `thinking`/,
    ],
  ];
  for (const [name, value, rule, wording] of bad) {
    it(name, () => {
      assert.equal(rules(value)[0], rule);
      assert.match(messageOf(value) ?? "", wording);
    });
  }
});

describe("anthropic judge and signed thinking", () => {
  const history = (first: unknown, second: unknown) =>
    body([
      user("a"),
      assistant([first, use("x")]),
      user([result("x")]),
      assistant([second, use("y")]),
      user([result("y")]),
    ]);

  it("tells modified thinking from unknown, in the latest message in the endpoint's words for that", () => {
    const issued = new Issued();
    const signature = issued.sign("one");
    const modified = { type: "thinking", thinking: "", signature };
    const latest = judge("anthropic", history(thinking("one"), modified), { issued }).violations;
    assert.deepEqual(
      latest.map(({ rule }) => rule),
      ["signature-modified"],
    );
    assert.match(latest[0]?.message ?? "", /blocks in the latest assistant message cannot be modified/);
    const earlier = judge("anthropic", history(modified, thinking("two")), { issued }).violations;
    assert.match(earlier[0]?.message ?? "", /Invalid `signature` in `thinking` block/);
  });

  it("knows a signature that the script chose, and only with its own text", () => {
    const issued = new Issued();
    issued.sign("one", "chosen");
    assert.deepEqual(rules(history(thinking("one", "chosen"), thinking("two")), { issued }), []);
    assert.deepEqual(rules(history(thinking("on", "chosen"), thinking("two")), { issued }), ["signature-modified"]);
  });

  it("without a registry judges no signature, only that there is one", () => {
    assert.deepEqual(rules(history(thinking("one", "foreign"), thinking("two")), {}), []);
  });

  it("wants the thinking in front of the calls of a running tool loop when thinking has a budget", () => {
    const loop = [user("a"), assistant([use("x")]), user([result("x")])];
    const budget = { thinking: { type: "enabled", budget_tokens: 1024 } };
    assert.deepEqual(rules(body(loop, budget)), ["thinking-not-first"]);
    assert.match(
      messageOf(body(loop, budget)) ?? "",
      /Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
    );
    assert.deepEqual(rules(body(loop, { thinking: { type: "adaptive" } })), []);
    assert.deepEqual(rules(body([...loop, assistant("done"), user("next")], budget)), []);
    assert.deepEqual(rules(body([user("a"), assistant([thinking("hm"), use("x")]), user([result("x")])], budget)), []);
  });
});
