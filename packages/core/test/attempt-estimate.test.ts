import assert from "node:assert/strict";
import { test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { estimateUsage } from "../src/attempt/estimate.ts";

const prompt: LanguageModelV4Prompt = [{ role: "user", content: [{ type: "text", text: "x".repeat(350) }] }];

test("L9: an answer that broke off is estimated, and says so", () => {
  const usage = estimateUsage({ prompt }, [
    { type: "reasoning", id: "a-1", text: "r".repeat(35) },
    { type: "text", id: "a-2", text: "t".repeat(70) },
    { type: "tool-call", id: "a-3", providerId: "c", tool: "read", input: "i".repeat(35) },
  ]);
  assert.equal(usage.measure, "estimated");
  assert.equal(usage.output, 40);
  assert.equal(usage.reasoning, 10);
  assert.ok((usage.input ?? 0) >= 100);
});

test("L9: where nothing came, nothing is known: absent is not zero", () => {
  assert.deepEqual(estimateUsage({ prompt }, []), { measure: "unknown" });
});

test("the tools of a request are a part of what it cost", () => {
  const answer = [{ type: "text" as const, id: "1", text: "so far" }];
  const tools = [{ type: "function", name: "look", inputSchema: { description: "x".repeat(7_000) } }];
  const bare = estimateUsage({ prompt }, answer).input ?? 0;
  const whole = estimateUsage({ prompt, tools }, answer).input ?? 0;
  assert.ok(whole > bare + 1_900 && whole < bare + 2_200, `${bare} and ${whole}`);
});
