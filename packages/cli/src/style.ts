/** Words for a terminal: colour where it is wanted, control characters never, and figures as people read them. */
import { styleText } from "node:util";

export type Tone = "plain" | "quiet" | "good" | "bad" | "warn" | "strong";

const formats = {
  plain: [],
  quiet: ["dim"],
  good: ["green"],
  bad: ["red"],
  warn: ["yellow"],
  strong: ["bold"],
} as const;

/** Honours NO_COLOR, FORCE_COLOR and streams that are no terminal. */
export function toned(tone: Tone, text: string, stream: NodeJS.WriteStream): string {
  return tone === "plain" || text === "" ? text : styleText([...formats[tone]], text, { stream });
}

/** Control characters but tab and newline, and the marks that make text read in another order than it runs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it looks for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** A model or a file must not steer the terminal: escape sequences lose their escape. */
export function printable(text: string): string {
  return text.replace(controls, "");
}

/** What somebody wrote, as it can be shown in one line. */
export function seenText(text: string): string {
  return printable(JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text));
}

/** How wide lines may be; where nobody sees a width, what most people have. */
export function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.isTTY && stream.columns > 0 ? stream.columns : 80;
}

/** Words of a person's language, broken between words where a terminal would break inside of them. Not for commands. */
export function wrapped(text: string, stream: NodeJS.WriteStream): string {
  if (!stream.isTTY || cut(text, columnsOf(stream)) === text) return text;
  const [indent = ""] = /^ */.exec(text) ?? [];
  const lines: string[] = [];
  let held = "";
  for (const word of text.trim().split(/ +/)) {
    const longer = held === "" ? `${indent}${word}` : `${held} ${word}`;
    if (held !== "" && cut(longer, columnsOf(stream)) !== longer) {
      lines.push(held);
      held = `${indent}${word}`;
    } else held = longer;
  }
  return [...lines, held].join("\n");
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** The first line, cut to a width in terminal cells. */
export function line(text: string, width: number): string {
  const all = printable(text).trim();
  const end = all.indexOf("\n");
  const first = (end < 0 ? all : all.slice(0, end)).replaceAll("\t", "  ");
  return end < 0 ? cut(first, width) : `${cut(first, width - 1).replace(/…$/, "")}…`;
}

/** A line cut to a width in terminal cells; `…` stands for what is missing. */
export function cut(text: string, width: number): string {
  let cells = 0;
  let shown = "";
  let fitting = "";
  for (const char of text) {
    cells += wide.test(char) ? 2 : 1;
    if (cells > width) return `${fitting}…`;
    shown += char;
    if (cells < width) fitting = shown;
  }
  return shown;
}

export function seconds(ms: number): string {
  if (ms < 950) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const whole = Math.round(ms / 1000);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** Whole seconds, for figures that tick. */
export function ticking(ms: number): string {
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : seconds(Math.floor(ms / 1000) * 1000);
}

/** Date and time on the clock of whoever reads it. */
export function moment(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** `1 request`, `1,200 requests`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}
