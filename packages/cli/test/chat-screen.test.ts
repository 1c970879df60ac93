/** Drawing on a terminal: what is printed stays in its history once, live rows are drawn in place, nothing is cleared. */
import assert from "node:assert/strict";
import { test } from "node:test";
import headless from "@xterm/headless";
import fc from "fast-check";
import { markdownLines } from "../src/chat/markdown.ts";
import { Screen } from "../src/chat/screen.ts";
import { type Line, lineText, painted, span, widthOf, wrapLine } from "../src/chat/span.ts";

async function drawn(
  steps: readonly { printed: number; live: string[]; row: number }[],
  sizes: (at: number) => { cols: number; rows: number },
): Promise<string[]> {
  const first = sizes(0);
  const terminal = new headless.Terminal({ ...first, scrollback: 10_000, allowProposedApi: true });
  let sent = "";
  const screen = new Screen((text) => (sent += text), false, first.cols);
  let count = 0;
  for (const [at, { printed, live, row }] of steps.entries()) {
    const size = sizes(at);
    if (size.cols !== terminal.cols || size.rows !== terminal.rows) terminal.resize(size.cols, size.rows);
    const lines = Array.from({ length: printed }, (_, nth): Line => [span(`printed ${count + nth + 1}`)]);
    count += printed;
    const cells = live.map((text): Line => [span(text.slice(0, size.cols))]);
    screen.draw(
      { printed: lines, live: cells, cursor: { row: row % cells.length, column: 0 }, asks: undefined, hint: undefined },
      size.cols,
    );
    await new Promise<void>((resolve) =>
      terminal.write(sent.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n"), resolve),
    );
    sent = "";
  }
  const { active } = terminal.buffer;
  return Array.from({ length: active.length }, (_, at) => active.getLine(at)?.translateToString(true) ?? "");
}

const step = fc.record({
  printed: fc.nat(30),
  live: fc.array(fc.stringMatching(/^live [a-z]{0,60}$/), { minLength: 1, maxLength: 8 }),
  row: fc.nat(20),
});

test("every printed row is in the history once and in order, and of the live rows the last are there", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const rows = await drawn(steps, () => ({ cols: 70, rows: 12 }));
      const total = steps.reduce((sum, { printed }) => sum + printed, 0);
      const printed = rows.filter((row) => row.startsWith("printed"));
      assert.deepEqual(
        printed,
        Array.from({ length: total }, (_, at) => `printed ${at + 1}`),
      );
      const live = rows.filter((row) => row.startsWith("live"));
      assert.deepEqual(live, steps.at(-1)?.live);
    }),
    { numRuns: 60 },
  );
});

test("a screen that changes its width loses no printed row and keeps one set of live rows", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 2, maxLength: 8 }),
      fc.array(fc.integer({ min: 20, max: 90 }), { minLength: 8, maxLength: 8 }),
      async (steps, widths) => {
        const rows = await drawn(steps, (at) => ({ cols: widths[at] ?? 70, rows: 12 }));
        const total = steps.reduce((sum, { printed }) => sum + printed, 0);
        const printed = rows.filter((row) => row.startsWith("printed"));
        assert.deepEqual(
          printed,
          Array.from({ length: total }, (_, at) => `printed ${at + 1}`),
        );
      },
    ),
    { numRuns: 60 },
  );
});

test("clearing takes the live rows away and nothing else", async () => {
  const terminal = new headless.Terminal({ cols: 40, rows: 10, allowProposedApi: true });
  let sent = "before\r\n";
  const screen = new Screen((text) => (sent += text), true, 40);
  const live: Line[] = [[span("one", "bold")], [span("two")], [span("three")]];
  screen.draw({ printed: [[span("kept")]], live, cursor: { row: 1, column: 2 }, asks: undefined, hint: undefined }, 40);
  screen.clear(40);
  sent += "after";
  await new Promise<void>((resolve) => terminal.write(sent, resolve));
  const rows = Array.from({ length: 10 }, (_, at) => terminal.buffer.active.getLine(at)?.translateToString(true));
  assert.deepEqual(rows.join("\n").trimEnd(), "before\nkept\nafter");
});

test("the same frame twice writes nothing", () => {
  const writes: string[] = [];
  const screen = new Screen((text) => writes.push(text), true, 40);
  const frame = { printed: [], live: [[span("one")]], cursor: { row: 0, column: 0 }, asks: undefined, hint: undefined };
  screen.draw(frame, 40);
  screen.draw(frame, 40);
  assert.equal(writes.length, 1);
});

test("wrapping loses no sign and keeps to the width, with wide signs and looks", () => {
  const piece = fc.oneof(fc.stringMatching(/^[a-z ]{0,20}$/), fc.constantFrom("日本語", "👩‍💻", "e\u0301", "—"));
  const line = fc.array(fc.tuple(piece, fc.boolean()), { maxLength: 10 });
  fc.assert(
    fc.property(line, fc.integer({ min: 4, max: 60 }), fc.nat(6), (pieces, width, hang) => {
      const spans = pieces.map(([text, bold]) => (bold ? span(text, "bold") : span(text)));
      const rows = wrapLine(spans, width, hang);
      for (const row of rows) assert.ok(widthOf(lineText(row)) <= width, `${lineText(row)} on ${width}`);
      const bare = (text: string) => text.replaceAll(" ", "");
      assert.equal(bare(rows.map(lineText).join("")), bare(lineText(spans)));
      assert.equal(painted(rows.flat(), false), rows.map(lineText).join(""));
    }),
  );
});

test("Markdown: what it means, at a width", () => {
  const text = (source: string, width = 40) => markdownLines(source, width).map(lineText).join("\n");
  assert.equal(
    text("# Head\n\nA **bold** `code` [link](http://x.y) <b>tag</b>"),
    "Head\n\nA bold code link (http://x.y) <b>tag</b>",
  );
  assert.equal(text("- one\n- two\n  1. three\n\n> said\n> so"), "• one\n• two\n  1. three\n\n│ said\n│ so");
  assert.equal(text("- [x] done\n- [ ] not"), "• [x] done\n• [ ] not");
  assert.equal(
    text("| a | long head |\n|---|---|\n| 日本 | x |"),
    "a    │ long head\n─────┼──────────\n日本 │ x".replace("─────┼──────────", "─────┼──────────"),
  );
  assert.equal(
    text("| a | b |\n|---|---|\n| one two three | four five six seven |", 20),
    "a: one two three\nb: four five six\n  seven",
  );
  assert.equal(text("```diff\n+ in\n- out\n```\n\n    indented"), "  + in\n  - out\n\n  indented");
  assert.equal(text("one\ntwo  \nthree"), "one\ntwo\nthree");
  assert.equal(text(""), "");
});
