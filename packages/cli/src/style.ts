/** Words for a terminal: colour where it is wanted, control characters never. */
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it looks for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** A model or a file must not steer the terminal: escape sequences lose their escape. */
export function printable(text: string): string {
  return text.replace(controls, "");
}

export function seconds(ms: number): string {
  if (ms < 950) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** The first line, cut to a width. */
export function line(text: string, width: number): string {
  const [first = ""] = printable(text).trim().split("\n");
  const more = first.length > width || text.trim().includes("\n");
  return more ? `${first.slice(0, width - 1)}…` : first;
}

export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}
