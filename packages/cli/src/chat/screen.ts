/**
 * Draws frames on a terminal: printed rows flow into its scrollback, the live rows below them are drawn again in place.
 *
 * Only the normal screen, and only sequences that every terminal knows. Rows are erased one by one: tmux pushes a screen
 * that is erased at once into its history, and that would keep every state of the live rows. What is not known to be ours
 * is never erased.
 */
import type { Frame } from "./frame.ts";
import { type Line, lineText, painted, widthOf } from "./span.ts";

const esc = "\u001b[";
/** Terminals that know it show the frame at once; the others pass over it. */
const syncStart = `${esc}?2026h`;
const syncEnd = `${esc}?2026l`;
const eraseRight = `${esc}K`;

/** What frames are drawn on. */
export interface Canvas {
  draw(frame: Frame, columns: number): void;
  /** Takes away what may still change. */
  clear(columns: number): void;
}

export class Screen implements Canvas {
  readonly #write: (text: string) => void;
  readonly #colour: boolean;
  #live: Line[] = [];
  #cursor = { row: 0, column: 0 };
  #columns: number;
  #last = "";

  constructor(write: (text: string) => void, colour: boolean, columns: number) {
    this.#write = write;
    this.#colour = colour;
    this.#columns = columns;
  }

  draw({ printed, live, cursor }: Frame, columns: number): void {
    const paint = (line: Line) => `${painted(line, this.#colour)}${eraseRight}`;
    const key = JSON.stringify([live.map(paint), cursor]);
    if (printed.length === 0 && key === this.#last && columns === this.#columns) return;
    const old = this.#rowsAt(columns);
    const rows = [...printed, ...live].map(paint);
    const surplus = Math.max(0, old.total - rows.length);
    const body = [...rows, ...Array.from({ length: surplus }, () => eraseRight)].join("\r\n");
    const back = surplus + live.length - 1 - cursor.row;
    this.#write(`${syncStart}${up(old.above)}\r${body}${up(back)}\r${right(cursor.column)}${syncEnd}`);
    this.#live = live;
    this.#cursor = cursor;
    this.#columns = columns;
    this.#last = key;
  }

  /** Takes the live rows away; the cursor stands at the start of the row below what is printed. */
  clear(columns: number): void {
    if (this.#live.length === 0) return;
    const { total, above } = this.#rowsAt(columns);
    const rows = Array.from({ length: total }, () => eraseRight).join("\r\n");
    this.#write(`${up(above)}\r${rows}${up(total - 1)}\r`);
    this.forget();
  }

  /** Somebody else has written: what was drawn stays where it is. */
  forget(): void {
    this.#live = [];
    this.#cursor = { row: 0, column: 0 };
    this.#last = "";
  }

  /** How many rows the live ones take now, and how many are above the cursor: a narrower screen has wrapped them. */
  #rowsAt(columns: number): { total: number; above: number } {
    if (this.#live.length === 0) return { total: 0, above: 0 };
    if (columns >= this.#columns) return { total: this.#live.length, above: this.#cursor.row };
    const rowsOf = (line: Line) => Math.max(1, Math.ceil(widthOf(lineText(line)) / columns));
    const sum = (lines: readonly Line[]) => lines.reduce((rows, line) => rows + rowsOf(line), 0);
    const above = sum(this.#live.slice(0, this.#cursor.row)) + Math.floor(this.#cursor.column / columns);
    return { total: sum(this.#live), above };
  }
}

function up(rows: number): string {
  return rows > 0 ? `${esc}${rows}A` : "";
}

function right(columns: number): string {
  return columns > 0 ? `${esc}${columns}C` : "";
}
