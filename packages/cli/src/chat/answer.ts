/**
 * What one attempt has let out so far, and how it stands on the screen until it is committed or withdrawn.
 *
 * Words stay in the live region, where they can be taken back; what no longer fits there is printed, and then only a line
 * that says so can take it back.
 */
import type { LiveItem, MessagePart } from "@pawl/core";
import { counted, line, ticking } from "../style.ts";
import { type Block, row, toneSpan } from "./block.ts";
import { Prose } from "./prose.ts";
import type { Line } from "./span.ts";

type Kind = MessagePart["type"];

interface Piece {
  id: string;
  kind: Kind;
  tool?: string;
  prose: Prose;
  since: number;
  endedAt?: number;
  /** Of what is no prose: its line is printed. */
  isPrinted: boolean;
}

/** Rows of a thought that are shown while it is watched. */
const thoughtRows = 6;
/** Words of what is withdrawn, so that one knows what it was. */
const quoteWidth = 60;

export class Answer {
  readonly attempt: string;
  readonly #pieces: Piece[] = [];

  constructor(attempt: string) {
    this.attempt = attempt;
  }

  hear(item: Extract<LiveItem, { type: "part.started" | "part.delta" | "part.ended" }>, now: number): void {
    if (item.type === "part.started") this.#begin(item.part, item.kind, now, item.tool);
    else if (item.type === "part.delta")
      (this.#find(item.part) ?? this.#begin(item.part, item.kind, now)).prose.add(item.text);
    else {
      const piece = this.#find(item.part);
      if (piece) piece.endedAt = now;
    }
  }

  /** The tool whose call is being written. */
  get writes(): string | undefined {
    const last = this.#pieces.at(-1);
    return last?.kind === "tool-call" && last.endedAt === undefined ? last.tool : undefined;
  }

  get isThinking(): boolean {
    const last = this.#pieces.at(-1);
    return last?.kind === "reasoning" && last.endedAt === undefined;
  }

  /** Words of it stand in the scrollback. */
  get isPrinted(): boolean {
    return this.#pieces.some(({ kind, prose }) => kind === "text" && prose.isPrinted);
  }

  get text(): string {
    return this.#pieces.flatMap(({ kind, prose }) => (kind === "text" ? [prose.source] : [])).join("");
  }

  get thought(): string {
    return this.#pieces.flatMap(({ kind, prose }) => (kind === "reasoning" ? [prose.source] : [])).join("\n");
  }

  /** What was said, in a few words. */
  get quote(): string {
    const words = this.text.trim();
    return `“${line(words.replace(/\s+/g, " "), quoteWidth)}” (${counted(words.split(/\s+/).length, "word")})`;
  }

  lines(width: number, now: number, watchesThoughts: boolean): Line[] {
    const rows: Line[] = [];
    for (const piece of this.#pieces) {
      const add = this.#rowsOf(piece, width, now, watchesThoughts);
      if (add.length > 0 && rows.length > 0 && add[0]?.length !== 0) rows.push([]);
      rows.push(...add);
    }
    return rows;
  }

  /** Prints the oldest `count` rows for good. */
  print(count: number, width: number, now: number): Block[] {
    const rows: Line[] = [];
    for (const piece of this.#pieces) {
      const left = count - rows.length;
      if (left <= 0) break;
      if (piece.kind === "text") {
        const taken = piece.prose.print(left, width);
        if (taken.length > 0 && rows.length > 0) rows.push([]);
        rows.push(...taken);
      } else if (!piece.isPrinted && piece.kind === "reasoning" && piece.endedAt !== undefined) {
        rows.push(thoughtLine(piece, now));
        piece.isPrinted = true;
      }
    }
    return rows.length > 0 ? [{ type: "rows", rows }] : [];
  }

  /** Everything that is not printed yet, now that it stands. `parts`: the message as it was committed. */
  rest(parts: readonly MessagePart[], now: number): Block[] {
    const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    const blocks: Block[] = [];
    const heard = text === this.text;
    for (const piece of this.#pieces) {
      if (piece.kind === "reasoning" && !piece.isPrinted) blocks.push({ type: "row", line: thoughtLine(piece, now) });
      if (piece.kind === "text" && heard) blocks.push(...this.#restOf(piece.prose));
    }
    // Nothing was heard of it: another process drives, or this one came late.
    if (!heard && text.trim() !== "") blocks.push({ type: "markdown", source: text });
    return blocks.flatMap((block, at) => (at === 0 ? [block] : [{ type: "gap" as const }, block]));
  }

  /** What stays readable of an answer that broke off for good. */
  remains(now: number): Block[] {
    return this.rest([{ type: "text", id: "", text: this.text }], now);
  }

  #restOf(prose: Prose): Block[] {
    if (prose.source.trim() === "") return [];
    return [{ type: "prose", prose }];
  }

  #rowsOf(piece: Piece, width: number, now: number, watchesThoughts: boolean): Line[] {
    if (piece.kind === "text") return piece.prose.lines(width);
    if (piece.kind !== "reasoning" || piece.isPrinted) return [];
    const head = [thoughtLine(piece, now)];
    if (!watchesThoughts) return head;
    const thought = piece.prose.lines(Math.max(8, width - 2)).slice(-thoughtRows);
    return [
      ...head,
      ...thought.map((each): Line => [toneSpan("quiet", "│ "), ...each.map(({ text }) => toneSpan("quiet", text))]),
    ];
  }

  #begin(id: string, kind: Kind, now: number, tool?: string): Piece {
    const piece: Piece = {
      id,
      kind,
      prose: new Prose(),
      since: now,
      isPrinted: false,
      ...(tool === undefined ? {} : { tool }),
    };
    this.#pieces.push(piece);
    return piece;
  }

  #find(id: string): Piece | undefined {
    return this.#pieces.findLast((piece) => piece.id === id);
  }
}

function thoughtLine({ since, endedAt, prose }: Piece, now: number): Line {
  const lasted = (endedAt ?? now) - since;
  const time = lasted < 1000 ? "" : ` for ${ticking(lasted)}`;
  if (prose.source.trim() === "" && endedAt !== undefined)
    return [toneSpan("quiet", `∙ thought${time}, sealed by the provider`)];
  return [toneSpan("quiet", endedAt === undefined ? `∙ thinking${time}` : `∙ thought${time} (Ctrl-O shows it)`)];
}

export function brokenThought(): Block {
  return row("warn", "∙ the thought broke off, kept as a note (Ctrl-O shows it)");
}
