/**
 * Markdown as lines for a terminal. Pure: the same source and width give the same lines.
 *
 * What a model writes is foreign: nothing in it reaches the terminal as a control, and HTML is shown as it is written.
 */
import { Lexer, type Token, type Tokens } from "marked";
import { printable } from "../style.ts";
import { type Line, type Look, lineText, type Span, span, widthOf, wrapLine } from "./span.ts";

export function markdownLines(source: string, width: number): Line[] {
  return blockLines(tokensOf(source), Math.max(8, width));
}

/**
 * Cuts what has been streamed so far into blocks that no later word can change, and the rest. A list goes on over a blank
 * line, so that only what follows a block closes it.
 */
export function closedBlocks(source: string): { closed: string[]; rest: string } {
  const tokens = tokensOf(source);
  const last = tokens.findLastIndex(({ type }) => type !== "space");
  const closed = tokens.slice(0, Math.max(0, last));
  const length = closed.reduce((sum, { raw }) => sum + raw.length, 0);
  const whole = closed.filter(({ type }) => type !== "space").map(({ raw }) => raw);
  return { closed: whole, rest: source.slice(length) };
}

function tokensOf(source: string): Token[] {
  // Tabs first: what the lexer does to them would make the pieces differ from the source.
  return new Lexer({ gfm: true }).blockTokens(source, []) as Token[];
}

function blockLines(tokens: readonly Token[], width: number, between: "gap" | "tight" = "gap"): Line[] {
  const lines: Line[] = [];
  let isFirst = true;
  for (const token of tokens) {
    const block = linesOf(token, width);
    if (block.length === 0) continue;
    if (!isFirst && between === "gap") lines.push([]);
    lines.push(...block);
    isFirst = false;
  }
  return lines;
}

function linesOf(token: Token, width: number): Line[] {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      return wrapped(inline((token as Tokens.Heading).text, ["bold"]), width);
    case "code":
      return codeLines(token as Tokens.Code, width);
    case "blockquote":
      return blockLines((token as Tokens.Blockquote).tokens, width - 2).map((line) => [span("│ ", "dim"), ...line]);
    case "list":
      return listLines(token as Tokens.List, width);
    case "table":
      return tableLines(token as Tokens.Table, width);
    case "hr":
      return [[span("─".repeat(Math.min(width, 24)), "dim")]];
    case "paragraph":
    case "text":
      return wrapped(inline((token as Tokens.Paragraph).text, []), width);
    default:
      return plainLines(token.raw).flatMap((line) => wrapLine(line, width));
  }
}

function plainLines(text: string): Line[] {
  return shown(text)
    .replace(/\n+$/, "")
    .split("\n")
    .map((each) => [span(each)]);
}

function shown(text: string): string {
  return printable(text.replaceAll("\t", "    "));
}

function codeLines({ text, lang }: Tokens.Code, width: number): Line[] {
  const isDiff = lang === "diff" || lang === "patch";
  return shown(text)
    .split("\n")
    .flatMap((each) => wrapLine([span("  "), span(each, ...codeLook(each, isDiff))], width, 4));
}

function codeLook(text: string, isDiff: boolean): Look[] {
  if (isDiff && text.startsWith("+")) return ["green"];
  if (isDiff && text.startsWith("-")) return ["red"];
  return ["cyan"];
}

function listLines({ items, ordered, start, loose }: Tokens.List, width: number): Line[] {
  const first = typeof start === "number" ? start : 1;
  return items.flatMap((item, at) => {
    const sign = ordered ? `${first + at}. ` : "• ";
    const box = item.task ? (item.checked ? "[x] " : "[ ] ") : "";
    const hang = widthOf(sign);
    const body = blockLines(
      item.tokens.filter(({ type }) => type !== "checkbox"),
      Math.max(8, width - hang),
      loose ? "gap" : "tight",
    );
    const lines = (body.length > 0 ? body : [[]]).map(
      (line, row): Line =>
        row === 0 ? [span(sign), ...(box ? [span(box)] : []), ...line] : [span(" ".repeat(hang)), ...line],
    );
    return loose && at > 0 ? [[], ...lines] : lines;
  });
}

/** Columns where they fit; else each row as `head: cell` lines, which a screen reader follows as well. */
function tableLines({ header, rows }: Tokens.Table, width: number): Line[] {
  const heads = header.map(({ text }) => joined(inline(text, ["bold"])));
  const body = rows.map((row) => row.map(({ text }) => joined(inline(text, []))));
  const widths = heads.map((head, at) =>
    Math.max(...[head, ...body.map((row) => row[at] ?? [])].map((cell) => widthOf(lineText(cell)))),
  );
  const total = widths.reduce((sum, one) => sum + one, 0) + 3 * (widths.length - 1);
  if (total > width) {
    return body.flatMap((row, at) => [
      ...(at > 0 ? [[]] : []),
      ...row.flatMap((cell, column) => wrapLine([...(heads[column] ?? []), span(": "), ...cell], width, 2)),
    ]);
  }
  const rowLine = (cells: readonly Line[]): Line =>
    cells.flatMap((cell, at) => {
      const pad = at === cells.length - 1 ? 0 : (widths[at] ?? 0) - widthOf(lineText(cell));
      return [...(at > 0 ? [span(" │ ", "dim")] : []), ...cell, ...(pad > 0 ? [span(" ".repeat(pad))] : [])];
    });
  const rule: Line = [span(widths.map((one) => "─".repeat(one)).join("─┼─"), "dim")];
  return [rowLine(heads), rule, ...body.map(rowLine)];
}

function joined(lines: readonly Line[]): Line {
  return lines.flatMap((line, at) => (at === 0 ? line : [span(" "), ...line]));
}

function wrapped(lines: readonly Line[], width: number): Line[] {
  return lines.flatMap((line) => wrapLine(line, width));
}

/** A line for each that the source has: a person who breaks lines means it. */
function inline(text: string, look: readonly Look[]): Line[] {
  const lines: Span[][] = [[]];
  for (const piece of spansOf(Lexer.lexInline(text), look)) {
    for (const [at, each] of shown(piece.text).split("\n").entries()) {
      if (at > 0) lines.push([]);
      if (each !== "") lines.at(-1)?.push(piece.look ? { text: each, look: piece.look } : { text: each });
    }
  }
  return lines;
}

function spansOf(tokens: readonly Token[], look: readonly Look[]): Span[] {
  const leaf = (text: string, ...more: Look[]): Span[] => [span(text, ...look, ...more)];
  return tokens.flatMap((token) => {
    switch (token.type) {
      case "strong":
        return spansOf((token as Tokens.Strong).tokens, [...look, "bold"]);
      case "em":
        return spansOf((token as Tokens.Em).tokens, [...look, "italic"]);
      case "del":
        return spansOf((token as Tokens.Del).tokens, [...look, "strikethrough"]);
      case "codespan":
        return leaf((token as Tokens.Codespan).text, "cyan");
      case "br":
        return leaf("\n");
      case "link": {
        const { href, text, tokens: inner } = token as Tokens.Link;
        const words = spansOf(inner, [...look, "underline"]);
        return text === href || href === `mailto:${text}` ? words : [...words, span(` (${href})`, "dim")];
      }
      case "image":
        return leaf(`[picture ${(token as Tokens.Image).text}] (${(token as Tokens.Image).href})`);
      case "escape":
      case "text":
        return leaf((token as Tokens.Text).text);
      default:
        return leaf(token.raw);
    }
  });
}
