import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JudgeOptions, judge, type Rule } from "../src/index.ts";

const user = (content: unknown = "go") => ({ role: "user", content });
const call = (id: unknown, args: unknown = "{}", name = "bash") => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const calls = (...tool_calls: unknown[]) => ({ role: "assistant", content: null, tool_calls });
const result = (id: unknown, content: unknown = "ok") => ({ role: "tool", tool_call_id: id, content });
const body = (...messages: unknown[]) => ({ model: "m", messages });

function rules(value: unknown, options: JudgeOptions = {}): Rule[] {
  return judge("chat", value, options).violations.map(({ rule }) => rule);
}

describe("chat judge accepts", () => {
  const good: [string, unknown][] = [
    ["a plain question", body({ role: "system", content: "s" }, user())],
    ["results in any order", body(user(), calls(call("a"), call("b")), result("b"), result("a"), user())],
    ["an id used again in a later turn", body(user(), calls(call("a")), result("a"), calls(call("a")), result("a"))],
    ["an empty result", body(user(), calls(call("a")), result("a", ""))],
    ["calls with an empty content", body(user(), { ...calls(call("a")), content: "" }, result("a"))],
    [
      "consecutive messages of one role",
      body(user(), user(), { role: "assistant", content: "a" }, { role: "assistant", content: "b" }),
    ],
    ["an id of 40 characters", body(user(), calls(call("x".repeat(40))), result("x".repeat(40)))],
    ["reasoning on replay", body(user(), { ...calls(call("a")), reasoning_content: "hm" }, result("a"))],
    ["a refusal without content", body(user(), { role: "assistant", content: null, refusal: "no" }, user())],
  ];
  for (const [name, value] of good) it(name, () => assert.deepEqual(rules(value), []));
});

describe("chat judge refuses", () => {
  const bad: [string, unknown, Rule, RegExp][] = [
    ["no model", { messages: [user()] }, "missing-field", /you must provide a model parameter/],
    ["no messages", { model: "m" }, "missing-field", /^Missing required parameter: 'messages'\.$/],
    ["an empty list", body(), "missing-field", /empty array/],
    [
      "messages that are no list",
      { model: "m", messages: "hi" },
      "wrong-type",
      /expected an array of objects, but got a string/,
    ],
    ["a message that is no object", body("hi"), "wrong-type", /messages\[0\]/],
    ["an unknown role", body({ role: "robot", content: "x" }), "unknown-role", /Invalid value: 'robot'/],
    [
      "a call without a result",
      body(user(), calls(call("a"), call("b")), result("a"), user()),
      "call-unanswered",
      /^An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'\. The following tool_call_ids did not have response messages: b$/,
    ],
    ["a call at the end", body(user(), calls(call("a"))), "call-unanswered", /response messages: a/],
    [
      "a result after another message",
      body(user(), calls(call("a")), user(), result("a")),
      "call-unanswered",
      /response messages: a/,
    ],
    [
      "an orphan result",
      body(user(), result("a")),
      "result-orphan",
      /messages with role 'tool' must be a response to a preceeding message with 'tool_calls'/,
    ],
    [
      "a result for another call",
      body(user(), calls(call("a")), result("z"), result("a")),
      "result-orphan",
      /preceeding message/,
    ],
    [
      "two results for one call",
      body(user(), calls(call("a")), result("a"), result("a")),
      "result-duplicate",
      /Duplicate value for 'tool_call_id' of 'a', in messages\[2\] and messages\[3\]/,
    ],
    [
      "one id for two calls of a message",
      body(user(), calls(call("a"), call("a")), result("a")),
      "call-duplicate",
      /Duplicate value/,
    ],
    [
      "a call without an id",
      body(user(), calls(call(undefined))),
      "call-id",
      /Missing required parameter: 'messages\[1\]\.tool_calls\[0\]\.id'/,
    ],
    ["an empty id", body(user(), calls(call("")), result("")), "call-id", /empty string/],
    [
      "an id of 41 characters",
      body(user(), calls(call("x".repeat(41))), result("x".repeat(41))),
      "call-id",
      /maximum length 40, but got a string with length 41/,
    ],
    [
      "a tool name with a dot",
      body(user(), calls(call("a", "{}", "fs.read")), result("a")),
      "tool-name",
      /does not match pattern/,
    ],
    [
      "a declared tool name with a space",
      { ...body(user()), tools: [{ type: "function", function: { name: "a b" } }] },
      "tool-name",
      /tools\[0\]\.function\.name/,
    ],
    [
      "arguments as an object",
      body(user(), calls(call("a", { x: 1 })), result("a")),
      "arguments",
      /expected a string, but got an object instead/,
    ],
    [
      "arguments that are no JSON",
      body(user(), calls(call("a", '{"x":')), result("a")),
      "arguments",
      /expected a JSON document/,
    ],
    ["empty arguments", body(user(), calls(call("a", "")), result("a")), "arguments", /expected a JSON document/],
    [
      "an empty list of calls",
      body(user(), { role: "assistant", content: "x", tool_calls: [] }),
      "empty-message",
      /tool_calls': empty array/,
    ],
    [
      "a user message without content",
      body({ role: "user" }),
      "empty-message",
      /Invalid value for 'content': expected a string, got undefined/,
    ],
    [
      "an assistant message without content",
      body(user(), { role: "assistant", content: null }),
      "empty-message",
      /got null/,
    ],
    [
      "an empty assistant message",
      body(user(), { role: "assistant", content: "" }, user()),
      "empty-message",
      /an empty string/,
    ],
    ["a result without content", body(user(), calls(call("a")), result("a", null)), "empty-message", /got null/],
    ["half a character", body(user("\ud83d")), "lone-surrogate", /could not parse the JSON body/],
  ];
  for (const [name, value, rule, wording] of bad) {
    it(name, () => {
      const { violations } = judge("chat", value);
      assert.equal(violations[0]?.rule, rule);
      assert.match(violations[0]?.message ?? "", wording);
    });
  }

  it("reasoning on replay, or its absence, according to the server's mood", () => {
    const withIt = body(user(), { ...calls(call("a")), reasoning_content: "hm" }, result("a"));
    const without = body(user(), calls(call("a")), result("a"));
    assert.deepEqual(rules(withIt, { reasoningMood: "forbidden" }), ["reasoning-forbidden"]);
    assert.deepEqual(rules(without, { reasoningMood: "forbidden" }), []);
    assert.deepEqual(rules(without, { reasoningMood: "required" }), ["reasoning-required"]);
    assert.deepEqual(rules(withIt, { reasoningMood: "required" }), []);
    const { violations } = judge("chat", without, { reasoningMood: "required" });
    assert.match(
      violations[0]?.message ?? "",
      /reasoning_content is missing in assistant tool call message at index 1/,
    );
  });
});
