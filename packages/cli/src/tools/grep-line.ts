/** What a search finds, whichever engine has searched. */
import { head, visibleLine } from "./text.ts";

export interface GrepLine {
  /** Relative to the folder that was searched. */
  path: string;
  number: number;
  text: string;
  /** A hit, or a line around one. */
  match: boolean;
}

export interface GrepQuery {
  /** Absolute, real. */
  folder: string;
  /** Only this file of the folder. */
  file?: string;
  pattern: string;
  glob?: string;
  ignoreCase: boolean;
  context: number;
  /** Matching lines. */
  limit: number;
  /** The place is named although it is left out by default. */
  unfiltered: boolean;
  signal: AbortSignal;
}

export interface GrepFound {
  lines: GrepLine[];
  /** The limit was reached: there may be more. */
  more: boolean;
  /** Why the answer may lack something else. */
  note?: string;
}

/** Files above this are data; a line of theirs is seldom what is looked for. */
export const searchedFileBytes = 32_000_000;
/** A search ends by then, whatever the pattern or the size of the tree. */
export const searchMs = 30_000;

/** The part of a line that is kept: a minified file is one line of a megabyte. */
const excerptChars = 400;
const beforeMatch = 100;
const shownChars = 40_000;

/** `text` around `column`, at most {@link excerptChars}. */
export function excerpt(text: string, column: number): string {
  const line = text.replace(/\r?\n?$/, "");
  if (line.length <= excerptChars) return visibleLine(line);
  const from = column > excerptChars - beforeMatch ? column - beforeMatch : 0;
  const part = head(line.slice(from), excerptChars);
  return visibleLine(`${from > 0 ? "…" : ""}${part}${from + part.length < line.length ? "…" : ""}`);
}

/** `path:12: text` for hits, `path-11- text` around them, `--` between groups that are apart. */
export function grepText(found: GrepFound, prefix: string, context: number): string {
  const out: string[] = [];
  let chars = 0;
  let previous: GrepLine | undefined;
  const notes: string[] = [];
  for (const line of found.lines) {
    const apart = previous !== undefined && (previous.path !== line.path || previous.number + 1 !== line.number);
    const mark = line.match ? ":" : "-";
    const text = `${visibleLine(prefix + line.path)}${mark}${line.number}${mark} ${line.text}`;
    chars += text.length + 1;
    if (chars > shownChars) {
      notes.push("the rest is cut; narrow the pattern, path or glob");
      break;
    }
    if (apart && context > 0) out.push("--");
    out.push(text);
    previous = line;
  }
  if (found.more) notes.push("there are more; raise limit or narrow the pattern, path or glob");
  if (found.note !== undefined) notes.push(found.note);
  if (notes.length > 0) out.push(`[${notes.join("; ")}]`);
  return out.join("\n");
}

/** Collects lines up to the limit of hits, and the context after the last one. */
export class GrepCollector {
  readonly lines: GrepLine[] = [];
  #hits = 0;
  more = false;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False once the limit is passed: the search may stop. */
  add(line: GrepLine): boolean {
    if (line.match && this.#hits >= this.#limit) this.more = true;
    if (this.more) return false;
    if (line.match) this.#hits += 1;
    this.lines.push(line);
    return true;
  }
}
