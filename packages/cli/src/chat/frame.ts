/**
 * What is on the screen: rows that are printed for good, and below them the live rows. Pure: the same desk at the same time
 * and size gives the same frame.
 *
 * Invariants:
 * 1. No row is wider than the screen, and the live rows always fit: what a terminal has scrolled away nobody can redraw.
 * 2. A row is printed once.
 */
import { grouped, ticking } from "../style.ts";
import { type Block, flat, type Printer, toneSpan } from "./block.ts";
import { runningLines } from "./call.ts";
import type { Popup } from "./completion.ts";
import type { Desk } from "./desk.ts";
import { cutLine, type Line, span, wrapLine } from "./span.ts";

export interface Size {
  columns: number;
  rows: number;
}

export interface Frame {
  /** New in the scrollback. */
  printed: Line[];
  live: Line[];
  cursor: { row: number; column: number };
  /** What a plain terminal is told in words: the question that is open, and the hint. */
  asks: string | undefined;
  hint: string | undefined;
}

export interface Facts {
  /** What runs without asking; `ask` goes without saying. */
  permission?: string;
  /** As it is called; of none is chosen, empty. */
  model: string;
  windowTokens?: number;
}

/** Bounds within which a screen is drawn; a narrower one cuts what it shows. */
const least = { columns: 20, rows: 6 };
const waitingRows = 4;

export function frameOf(desk: Desk, printer: Printer, facts: Facts, size: Size, now: number): Frame {
  const width = Math.max(least.columns, Math.min(size.columns, 300));
  const height = Math.max(least.rows, size.rows) - 1;
  const { composer, denies, edits, story } = desk;
  const label = denies !== undefined ? "why not? " : edits === undefined ? "› " : "change: ";
  const input = composer.layout(width, Math.max(1, Math.min(8, Math.floor(height / 3))), label);
  const below = [...popupLines(desk.popup, width), statusLine(desk, facts, width, now)];
  const above = cap(
    [...noticeLines(desk, width, now), ...waitingLines(desk, width)],
    Math.max(1, height - input.rows.length - below.length - 2),
  );
  const room = Math.max(0, height - above.length - input.rows.length - below.length);
  const printed: Block[] = story.taken();
  const upper = liveLines(desk, width, now);
  const over = upper.length - room;
  if (over > 0 && story.answer) printed.push(...story.answer.print(over, width, now));
  const shown = over > 0 ? cap(liveLines(desk, width, now), room) : upper;
  const rows = printer.print(printed, width);
  const live = [...shown, ...above, ...input.rows, ...below];
  const cursor = { row: shown.length + above.length + input.cursor.row, column: input.cursor.column };
  return { printed: rows, live, cursor, asks: desk.question?.approval, hint: desk.hint };
}

/** The newest rows count. */
function cap(lines: readonly Line[], most: number): Line[] {
  return lines.length <= most ? [...lines] : lines.slice(lines.length - most);
}

/** What may still change: the answer under way, calls that run. */
function liveLines({ story, watchesThoughts }: Desk, width: number, now: number): Line[] {
  const answer = story.answer?.lines(width, now, watchesThoughts) ?? [];
  const calls = [...story.running.values()].flatMap((call) => runningLines(call, width, now));
  const lines = [...answer, ...(answer.length > 0 && calls.length > 0 ? [[]] : []), ...calls];
  return lines.length === 0 ? [] : [...lines, []];
}

function noticeLines(desk: Desk, width: number, now: number): Line[] {
  const { story, question, hint, denies } = desk;
  const lines: Line[] = [];
  if (question && denies === undefined)
    lines.push(
      ...wrapLine(
        [
          toneSpan("warn", "Allow this? "),
          span("y", "bold"),
          span(" yes · "),
          span("a", "bold"),
          span(` always (${flat(question.always)}) · `),
          span("A", "bold"),
          span(" all from now on · "),
          span("n", "bold"),
          span(" no"),
        ],
        width,
      ),
    );
  if (denies !== undefined)
    lines.push(cutLine([toneSpan("warn", "Denied. Enter sends it with a reason, or with none; Esc goes back")], width));
  if (story.retry && desk.mode !== "watching") {
    const { until, attempt, most } = story.retry;
    const of = most === undefined ? "" : ` of ${most}`;
    lines.push(
      ...wrapLine(
        [
          toneSpan(
            "warn",
            `trying again in ${ticking(until - now + 999)} · attempt ${attempt}${of} · Enter or r tries now, Esc stops`,
          ),
        ],
        width,
      ),
    );
  }
  if (hint !== undefined) lines.push(...wrapLine([toneSpan("quiet", hint)], width));
  return lines;
}

function waitingLines({ waiting, edits }: Desk, width: number): Line[] {
  const shown = waiting.slice(-waitingRows).map(({ id, kind, text }): Line => {
    const sign = kind === "steer" ? "» steers next: " : "⧗ waits: ";
    return cutLine([toneSpan(id === edits ? "strong" : "quiet", `${sign}${flat(text)}`)], width);
  });
  const more = waiting.length - shown.length;
  return more > 0 ? [[toneSpan("quiet", `… ${more} more`)], ...shown] : shown;
}

function popupLines(popup: Popup | undefined, width: number): Line[] {
  if (!popup) return [];
  return popup.choices.map(({ text, about }, at): Line => {
    const sign = at === popup.selected ? span("▸ ", "bold") : span("  ");
    const words = at === popup.selected ? span(flat(text), "bold") : span(flat(text));
    return cutLine([sign, words, ...(about === undefined ? [] : [span(`  ${about}`, "dim")])], width);
  });
}

function statusLine(desk: Desk, { model, windowTokens, permission }: Facts, width: number, now: number): Line {
  const { story, waiting, mode } = desk;
  const { contextTokens: tokens, books } = story;
  const share =
    tokens === undefined || windowTokens === undefined ? "" : ` (${Math.round((100 * tokens) / windowTokens)} %)`;
  const cost = books ? books.committed.cost + books.discarded.cost : 0;
  const pieces = [
    stateOf(desk, now),
    ...(waiting.length > 0 ? [`${waiting.length} waiting`] : []),
    ...(mode === "opening" ? [] : [model === "" ? "no model" : model]),
    ...(permission === undefined || permission === "ask" ? [] : [`mode ${permission}`]),
    ...(tokens === undefined ? [] : [`context ${grouped(tokens)}${share}`]),
    ...(cost > 0 ? [`cost ${cost.toFixed(2)}`] : [totals(desk)]),
  ];
  // One cell stays free: a cursor behind the last one has already wrapped on some terminals.
  return cutLine([toneSpan("quiet", pieces.filter((piece) => piece !== "").join(" · "))], width - 1);
}

function totals({ story: { books } }: Desk): string {
  if (!books) return "";
  const output = books.committed.tokens.output + books.discarded.tokens.output;
  return output === 0 ? "" : `${grouped(output)} out`;
}

export function stateOf({ story, mode, stops }: Desk, now: number): string {
  const since = (from: number) => (now - from < 1000 ? "" : ` ${ticking(now - from)}`);
  const drives = mode === "watching" ? "watching: " : "";
  if (mode === "idle" || mode === "opening") return mode;
  if (mode === "watching" && story.turn === undefined) return "watching";
  if (stops) return "stopping";
  if (story.paused !== undefined) return `${drives}paused, waiting for room on the disk`;
  if (story.questions.length > 0) return `${drives}asks you`;
  if (story.retry) return `${drives}retrying`;
  const [call, second] = story.running.values();
  if (second) return `${drives}running ${story.running.size} calls`;
  if (call) return `${drives}running ${call.tool}${since(call.since ?? now)}`;
  const [lost] = story.doubtful.values();
  if (lost) return `${drives}looking for the result of ${lost.tool}`;
  if (story.sumsUp) return `${drives}summing up${since(story.since)}`;
  if (story.answer?.writes !== undefined) return `${drives}writing a call of ${story.answer.writes}`;
  if (story.answer?.isThinking) return `${drives}thinking`;
  if (story.answer && story.answer.text !== "") return `${drives}answering`;
  return `${drives}waiting for the model${since(story.since)}`;
}
