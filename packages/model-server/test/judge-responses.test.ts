import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Issued, type JudgeOptions, judge, type Rule } from "../src/index.ts";
import { sealedOf } from "../src/issued.ts";

const user = (content: unknown = [{ type: "input_text", text: "go" }]) => ({ role: "user", content });
const said = { role: "assistant", content: [{ type: "output_text", text: "ok" }] };
const call = (call_id: unknown, more = {}) => ({
  type: "function_call",
  call_id,
  name: "bash",
  arguments: "{}",
  ...more,
});
const output = (call_id: unknown, value: unknown = "ok") => ({ type: "function_call_output", call_id, output: value });
const reasoning = (id: string, text: string, encrypted_content: unknown = sealedOf(id, text)) => ({
  type: "reasoning",
  id,
  summary: [{ type: "summary_text", text }],
  encrypted_content,
});
const body = (...input: unknown[]) => ({ model: "m", input, store: false });

function rules(value: unknown, options: JudgeOptions = { issued: new Issued() }): Rule[] {
  return judge("responses", value, options).violations.map(({ rule }) => rule);
}

describe("responses judge accepts", () => {
  const good: [string, unknown][] = [
    ["a plain string", { model: "m", input: "hi" }],
    ["calls with outputs in any order", body(user(), call("a"), call("b"), output("b"), output("a"))],
    ["an assistant message as a string", body(user(), { role: "assistant", content: "ok" }, user())],
    ["encrypted reasoning before its call", body(user(), reasoning("rs_1", "hm"), call("a"), output("a"))],
    ["the same without its summary", body(user(), { ...reasoning("rs_1", "hm"), summary: [] }, said, user())],
    ["the same without its id", body(user(), { ...reasoning("rs_1", "hm"), id: undefined }, said, user())],
    ["a call id of 64 characters", body(user(), call("x".repeat(64)), output("x".repeat(64)))],
    [
      "item ids with their prefixes",
      body(user(), { ...said, type: "message", id: "msg_1" }, call("a", { id: "fc_1" }), output("a")),
    ],
  ];
  for (const [name, value] of good) it(name, () => assert.deepEqual(rules(value), []));
});

describe("responses judge refuses", () => {
  const bad: [string, unknown, Rule, RegExp][] = [
    ["no model", { input: "hi" }, "missing-field", /'model'/],
    ["no input", { model: "m" }, "missing-field", /^Missing required parameter: 'input'\.$/],
    [
      "input of another type",
      { model: "m", input: 5 },
      "wrong-type",
      /expected one of a string or array of objects, but got an integer instead/,
    ],
    ["an item without type or role", body({}), "missing-field", /input\[0\]\.type/],
    ["an unknown role", body({ role: "tool", content: "x" }), "unknown-role", /Invalid value: 'tool'/],
    ["a message without content", body(user([])), "empty-message", /input\[0\]\.content/],
    [
      "input text from the assistant",
      body(user(), { role: "assistant", content: [{ type: "input_text", text: "x" }] }),
      "wrong-type",
      /Supported values are: 'output_text' and 'refusal'/,
    ],
    [
      "a call without an output",
      body(user(), call("a"), user()),
      "call-unanswered",
      /^No tool output found for function call a\.$/,
    ],
    [
      "an output without a call",
      body(user(), output("a")),
      "result-orphan",
      /^No tool call found for function call output with call_id a\.$/,
    ],
    ["an output before its call", body(user(), output("a"), call("a")), "result-orphan", /No tool call found/],
    ["two outputs for one call", body(user(), call("a"), output("a"), output("a")), "result-duplicate", /call_id a/],
    ["one call id twice", body(user(), call("a"), output("a"), call("a")), "call-duplicate", /Duplicate 'call_id': a/],
    ["an output without a value", body(user(), call("a"), output("a", null)), "empty-message", /input\[2\]\.output/],
    [
      "a call without a call id",
      body(user(), call(undefined)),
      "call-id",
      /Missing required parameter: 'input\[1\]\.call_id'/,
    ],
    ["an empty call id", body(user(), call(""), output("")), "call-id", /empty string/],
    [
      "a call id of 65 characters",
      body(user(), call("x".repeat(65)), output("x".repeat(65))),
      "call-id",
      /maximum length 64, but got a string with length 65/,
    ],
    [
      "a tool name with a dot",
      body(user(), call("a", { name: "fs.read" }), output("a")),
      "tool-name",
      /input\[1\]\.name/,
    ],
    [
      "a declared tool name with a space",
      { ...body(user()), tools: [{ type: "function", name: "a b" }] },
      "tool-name",
      /tools\[0\]\.name/,
    ],
    [
      "arguments as an object",
      body(user(), call("a", { arguments: {} }), output("a")),
      "arguments",
      /expected a string, but got an object instead/,
    ],
    [
      "an item id of another kind",
      body(user(), call("a", { id: "call_1" }), output("a")),
      "item-id",
      /Expected an ID that begins with 'fc'/,
    ],
    [
      "one item twice",
      body(user(), call("a", { id: "fc_1" }), output("a"), call("b", { id: "fc_1" }), output("b")),
      "item-duplicate",
      /^Duplicate item found with id fc_1\. Remove duplicate items from your input and try again\.$/,
    ],
    [
      "a reference to nothing",
      body(user(), { type: "item_reference", id: "rs_9" }),
      "item-unknown",
      /^Item with id 'rs_9' not found\. Items are not persisted when `store` is set to false\./,
    ],
    ["reasoning that was never stored", body(user(), reasoning("rs_1", "hm", null), said), "item-unknown", /rs_1/],
    [
      "foreign encrypted content",
      body(user(), reasoning("rs_1", "hm", "gAAAAABforeign"), said),
      "signature-unknown",
      /^The encrypted content for item rs_1 could not be verified\./,
    ],
    [
      "encrypted content under another id",
      body(user(), reasoning("rs_2", "hm", sealedOf("rs_1", "hm")), said),
      "signature-modified",
      /item_id did not match/,
    ],
    [
      "a changed summary",
      body(user(), reasoning("rs_1", "hm!", sealedOf("rs_1", "hm")), said),
      "signature-modified",
      /could not be verified/,
    ],
    [
      "reasoning without what it led to",
      body(user(), reasoning("rs_1", "hm"), user()),
      "reasoning-alone",
      /^Item 'rs_1' of type 'reasoning' was provided without its required following item\.$/,
    ],
    ["reasoning at the end", body(user(), reasoning("rs_1", "hm")), "reasoning-alone", /required following item/],
    [
      "an unknown previous response",
      { ...body(user()), previous_response_id: "resp_9" },
      "item-unknown",
      /Previous response with id 'resp_9' not found/,
    ],
    ["half a character", body(user("\ud83d")), "lone-surrogate", /could not parse the JSON body/],
  ];
  for (const [name, value, rule, wording] of bad) {
    it(name, () => {
      const { violations } = judge("responses", value, { issued: new Issued() });
      assert.equal(violations[0]?.rule, rule);
      assert.match(violations[0]?.message ?? "", wording);
    });
  }

  it("an unknown item with 404, everything else with 400", () => {
    const { violations } = judge("responses", body({ type: "item_reference", id: "x" }, call("a")), {
      issued: new Issued(),
    });
    assert.deepEqual(
      violations.map(({ status }) => status),
      [404, 400],
    );
  });

  it("nothing that only a registry can know, without one", () => {
    assert.deepEqual(rules(body(user(), { type: "item_reference", id: "rs_9" }), {}), []);
    assert.deepEqual(rules(body(user(), reasoning("rs_1", "hm", "foreign"), said), {}), []);
    assert.deepEqual(rules(body(user(), reasoning("rs_1", "hm", null), said), {}), ["item-unknown"]);
  });
});
