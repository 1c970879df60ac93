/**
 * The text that a person writes: editing, pastes, history. Pure.
 *
 * A large paste is one sign in the text, shown as a placeholder and sent whole: it cannot be damaged by editing around it.
 */
import { counted, printable } from "../style.ts";
import { graphemes, type Line, span, widthOf } from "./span.ts";

/** Signs of a private plane stand for pastes; typed ones are dropped. */
const pasteBase = 0xf0000;
const pasteSign = /[\u{f0000}-\u{f0fff}]/gu;
/** Larger pastes are folded. */
const pasteLines = 6;
const pasteChars = 800;

export class Composer {
  #text = "";
  /** UTF-16 units. */
  #cursor = 0;
  #pastes: string[] = [];
  #cut = "";
  #history: readonly string[] = [];
  /** Where in the history it stands; undefined: in the draft. */
  #place: number | undefined;
  #draft = "";

  constructor(history: readonly string[] = []) {
    this.#history = history;
  }

  /** As it stands, with signs for pastes. */
  get text(): string {
    return this.#text;
  }

  get cursor(): number {
    return this.#cursor;
  }

  get isEmpty(): boolean {
    return this.#text === "";
  }

  /** With every paste in full. */
  get whole(): string {
    return this.#text.replace(pasteSign, (sign) => this.#pastes[(sign.codePointAt(0) ?? 0) - pasteBase] ?? "");
  }

  set(text: string): void {
    this.#text = text;
    this.#cursor = text.length;
    this.#pastes = [];
    this.#place = undefined;
  }

  /** Takes the whole text, remembers it, and starts anew. */
  take(): string {
    const text = this.whole;
    if (text.trim() !== "" && this.#history.at(-1) !== text) this.#history = [...this.#history, text];
    this.set("");
    return text;
  }

  recall(history: readonly string[]): void {
    this.#history = [...history, ...this.#history];
  }

  insert(text: string): void {
    const clean = printable(text.replace(/\r\n?/g, "\n").replaceAll("\t", "    ")).replace(pasteSign, "");
    this.#replace(this.#cursor, this.#cursor, clean);
  }

  paste(text: string): void {
    const clean = printable(text.replace(/\r\n?/g, "\n")).replace(pasteSign, "");
    if (clean.split("\n").length <= pasteLines && clean.length <= pasteChars) return this.insert(clean);
    this.#pastes.push(clean);
    this.#replace(this.#cursor, this.#cursor, String.fromCodePoint(pasteBase + this.#pastes.length - 1));
  }

  /** Replaces what stands between two places: a completion. */
  complete(from: number, text: string): void {
    this.#replace(from, this.#cursor, text);
  }

  /** `\` before Enter asks for a new line. Whether it did. */
  breakAtBackslash(): boolean {
    if (this.#text[this.#cursor - 1] !== "\\") return false;
    this.#replace(this.#cursor - 1, this.#cursor, "\n");
    return true;
  }

  back(): void {
    this.#replace(this.#before(), this.#cursor, "");
  }

  delete(): void {
    this.#replace(this.#cursor, this.#after(), "");
  }

  left(): void {
    this.#cursor = this.#before();
  }

  right(): void {
    this.#cursor = this.#after();
  }

  wordLeft(): void {
    this.#cursor = this.#wordStart();
  }

  wordRight(): void {
    const [skipped = ""] = /^\s*\S*/.exec(this.#text.slice(this.#cursor)) ?? [];
    this.#cursor += skipped.length;
  }

  home(): void {
    this.#cursor = this.#lineStart();
  }

  end(): void {
    this.#cursor = this.#lineEnd();
  }

  cutWord(): void {
    this.#cutFrom(this.#wordStart(), this.#cursor);
  }

  cutToStart(): void {
    this.#cutFrom(this.#lineStart(), this.#cursor);
  }

  cutToEnd(): void {
    this.#cutFrom(this.#cursor, this.#lineEnd());
  }

  yank(): void {
    this.#replace(this.#cursor, this.#cursor, this.#cut);
  }

  /** A line up, or back in the history from the first one. Whether there was anywhere to go. */
  up(): boolean {
    const start = this.#lineStart();
    if (start > 0) {
      const above = this.#text.lastIndexOf("\n", start - 2) + 1;
      this.#cursor = Math.min(above + this.#cursor - start, start - 1);
      return true;
    }
    const place = (this.#place ?? this.#history.length) - 1;
    if (place < 0) return false;
    if (this.#place === undefined) this.#draft = this.#text;
    this.#show(place);
    return true;
  }

  down(): void {
    const end = this.#lineEnd();
    if (end < this.#text.length) {
      const column = this.#cursor - this.#lineStart();
      const next = this.#text.indexOf("\n", end + 1);
      this.#cursor = Math.min(end + 1 + column, next < 0 ? this.#text.length : next);
      return;
    }
    if (this.#place === undefined) return;
    if (this.#place + 1 < this.#history.length) return this.#show(this.#place + 1);
    this.set(this.#draft);
  }

  /** Rows for the screen, and where the cursor stands in them. */
  layout(width: number, most: number, label = "› "): { rows: Line[]; cursor: { row: number; column: number } } {
    const inner = Math.max(4, width - widthOf(label) - 1);
    const rows: { text: string; width: number }[] = [{ text: "", width: 0 }];
    let cursor = { row: 0, column: 0 };
    let at = 0;
    const here = () => ({ row: rows.length - 1, column: rows.at(-1)?.width ?? 0 });
    for (const sign of graphemes(this.#text)) {
      if (at === this.#cursor) cursor = here();
      at += sign.length;
      if (sign === "\n") rows.push({ text: "", width: 0 });
      else for (const piece of graphemes(this.#shown(sign))) append(rows, piece, inner);
    }
    if (at === this.#cursor) cursor = here();
    const first = Math.min(Math.max(0, cursor.row - most + 1), Math.max(0, rows.length - most));
    const indent = " ".repeat(widthOf(label));
    const shown = rows
      .slice(first, first + most)
      .map(({ text }, index): Line => [span(first + index === 0 ? label : indent, "bold"), span(text)]);
    return { rows: shown, cursor: { row: cursor.row - first, column: cursor.column + widthOf(label) } };
  }

  #shown(sign: string): string {
    const paste = this.#pastes[(sign.codePointAt(0) ?? 0) - pasteBase];
    return paste === undefined ? sign : `[pasted: ${counted(paste.split("\n").length, "line")}]`;
  }

  #show(place: number): void {
    this.set(this.#history[place] ?? "");
    this.#place = place;
  }

  #replace(from: number, to: number, text: string): void {
    this.#text = this.#text.slice(0, from) + text + this.#text.slice(to);
    this.#cursor = from + text.length;
  }

  #cutFrom(from: number, to: number): void {
    if (from === to) return;
    this.#cut = this.#text.slice(from, to);
    this.#replace(from, to, "");
  }

  #before(): number {
    const line = this.#text.slice(Math.max(0, this.#lineStart() - 1), this.#cursor);
    return this.#cursor - (graphemes(line).at(-1)?.length ?? 0);
  }

  #after(): number {
    const line = this.#text.slice(this.#cursor, this.#lineEnd() + 1);
    return this.#cursor + (graphemes(line)[0]?.length ?? 0);
  }

  #wordStart(): number {
    const [word = ""] = /\S*\s*$/.exec(this.#text.slice(0, this.#cursor)) ?? [];
    return this.#cursor - word.length;
  }

  #lineStart(): number {
    return this.#text.lastIndexOf("\n", this.#cursor - 1) + 1;
  }

  #lineEnd(): number {
    const end = this.#text.indexOf("\n", this.#cursor);
    return end < 0 ? this.#text.length : end;
  }
}

function append(rows: { text: string; width: number }[], piece: string, inner: number): void {
  const width = widthOf(piece);
  let row = rows.at(-1);
  if (!row || row.width + width > inner) {
    row = { text: "", width: 0 };
    rows.push(row);
  }
  row.text += piece;
  row.width += width;
}
