/**
 * Lines as the chat draws them: pieces of text, each with its look. Pure; colour is a matter of painting them.
 *
 * Widths are terminal cells: a wide character takes two, an emoji of many code points counts as the one sign that it is.
 */
import { styleText } from "node:util";
import stringWidth from "string-width";

export type Look = "bold" | "dim" | "italic" | "underline" | "strikethrough" | "red" | "green" | "yellow" | "cyan";

export interface Span {
  text: string;
  look?: readonly Look[];
}

/** No newline, no tab and no control character in it. */
export type Line = readonly Span[];

export function span(text: string, ...look: Look[]): Span {
  return look.length === 0 ? { text } : { text, look };
}

export function lineText(line: Line): string {
  return line.map(({ text }) => text).join("");
}

/** With escape sequences where colour is wanted. */
export function painted(line: Line, colour: boolean): string {
  if (!colour) return lineText(line);
  return line
    .map(({ text, look }) => (look && text !== "" ? styleText([...look], text, { validateStream: false }) : text))
    .join("");
}

const ascii = /^[\x20-\x7e]*$/;

export function widthOf(text: string): number {
  return ascii.test(text) ? text.length : stringWidth(text);
}

const segmenter = new Intl.Segmenter();

/** What a person takes for one character, each. */
export function graphemes(text: string): string[] {
  if (ascii.test(text)) return text.split("");
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

interface Cell {
  text: string;
  width: number;
  look: readonly Look[] | undefined;
}

function cellsOf(line: Line): Cell[] {
  return line.flatMap(({ text, look }) => graphemes(text).map((sign) => ({ text: sign, width: widthOf(sign), look })));
}

function lineOf(cells: readonly Cell[]): Line {
  const spans: { text: string; look?: readonly Look[] }[] = [];
  let last: readonly Look[] | undefined;
  for (const { text, look } of cells) {
    const open = spans.at(-1);
    if (open && last === look) open.text += text;
    else spans.push(look ? { text, look } : { text });
    last = look;
  }
  return spans;
}

/** Broken between words where a terminal would break inside of them; every row fits. `hang`: cells before each further row. */
export function wrapLine(line: Line, width: number, hang = 0): Line[] {
  const whole = Math.max(2, width);
  if (widthOf(lineText(line)) <= whole) return [line];
  const indent = Math.min(hang, Math.floor(whole / 2));
  const cells = cellsOf(line);
  const rows: Line[] = [];
  let start = 0;
  let used = 0;
  let space = -1;
  const room = () => (rows.length === 0 ? whole : whole - indent);
  const end = (to: number, next: number) => {
    const row = lineOf(cells.slice(start, to));
    rows.push(rows.length === 0 || indent === 0 ? row : [span(" ".repeat(indent)), ...row]);
    start = next;
    space = -1;
  };
  for (let at = 0; at < cells.length; at += 1) {
    const cell = cells[at];
    if (!cell) continue;
    while (used + cell.width > room() && at > start) {
      if (cell.text === " ") end(at, at + 1);
      else if (space > start) end(space, space + 1);
      else {
        const to = fitting(cells, start, at, room());
        end(to, to);
      }
      used = cells.slice(start, at).reduce((sum, { width: one }) => sum + one, 0);
    }
    if (start > at) continue;
    // Spaces at the start are an indent, and no place to break.
    if (cell.text === " " && cells.slice(start, at).some(({ text }) => text !== " ")) space = at;
    used += cell.width;
  }
  if (start < cells.length || rows.length === 0) end(cells.length, cells.length);
  return rows;
}

/** Where a row ends that begins at `start`: what fits into `room`, at least one cell. */
function fitting(cells: readonly Cell[], start: number, end: number, room: number): number {
  let used = 0;
  for (let at = start; at < end; at += 1) {
    used += cells[at]?.width ?? 0;
    if (used > room) return Math.max(at, start + 1);
  }
  return end;
}

/** One row; `…` stands for what is missing. */
export function cutLine(line: Line, width: number): Line {
  const whole = Math.max(1, width);
  if (widthOf(lineText(line)) <= whole) return line;
  const kept: Cell[] = [];
  let used = 0;
  for (const cell of cellsOf(line)) {
    if (used + cell.width > whole - 1) break;
    kept.push(cell);
    used += cell.width;
  }
  return [...lineOf(kept), span("…")];
}
