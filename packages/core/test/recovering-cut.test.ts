/** For any answers, cut anywhere in any way: a consumer gets one whole good answer, or an error, and never a mixture. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { RecoverOptions } from "../src/attempt/recovering.ts";
import { call, finish, type ScriptEntry, say, think } from "../src/testing/model.ts";
import { assertOneEnd, dropped, type Got, recovered, type StreamPart, wordsOf } from "./recovering-world.ts";

type Block = "text" | "thought" | "call" | "whole call" | "nothing";
type Break = "none" | "reset" | "end" | "silence" | "error part" | "interrupted";
interface Answer {
  blocks: Block[];
  cut: number;
  how: Break;
}

const answer: fc.Arbitrary<Answer> = fc.record({
  blocks: fc.array(fc.constantFrom<Block>("text", "thought", "thought", "call", "whole call", "nothing"), {
    minLength: 1,
    maxLength: 4,
  }),
  cut: fc.nat(16),
  how: fc.constantFrom<Break>("none", "reset", "end", "silence", "error part", "interrupted"),
});

const rules: RecoverOptions[] = [
  {},
  { reasoning: "show" },
  { reasoning: "show", recovery: { sealsPerStep: 0 } },
  { buffer: "answer" },
];

/** Every word says of which attempt it is; ids are the same in all of them. */
function partsOf({ blocks }: Answer, attempt: number): StreamPart[] {
  const parts = blocks.flatMap((block, at): StreamPart[] => {
    const word = `<${attempt}.${at}>`;
    switch (block) {
      case "text":
        return say(word, `${at}`);
      case "thought":
        return think(word, `${at}`);
      case "call":
        return call("t", { word }, `c${at}`);
      case "whole call":
        return call("t", { word }, `c${at}`).slice(3);
      case "nothing":
        return [
          { type: "reasoning-start", id: `${at}` },
          { type: "reasoning-end", id: `${at}` },
        ];
    }
  });
  return [{ type: "stream-start", warnings: [] }, ...parts, finish()];
}

function entryOf(given: Answer, attempt: number): ScriptEntry {
  const parts = partsOf(given, attempt);
  // A finish is only ever cut off: behind it nothing is read.
  const before = parts.slice(0, Math.min(given.cut, parts.length - 1));
  switch (given.how) {
    case "none":
      return parts;
    case "reset":
      return [...before, dropped];
    case "end":
      return before;
    case "silence":
      return [...before, { silence: true }];
    case "error part":
      return [...before, { type: "error", error: { message: "odd" } }, ...parts.slice(before.length)];
    case "interrupted":
      return [...before, finish("interrupted")];
  }
}

function tagsOf(words: string): string[] {
  return [...new Set([...words.matchAll(/<(\d+)\./g)].map(([, tag = ""]) => tag))];
}

/** Starts, deltas and ends fit each other, and no id comes twice. */
function assertWellFormed({ parts }: Got): void {
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const part of parts) {
    const [, kind = "", what] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(part.type) ?? [];
    if (!what || !("id" in part)) continue;
    const key = `${kind} ${part.id}`;
    if (what === "start") {
      assert.ok(!seen.has(key), `${key} twice`);
      seen.add(key);
      open.add(key);
    } else assert.ok(open.has(key), `${part.type} of ${part.id}, which is not open`);
    if (what === "end") open.delete(key);
  }
  if (parts.at(-1)?.type === "finish") assert.deepEqual([...open], []);
}

function assertOneAnswer(got: Got, answers: readonly Answer[], requests: number): void {
  const end = assertOneEnd(got);
  assertWellFormed(got);
  const { parts } = got;
  assert.ok(tagsOf(wordsOf(parts)).length <= 1, "text of two attempts");
  for (const part of parts) if ("delta" in part) assert.ok(tagsOf(part.delta).length <= 1, "one part of two attempts");
  const calls = parts.filter(({ type }) => type === "tool-call");
  if (end === "failed") return assert.deepEqual(calls, [], "a call of an answer that is not good");
  const last = answers[requests - 1];
  assert.ok(last);
  const good = partsOf(last, requests - 1);
  assert.equal(wordsOf(parts), wordsOf(good), "the whole text");
  assert.ok(wordsOf(parts, "reasoning").endsWith(wordsOf(good, "reasoning")), "the whole thought");
  assert.deepEqual(
    calls,
    good.filter(({ type }) => type === "tool-call"),
    "every call",
  );
}

describe("for any answers, cut anywhere", () => {
  for (const options of rules) {
    it(`one whole answer or an error: ${JSON.stringify(options)}`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(answer, { minLength: 3, maxLength: 3 }), async (answers) => {
          const recovery = { attemptsPerStep: 3, ...options.recovery };
          const { stream, inner, effects, reports } = recovered(answers.map(entryOf), { ...options, recovery });
          const got = await stream();
          assertOneAnswer(got, answers, inner.requests.length);
          assert.equal(reports.length, inner.requests.length);
          assert.ok(reports.slice(0, -1).every(({ end }) => end === "discarded" || end === "sealed"));
          await effects.settle();
          assert.equal(effects.waiting, 0);
        }),
        { numRuns: 300 },
      );
    });
  }

  it("held back whole, only what is never good fails", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 3, maxLength: 3 }), async (answers) => {
        const { stream, inner } = recovered(answers.map(entryOf), {
          buffer: "answer",
          recovery: { attemptsPerStep: 3 },
        });
        const end = assertOneEnd(await stream());
        const good = answers.findIndex(
          ({ blocks, how }) =>
            how === "none" && blocks.some((block) => block === "text" || block === "call" || block === "whole call"),
        );
        assert.deepEqual([end, inner.requests.length], good < 0 ? ["failed", 3] : ["good", good + 1]);
      }),
      { numRuns: 200 },
    );
  });
});
