import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Entry, PROTOCOLS, parseScript, type Script, ScriptError, type Step } from "../src/index.ts";
import { cut } from "../src/score.ts";
import { contentOf, finishOf, HELLO, modelOf, plain, read, serving } from "./provider.ts";

describe("a script that is none is refused with the place, the value seen and what is allowed", () => {
  const bad: [string, unknown, string, RegExp][] = [
    ["no script", undefined, "script", /got undefined; allowed: an object with entries, loop, fallback/],
    ["a string", "hello", "script", /got "hello"/],
    ["an entry that is none", [5], "script[0]", /got 5; allowed: an entry/],
    ["a step that is none", [["hi"]], "script[0][0]", /got "hi"; allowed: a step/],
    [
      "a step of no kind",
      [[{ say: "hi" }]],
      "script[0][0]",
      /got {"say":"hi"}; allowed: exactly one of text, reason, call/,
    ],
    ["a step of two kinds", [[{ text: "a", reason: "b" }]], "script[0][0]", /exactly one of/],
    [
      "a misspelt field",
      [[{ text: "a", chunk: 2 }]],
      "script[0][0].chunk",
      /unknown field "chunk"; allowed: text, chunks, upTo, drop/,
    ],
    ["a field of another type", [[{ text: 5 }]], "script[0][0].text", /got 5; allowed: a string/],
    ["an unknown finish", [[{ finish: "end_turn" }]], "script[0][0].finish", /"stop", "tool-calls", "length"/],
    ["a negative wait", [[{ wait: -1 }]], "script[0][0].wait", /a whole number, 0 or more/],
    [
      "input that is a list",
      [[{ call: "f", input: [1] }]],
      "script[0][0].input",
      /an object, the raw text of the arguments, or null/,
    ],
    ["half a usage", [[{ usage: { input: 1 } }]], "script[0][0].usage", /"output" is missing/],
    [
      "more cached than read",
      [[{ usage: { input: 1, output: 1, cacheRead: 2 } }]],
      "script[0][0].usage",
      /at most input/,
    ],
    ["a fault without a message", [[{ error: { type: "x" } }]], "script[0][0].error", /"message" is missing/],
    ["reset: false", [[{ reset: false }]], "script[0][0].reset", /allowed: true/],
    ["a nested step", [[{ repeat: [{ wait: "long" }] }]], "script[0][0].repeat[0].wait", /got "long"/],
    ["more of nothing", [[{ text: "a" }, { more: true }]], "script[0][1]", /allowed: more after a step with upTo/],
    ["a status out of range", [{ status: 99 }], "script[0].status", /a status from 200 to 599/],
    [
      "a header that is no string",
      [{ status: 429, headers: { "retry-after": 5 } }],
      "script[0].headers",
      /an object of strings/,
    ],
    ["steps beside a status", [{ status: 429, steps: [] }], "script[0].steps", /unknown field "steps"/],
    ["a bad fallback", { entries: [], fallback: {} }, "script.fallback", /an entry/],
  ];
  for (const [name, value, path, wording] of bad) {
    it(name, () => {
      assert.throws(
        () => parseScript(value),
        (error) => {
          assert.ok(error instanceof ScriptError);
          assert.equal(error.path, path);
          assert.match(error.message, wording);
          assert.ok(error.message.startsWith(`${path}: `));
          return true;
        },
      );
    });
  }

  it("survives JSON unchanged", () => {
    const script: Script = {
      entries: [
        [
          { reason: "r", chunks: 2 },
          { call: "f", input: { a: [1, null] }, split: [1], drop: [0] },
          { finish: { raw: "x" } },
        ],
        { status: 429, headers: { "retry-after": "1" }, when: { lastUserIncludes: "x", keep: true } },
        { steps: [{ raw: { base64: "AAE=" } }], pieces: 2 },
      ],
      fallback: [{ text: "done" }],
    };
    assert.deepEqual(parseScript(JSON.parse(JSON.stringify(script))), script);
  });
});

describe("which entry answers", () => {
  const ask = (text: string) => ({ prompt: [{ role: "user" as const, content: [{ type: "text" as const, text }] }] });
  const textOf = async (server: Parameters<typeof modelOf>[0], text = "hello") => {
    const { content } = await modelOf(server, "chat").doGenerate(ask(text));
    return content.map((part) => (part.type === "text" ? part.text : part.type)).join("");
  };

  it("loop starts again, fallback answers all the rest", async () => {
    await serving({ script: { entries: [[{ text: "a" }], [{ text: "b" }]], loop: true } }, async (server) => {
      assert.equal((await textOf(server)) + (await textOf(server)) + (await textOf(server)), "aba");
    });
    await serving({ script: { entries: [[{ text: "a" }]], fallback: [{ text: "z" }] } }, async (server) => {
      assert.equal((await textOf(server)) + (await textOf(server)) + (await textOf(server)), "azz");
    });
  });

  it("an entry with `when` waits for its request, and stays with keep", async () => {
    const script: Script = [
      { when: { lastUserIncludes: "weather" }, steps: [{ text: "rain" }] },
      { when: { lastUserIncludes: "time", keep: true }, steps: [{ text: "noon" }] },
      [{ text: "first" }],
      [{ text: "second" }],
    ];
    await serving({ script }, async (server) => {
      const answers = [];
      for (const text of ["hi", "the time?", "the weather?", "time again", "and weather?"])
        answers.push(await textOf(server, text));
      assert.deepEqual(answers, ["first", "noon", "rain", "noon", "second"]);
    });
  });

  it("`hasToolResult` looks at results since the last user message, by tool name, in every protocol", async () => {
    const entries: Entry[] = [
      { when: { hasToolResult: "list", keep: true }, steps: [{ text: "two files" }] },
      { when: { lastUserIncludes: "hello", keep: true }, steps: [{ call: "list", input: {} }] },
    ];
    await serving({ script: entries }, async (server) => {
      for (const protocol of PROTOCOLS) {
        const model = modelOf(server, protocol);
        const first = await model.doGenerate({ prompt: HELLO });
        const call = first.content.find((part) => part.type === "tool-call");
        assert.ok(call !== undefined);
        const { toolCallId, toolName } = call;
        const after = [
          ...HELLO,
          { role: "assistant" as const, content: [{ type: "tool-call" as const, toolCallId, toolName, input: {} }] },
          {
            role: "tool" as const,
            content: [
              { type: "tool-result" as const, toolCallId, toolName, output: { type: "text" as const, value: "a b" } },
            ],
          },
        ];
        assert.deepEqual(plain((await model.doGenerate({ prompt: after })).content), [["text", "two files"]]);
        const nextTurn = [...after, ...HELLO];
        assert.equal((await model.doGenerate({ prompt: nextTurn })).finishReason.unified, "tool-calls");
      }
    });
  });

  it("a function decides by the request, and a wrong entry from it is named", async () => {
    const script = (request: { order: number }, index: number): Entry =>
      index < 2 ? [{ text: `${request.order}/${index}` }] : ([{ sing: "la" }] as unknown as Entry);
    await serving({ script }, async (server) => {
      assert.equal((await textOf(server)) + (await textOf(server)), "1/02/1");
      await assert.rejects(textOf(server), /entry\[0\]: got {"sing":"la"}/);
    });
  });
});

describe("properties", () => {
  it("pieces always add up to the text, and equal pieces never split a character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.nat(30)),
        (text, count, offsets) => {
          const pieces = cut(text, count);
          assert.equal(pieces.join(""), text);
          assert.ok(pieces.length <= Math.max(1, count) && pieces.every((piece) => piece.isWellFormed()));
          assert.equal(
            cut(
              text,
              offsets.sort((a, b) => a - b),
            ).join(""),
            text,
          );
        },
      ),
    );
  });

  it("any script of content gives the same content over the three protocols", async () => {
    const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
    const chunks = fc.integer({ min: 1, max: 5 });
    const input = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), words, { maxKeys: 3 });
    const calls = fc.array(fc.record({ call: fc.constantFrom("read", "write"), input, split: fc.constant([2, 5]) }), {
      maxLength: 3,
    });
    // One part of each kind at most before the calls: chat has no boundaries between parts of one kind.
    const script = fc.tuple(
      fc.option(fc.record({ reason: words, chunks })),
      fc.option(fc.record({ text: words, chunks })),
      calls,
    );
    let steps: readonly Step[] = [];
    await serving({ script: () => steps }, async (server) => {
      await fc.assert(
        fc.asyncProperty(script, async ([reason, text, called]) => {
          steps = [reason, text, ...called].filter((step) => step !== null);
          const seen = [];
          for (const protocol of PROTOCOLS) {
            const { parts, thrown } = await read(modelOf(server, protocol));
            seen.push({ content: plain(contentOf(parts)), finish: finishOf(parts), thrown });
          }
          assert.deepEqual(seen[1], seen[0]);
          assert.deepEqual(seen[2], seen[0]);
        }),
        { numRuns: 25 },
      );
    });
  });
});
