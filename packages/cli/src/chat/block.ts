/** What is printed once and stays in the scrollback: pieces that are laid out for the width of the moment they are printed. */
import { printable, type Tone } from "../style.ts";
import { markdownLines } from "./markdown.ts";
import type { Prose } from "./prose.ts";
import { cutLine, type Line, type Look, span, widthOf, wrapLine } from "./span.ts";

export type Block =
  /** A blank line, unless there is one. */
  | { type: "gap" }
  /** Wrapped; `hang` is the indent of further rows. */
  | { type: "line"; line: Line; hang?: number }
  /** One row. */
  | { type: "row"; line: Line }
  | { type: "markdown"; source: string }
  /** One row whose end stays readable. */
  | { type: "call"; line: Line; facts: string }
  /** What is left of words that were streamed. */
  | { type: "prose"; prose: Prose }
  /** As it was laid out already. */
  | { type: "rows"; rows: readonly Line[] };

export const gap: Block = { type: "gap" };

const looks: { [tone in Tone]: Look[] } = {
  plain: [],
  quiet: ["dim"],
  good: ["green"],
  bad: ["red"],
  warn: ["yellow"],
  strong: ["bold"],
};

export function toneSpan(tone: Tone, text: string) {
  return span(flat(text), ...looks[tone]);
}

/** Foreign words in one line. */
export function flat(text: string): string {
  return printable(text).replaceAll("\t", "  ").replaceAll("\n", " ");
}

export function told(tone: Tone, text: string, hang = 2): Block {
  return { type: "line", line: [toneSpan(tone, text)], hang };
}

export function row(tone: Tone, text: string): Block {
  return { type: "row", line: [toneSpan(tone, text)] };
}

/** Lays blocks out one after another; knows whether the last row was blank. */
export class Printer {
  #isBlank = true;

  print(blocks: readonly Block[], width: number): Line[] {
    return blocks.flatMap((block) => {
      if (block.type === "gap" && this.#isBlank) return [];
      const rows = rowsOf(block, width);
      const last = rows.at(-1);
      if (last) this.#isBlank = last.length === 0;
      return rows;
    });
  }
}

function rowsOf(block: Block, width: number): readonly Line[] {
  switch (block.type) {
    case "gap":
      return [[]];
    case "line":
      return wrapLine(block.line, width, block.hang);
    case "row":
      return [cutLine(block.line, width)];
    case "call":
      return [[...cutLine(block.line, Math.max(8, width - widthOf(block.facts))), span(block.facts, "dim")]];
    case "markdown":
      return markdownLines(block.source, width);
    case "prose":
      return block.prose.print(Number.POSITIVE_INFINITY, width);
    case "rows":
      return block.rows;
  }
}
