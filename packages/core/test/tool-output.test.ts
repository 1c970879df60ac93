import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ToolResultOutput } from "@ai-sdk/provider-utils";
import fc from "fast-check";
import { limit } from "../src/limit.ts";
import type { ToolOutput } from "../src/log/event.ts";
import { Allowance, charsForWindow } from "../src/tool/allowance.ts";
import { capText, charsOf, cleanText, tell, thrownText } from "../src/tool/output.ts";
import { type WholeOutput, wholeOf, wholeOfModel } from "../src/tool/returned.ts";
import { outputText } from "./turn-world.ts";

const wild = fc.string({ unit: "binary", maxLength: 200 });

function wellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\u0000");
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, inner]) => wellFormed(key) && wellFormed(inner));
}

/** What is told under one cap, and what was kept. */
async function toldOf(
  whole: WholeOutput,
  chars = 10_000,
  images: number = limit.batchImages,
): Promise<{ output: ToolOutput; kept: Uint8Array[] }> {
  const kept: Uint8Array[] = [];
  const output = await tell(whole, {
    call: "c1",
    keep: async (bytes) => `blob-${kept.push(bytes)}`,
    grant: (wanted) => Math.min(wanted, chars),
    show: (wanted) => Math.min(wanted, images),
  });
  return { output, kept };
}

const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);

describe("what a body returns", () => {
  test("R51: lone surrogates, NUL and control characters are gone, at any depth; escaped text stays as it is", async () => {
    assert.equal(cleanText("a\ud83db\u0000c\u001b[0m\td\n"), "a\ufffdb\ufffdc\ufffd[0m\td\n");
    assert.equal(cleanText("\\ud800 \\u0000"), "\\ud800 \\u0000");
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ stringUnit: "binary" }), async (value) =>
        wellFormed((await toldOf(wholeOf(value))).output),
      ),
    );
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

  test("any value becomes content: what JSON cannot hold is told as text, nothing is nothing", async () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const told = async (value: unknown) => (await toldOf(wholeOf(value))).output;
    assert.deepEqual(await told(undefined), { content: [], isError: false });
    assert.equal(outputText(await told(cyclic)), "[object Object]");
    assert.equal(outputText(await told(10n)), "10");
    assert.deepEqual(await told({ content: [{ type: "text", text: "no" }], isError: true }), {
      content: [{ type: "text", text: "no" }],
      isError: true,
    });
    // Looks like content and is none: data.
    assert.equal((await told({ content: [{ type: "hologram" }] })).content[0]?.type, "data");
  });

  test("an AI SDK tool's files: bytes go beside the log, addresses and texts stay", async () => {
    const value: ToolResultOutput = {
      type: "content",
      value: [
        { type: "text", text: "see" },
        { type: "file", mediaType: "image/png", filename: "a.png", data: { type: "data", data: "aGk=" } },
        { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.com/a.png") } },
        { type: "file", mediaType: "text/plain", data: { type: "text", text: "inline" } },
      ],
    };
    const { output, kept } = await toldOf(wholeOfModel(value));
    assert.deepEqual(output.content, [
      { type: "text", text: "see" },
      { type: "file", mediaType: "image/png", filename: "a.png", blob: "blob-1" },
      { type: "file", mediaType: "image/png", url: "https://example.com/a.png" },
      { type: "text", text: "inline" },
    ]);
    assert.equal(new TextDecoder().decode(kept[0]), "hi");
    assert.equal((await toldOf(wholeOfModel({ type: "execution-denied" }))).output.code, "TOOL_DENIED");
  });
});

describe("R72: results in the megabytes", () => {
  const large: [string, string][] = [
    ["50 MB of text", "a line of text, as long as lines are\n".repeat(1_400_000)],
    ["one line of 12 MB", "x".repeat(12_000_000)],
  ];
  for (const [title, text] of large) {
    test(`${title}: head and tail within the cap, the whole beside the log, and its name in the result`, async () => {
      const { output, kept } = await toldOf(wholeOf(text), 60_000);
      assert.ok(charsOf(output) < 60_500);
      assert.match(outputText(output), /characters left out.*The whole of this output is kept as output-c1\.txt/s);
      assert.deepEqual(output.content.at(-1), {
        type: "file",
        mediaType: "text/plain",
        filename: "output-c1.txt",
        blob: "blob-1",
      });
      assert.equal(kept[0]?.byteLength, text.length);
    });
  }

  test("one cap over all parts, whatever they are; what is cut is kept once, together", async () => {
    const big = "x".repeat(1_000_000);
    const parts = [
      { type: "text", text: big },
      { type: "data", data: { big } },
      { type: "file", mediaType: "image/png", url: `https://example.com/${big}` },
    ];
    const { output, kept } = await toldOf(wholeOf({ content: parts }), 60_000);
    assert.ok(JSON.stringify(output).length < 61_000);
    assert.ok(outputText(output).startsWith("xxx"));
    assert.equal(kept.length, 1);
    assert.ok((kept[0]?.byteLength ?? 0) > 3_000_000);
  });

  test("a store that keeps nothing costs the rest of the output, not the result", async () => {
    const keep = () => Promise.reject(new Error("full"));
    const grant = (chars: number) => Math.min(chars, 100);
    const telling = { call: "c1", keep, grant, show: (images: number) => images };
    assert.match(outputText(await tell(wholeOf("x".repeat(1_000)), telling)), /900 of 1000 characters left out/);
    assert.match(outputText(await tell(wholeOf(png), telling)), /image\/png, 12 bytes: could not be kept/);
  });

  test("30 images, one of them too large: so many are shown, the others are named", async () => {
    const data = Buffer.from(png).toString("base64");
    const images = Array.from({ length: 30 }, () => ({
      type: "file",
      mediaType: "image/png",
      url: `data:image/png;base64,${data}`,
    }));
    const { output, kept } = await toldOf(wholeOf({ content: images }));
    const shown = output.content.filter((part) => part.type === "file");
    assert.deepEqual([shown.length, kept.length], [limit.batchImages, 30]);
    assert.match(outputText(output), /image\/png not shown: too many images; kept as blob-30/);
    assert.doesNotMatch(JSON.stringify(output), /base64/);
    const huge = new Uint8Array(limit.imageBytes + 1);
    huge.set(png);
    assert.match(outputText((await toldOf(wholeOf(huge))).output), /not shown: 3932161 bytes, at most 3932160/);
    const there = Array.from({ length: 3 }, (_, n) => ({ type: "file", mediaType: "image/png", blob: `b${n}` }));
    assert.deepEqual(
      (await toldOf(wholeOf({ content: there }), 100, 2)).output.content.map(({ type }) => type),
      ["file", "file", "text"],
    );
  });

  test("R51: bytes are told as what they are: text as text, a picture as one, all else by its size and name", async () => {
    const binary = Uint8Array.from({ length: 4_000 }, (_, n) => (n * 7_919) % 256);
    assert.equal(outputText((await toldOf(wholeOf(new TextEncoder().encode("plain ü")))).output), "plain ü");
    const [picture] = (await toldOf(wholeOf(png))).output.content;
    assert.deepEqual(picture, { type: "file", mediaType: "image/png", filename: "output-c1-1", blob: "blob-1" });
    const types = [binary, binary.buffer, new TextDecoder().decode(binary)].map(async (value) => {
      const { output, kept } = await toldOf(wholeOf(value));
      return [output.content[0]?.type === "file" && output.content[0].mediaType, kept.length];
    });
    for (const type of await Promise.all(types)) assert.deepEqual(type, ["application/octet-stream", 1]);
    const names = Array.from({ length: 99 }, (_, n) => `src/some/folder/file-${n}.ts`).join("\u0000");
    const colours = "\u001b[31mred\u001b[0m ".repeat(50);
    for (const text of [names, colours, "\u0000".repeat(9)])
      assert.equal((await toldOf(wholeOf(text))).output.content[0]?.type, "text", "odd, and a text all the same");
  });
});

describe("the results of one message together", () => {
  test("R72: ten large ones share what there is; what small ones leave is there for the others", () => {
    const even = new Allowance({ chars: 60_000, images: 0 }, 10);
    assert.deepEqual(
      Array.from({ length: 10 }, () => even.settle(60_000)),
      Array(10).fill(6_000),
    );
    const uneven = new Allowance({ chars: 10_000, images: 0 }, 3);
    assert.deepEqual([uneven.settle(10), uneven.settle(9_000), uneven.settle(9_000)], [10, 4_995, 4_995]);
    const unknown = new Allowance({ chars: 100_000, images: 0 });
    assert.deepEqual(
      [60_000, 60_000, 100, 60_000].map((wanted) => unknown.settle(wanted)),
      [50_000, 25_000, 100, 12_450],
    );
  });

  test("L6: the sum holds for any sizes in any order, and everyone may say a line", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 5_000 }), { minLength: 1, maxLength: 30 }),
        fc.nat({ max: 20_000 }),
        (sizes, chars) => {
          const allowance = new Allowance({ chars, images: 0 }, sizes.length);
          const granted = sizes.map((size) => allowance.settle(size));
          assert.ok(granted.reduce((sum, one) => sum + one, 0) <= chars + 200 * sizes.length);
          for (const [at, size] of sizes.entries()) assert.ok((granted[at] ?? 0) >= Math.min(size, 200));
        },
      ),
    );
  });

  test("a window that is full leaves nothing, one that is not leaves half", () => {
    assert.equal(charsForWindow(128_000, 88_000), 60_000);
    assert.equal(charsForWindow(128_000, 130_000), 0);
  });
});
