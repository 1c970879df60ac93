/** What a provider package may write into a prompt, and what of it the next request has: nothing (L10). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { Handover } from "../src/turn/handover.ts";

const file = () => ({ type: "data" as const, data: new Uint8Array([1]) });
const output = () => ({ type: "text" as const, value: "seen" });

const prompt = (): LanguageModelV4Prompt => [
  { role: "system", content: "be brief" },
  {
    role: "user",
    content: [
      { type: "text", text: "look" },
      { type: "file", mediaType: "image/png", data: file() },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm", providerOptions: { p: { signature: "s" } } },
      { type: "tool-call", toolCallId: "c", toolName: "look", input: { at: 1 } },
    ],
    providerOptions: { p: { item: "i" } },
  },
  { role: "tool", content: [{ type: "tool-result", toolCallId: "c", toolName: "look", output: output() }] },
];

type Written = { [field: string]: unknown } & { content: { [field: string]: unknown }[] };

const into =
  (field: string) =>
  ({ content }: Written) =>
    content.filter((part) => field in part).map((part) => Object.assign(part, { [field]: "other" }));
const cache = { p: { cache: 1 } };
const message: { [what: string]: (message: Written) => unknown } = {
  "options on a message": (message) => Object.assign(message, { providerOptions: cache }),
  "options taken away": (message) => Reflect.deleteProperty(message, "providerOptions"),
  "another role": (message) => Object.assign(message, { role: "developer" }),
  "another content": (message) => Object.assign(message, { content: [{ type: "text", text: "other" }] }),
};
const part: typeof message = {
  "options on a part": ({ content: [first] }) => Object.assign(first ?? {}, { providerOptions: cache }),
  "options taken from parts": ({ content }) => content.map((part) => Reflect.deleteProperty(part, "providerOptions")),
  "a part more": ({ content }) => content.push({ type: "text", text: "more" }),
  "a part less": ({ content }) => content.pop(),
  "a part in the place of another": ({ content }) => content.splice(0, 1, { ...content[0], toolCallId: "other" }),
  "parts in another order": ({ content }) => content.reverse(),
  "other words": into("text"),
  "another file": into("data"),
  "another input": into("input"),
  "another output": into("output"),
  "parts of another kind": ({ content }) => content.map((part) => Object.assign(part, { type: "custom" })),
};

describe("handover", () => {
  test("a message that nobody wrote into is the same copy again, and not the original", () => {
    const handover = new Handover();
    const said = prompt();
    const first = handover.of(said);
    const second = handover.of(said);
    for (const [at, copy] of first.entries()) {
      assert.notEqual(copy, said[at]);
      assert.equal(second[at], copy);
    }
    assert.notEqual(second, first);
  });

  test("a message that stands where another stood is given as it is", () => {
    const handover = new Handover();
    const said = prompt();
    handover.of(said);
    const [system, user, , tool] = prompt();
    const others = [system, tool, user].filter((one): one is LanguageModelV4Message => one !== undefined);
    assert.deepEqual(handover.of(others), others);
  });

  for (const [what, write] of Object.entries({ ...message, ...part })) {
    test(`${what}: written into every message, it is gone from the next request`, () => {
      const handover = new Handover();
      const said = prompt();
      for (let request = 0; request < 2; request += 1) {
        const given = handover.of(said);
        assert.deepEqual(given, prompt());
        for (const one of given)
          if (what in message || typeof one.content !== "string") write(one as unknown as Written);
      }
      assert.deepEqual(handover.of(said), prompt());
      assert.deepEqual(said, prompt());
    });
  }
});
