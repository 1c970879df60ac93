/**
 * An answer while it is streamed: what of it has been printed for good, and what may still change or be withdrawn.
 *
 * Invariant: each word is printed once, in order, whatever the width does in between; where a row cannot be found again
 * after the width has changed, a part of a row is printed twice rather than lost.
 */
import { closedBlocks, markdownLines } from "./markdown.ts";
import { type Line, lineText } from "./span.ts";

/** More than a screen holds. */
const rememberedBlocks = 200;

export class Prose {
  /** Everything that came. */
  source = "";
  readonly #closed: string[] = [];
  #rest = "";
  #isCut = true;
  /** Whole blocks that are printed, and signs of the next one. */
  #printedBlocks = 0;
  #printedSigns = 0;
  readonly #layouts = new Map<string, { width: number; lines: Line[] }>();

  add(text: string): void {
    this.source += text;
    this.#rest += text;
    this.#isCut = false;
  }

  get isPrinted(): boolean {
    return this.#printedBlocks > 0 || this.#printedSigns > 0;
  }

  /** Rows that are not printed yet. */
  lines(width: number): Line[] {
    return this.#blocks(width).flatMap(({ lines }) => lines);
  }

  /** Takes the first `count` rows off: they are printed now. */
  print(count: number, width: number): Line[] {
    const rows: Line[] = [];
    for (const { lines, isClosed } of this.#blocks(width)) {
      const left = count - rows.length;
      if (left <= 0) break;
      const taken = lines.slice(0, left);
      rows.push(...taken);
      if (isClosed && taken.length === lines.length) {
        this.#printedBlocks += 1;
        this.#printedSigns = 0;
      } else this.#printedSigns += taken.reduce((sum, line) => sum + signs(line), 0);
    }
    return rows;
  }

  /** A block is laid out anew only when it has changed: keys are pressed more often than words come. */
  #laidOut(source: string, width: number): Line[] {
    const known = this.#layouts.get(source);
    if (known && known.width === width) return known.lines;
    const lines = markdownLines(source, width);
    if (this.#layouts.size > rememberedBlocks) this.#layouts.clear();
    this.#layouts.set(source, { width, lines });
    return lines;
  }

  #blocks(width: number): { lines: Line[]; isClosed: boolean }[] {
    if (!this.#isCut) {
      const { closed, rest } = closedBlocks(this.#rest);
      this.#closed.push(...closed);
      this.#rest = rest;
      this.#isCut = true;
    }
    const open = this.#closed.slice(this.#printedBlocks).map((source) => ({ source, isClosed: true }));
    if (this.#rest.trim() !== "") open.push({ source: this.#rest, isClosed: false });
    return open.map(({ source, isClosed }, at) => {
      const lines = this.#laidOut(source, width);
      if (at === 0 && this.#printedSigns > 0)
        return { lines: lines.slice(rowsWith(lines, this.#printedSigns)), isClosed };
      const isFirst = at === 0 && this.#printedBlocks === 0;
      return { lines: isFirst || lines.length === 0 ? lines : [[], ...lines], isClosed };
    });
  }
}

function signs(line: Line): number {
  return lineText(line).replaceAll(" ", "").length;
}

/** How many rows hold no more than so many signs. */
function rowsWith(lines: readonly Line[], printed: number): number {
  let sum = 0;
  for (const [at, line] of lines.entries()) {
    sum += signs(line);
    if (sum > printed) return at;
  }
  return lines.length;
}
