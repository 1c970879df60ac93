/** `repairMessages`: what holds for every history. The broken ones that people have met are in repair-history.test.ts. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ModelMessage } from "@ai-sdk/provider-utils";
import fc from "fast-check";
import { unpaired } from "../src/context/laws.ts";
import { isPawlError, repairMessages } from "../src/index.ts";
import { anyHistory, validHistory } from "./repair-arbitrary.ts";
import { promptOfMessages } from "./repair-prompt.ts";

describe("repairMessages", () => {
  test("a valid history comes back as the same objects, and nothing was done", () => {
    fc.assert(
      fc.property(validHistory, (history) => {
        const before = structuredClone(history);
        const { messages, repairs } = repairMessages(history);
        assert.deepEqual(repairs, []);
        assert.equal(messages.length, history.length);
        for (const [at, message] of messages.entries()) assert.equal(message, history[at]);
        assert.deepEqual(history, before);
      }),
      { numRuns: 500 },
    );
  });

  test("L1: whatever the history, each call of the request has one result, directly after it, in call order", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const { messages } = repairMessages(history);
        if (waits(messages)) return;
        assert.deepEqual(unpaired(promptOfMessages(messages)), []);
      }),
      { numRuns: 3_000 },
    );
  });

  test("repairing twice is repairing once, whatever was given; and nothing that was given is changed", () => {
    fc.assert(
      fc.property(anyHistory, fc.constantFrom("keep" as const, "drop" as const), (history, providerState) => {
        const before = structuredClone(history);
        const once = repairMessages(history, { providerState });
        const twice = repairMessages(once.messages, { providerState });
        assert.deepEqual(twice, { messages: once.messages, repairs: [] });
        for (const [at, message] of twice.messages.entries()) assert.equal(message, once.messages[at]);
        assert.deepEqual(history, before);
      }),
      { numRuns: 3_000 },
    );
  });

  test("L10: what was sent before an answer keeps its bytes, however the history grows", () => {
    const client = anyHistory.map((history) =>
      history.filter((one) => !JSON.stringify(one).includes('providerExecuted":true')),
    );
    const said: ModelMessage = { role: "user", content: "and?" };
    const answer: ModelMessage = { role: "assistant", content: "An answer." };
    fc.assert(
      fc.property(client, client, (before, after) => {
        const sent = repairMessages([...before, said]).messages;
        const grown = repairMessages([...before, said, answer, ...after]).messages;
        assert.deepEqual(grown.slice(0, sent.length), sent);
      }),
      { numRuns: 1_000 },
    );
  });

  test("R51: whatever the history, the request is well-formed, and no client's id or name on it is odd", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const { messages } = repairMessages(history);
        assert.doesNotMatch(JSON.stringify(messages), /(?<!\\)\\ud[89a-f]/);
        for (const { content } of messages) {
          for (const part of Array.isArray(content) ? content : []) {
            if (part.type !== "tool-call" || part.providerExecuted) continue;
            assert.match(part.toolCallId, /^[A-Za-z0-9_-]{1,40}$/);
            assert.match(part.toolName, /^[A-Za-z0-9_-]{1,64}$/);
            assert.ok(typeof part.input === "object" && part.input !== null && !Array.isArray(part.input));
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

/** A person has just answered, and the SDK acts on it next: the one place where a call has no result yet. */
function waits(messages: readonly ModelMessage[]): boolean {
  const last = messages.at(-1);
  return last?.role === "tool" && last.content.some(({ type }) => type === "tool-approval-response");
}

test("what is no history is refused with the value seen", () => {
  for (const [given, shown] of [
    [undefined, "undefined"],
    [{ messages: [] }, '{"messages":[]}'],
    ["hello", '"hello"'],
  ] as const) {
    assert.throws(
      () => repairMessages(given as unknown as ModelMessage[]),
      (error) => isPawlError(error, "INVALID_INPUT") && error.message.includes(shown),
    );
  }
});

test("what is no JSON is healed all the same: values that hold themselves, bigints, depth without end, bytes", () => {
  const cyclic: Record<string, unknown> = { half: "\ud83d" };
  cyclic["self"] = cyclic;
  let deep: unknown = "x";
  for (let depth = 0; depth < 50_000; depth++) deep = [deep];
  const inputs = [cyclic, { n: 1n }, deep, { deep }, () => 1, Symbol("s"), new Date(0), Number.NaN];
  const history = inputs.flatMap((input, at) => [
    { role: "user", content: [{ type: "file", mediaType: "image/png", data: new Uint8Array([1]) }, input] },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: `c${at}`, toolName: "look", input }, input] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: `c${at}`, toolName: "look", output: input }, input] },
    input,
  ]) as unknown as ModelMessage[];
  const { messages } = repairMessages(history);
  assert.deepEqual(unpaired(promptOfMessages(messages)), []);
  assert.ok(JSON.stringify(messages.filter(({ role }) => role !== "user")).isWellFormed());
  assert.deepEqual(repairMessages(messages), { messages, repairs: [] });
});
