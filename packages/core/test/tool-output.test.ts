import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { capText, cleanText, outputOf, outputOfModel, thrownText } from "../src/tool/output.ts";
import { outputText } from "./turn-world.ts";

const wild = fc.string({ unit: "binary", maxLength: 200 });

function wellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\u0000");
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, inner]) => wellFormed(key) && wellFormed(inner));
}

describe("what a body returns", () => {
  test("R51: lone surrogates, NUL and control characters are gone, at any depth; escaped text stays as it is", () => {
    assert.equal(cleanText("a\ud83db\u0000c\u001b[0m\td\n"), "a\ufffdb\ufffdc\ufffd[0m\td\n");
    assert.equal(cleanText("\\ud800 \\u0000"), "\\ud800 \\u0000");
    fc.assert(fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => wellFormed(outputOf(value, 10_000))));
    fc.assert(fc.property(wild, (text) => wellFormed(thrownText(new Error(text)))));
  });

  test("R51: a cut never splits a character, and says how much is missing", () => {
    const emoji = "\u{1f600}".repeat(10);
    for (let chars = 1; chars < emoji.length; chars += 1)
      assert.ok(!capText(emoji, chars).includes("\ufffd"), `at ${chars}`);
    fc.assert(
      fc.property(wild, fc.nat({ max: 250 }), (text, chars) => {
        const clean = cleanText(text);
        const short = capText(clean, chars);
        assert.ok(short.isWellFormed());
        if (clean.length <= chars) assert.equal(short, clean);
        else assert.match(short, new RegExp(`${clean.length - chars} of ${clean.length} characters left out`));
      }),
    );
  });

  test("R72: one cap over all parts, whatever they are", () => {
    const big = "x".repeat(1_000_000);
    const parts = [
      { type: "text", text: big },
      { type: "data", data: { big } },
      { type: "file", mediaType: "image/png", url: `data:image/png;base64,${big}` },
    ];
    const output = outputOf({ content: parts }, 60_000);
    assert.ok(JSON.stringify(output).length < 61_000);
    assert.ok(outputText(output).startsWith("xxx"));
  });

  test("any value becomes content: what JSON cannot hold is told as text, nothing is nothing", () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    assert.deepEqual(outputOf(undefined, 9), { content: [], isError: false });
    assert.equal(outputText(outputOf(cyclic, 99)), "[object Object]");
    assert.equal(outputText(outputOf(10n, 99)), "10");
    assert.deepEqual(outputOf({ content: [{ type: "text", text: "no" }], isError: true }, 9), {
      content: [{ type: "text", text: "no" }],
      isError: true,
    });
    // Looks like content and is none: data.
    assert.equal(outputOf({ content: [{ type: "hologram" }] }, 99).content[0]?.type, "data");
  });

  test("an AI SDK tool's files: bytes go beside the log, addresses and texts stay", async () => {
    const kept: Uint8Array[] = [];
    const keep = async (bytes: Uint8Array) => `blob-${kept.push(bytes)}`;
    const output = await outputOfModel(
      {
        type: "content",
        value: [
          { type: "text", text: "see" },
          { type: "file", mediaType: "image/png", filename: "a.png", data: { type: "data", data: "aGk=" } },
          { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.com/a.png") } },
          { type: "file", mediaType: "text/plain", data: { type: "text", text: "inline" } },
        ],
      },
      1_000,
      keep,
    );
    assert.deepEqual(output.content, [
      { type: "text", text: "see" },
      { type: "file", mediaType: "image/png", filename: "a.png", blob: "blob-1" },
      { type: "file", mediaType: "image/png", url: "https://example.com/a.png" },
      { type: "text", text: "inline" },
    ]);
    assert.equal(new TextDecoder().decode(kept[0]), "hi");
    assert.equal((await outputOfModel({ type: "execution-denied" }, 9_999, keep)).code, "TOOL_DENIED");
  });
});
