/** Text that is fit for a model: well-formed, without control characters, cut between characters. */

/** C0 without tab and newline, DEL, C1, and the two separators that JavaScript alone takes for line ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]/g;
/** CSI and OSC sequences and two-character escapes: colours and cursor moves, noise to a model. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const escapes = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_a-z=>78])/g;

/** Terminal escapes removed, carriage returns as newlines, other control characters as their pictures (NUL is `␀`). */
export function visible(text: string): string {
  return text
    .replace(escapes, "")
    .replace(/\r+\n|\r/g, "\n")
    .replace(controls, picture)
    .toWellFormed();
}

/** As {@link visible}, for names and lines: a newline is shown too. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll("\n", "␊");
}

function picture(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "␡" : "�";
}

/** The first `length` UTF-16 units, one less where that would split a pair. */
export function head(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, isHigh(text, length - 1) ? length - 1 : length);
}

/** The last `length` UTF-16 units, one less where that would split a pair. */
export function tail(text: string, length: number): string {
  if (text.length <= length) return text;
  const from = text.length - length;
  return text.slice(from > 0 && isHigh(text, from - 1) ? from + 1 : from);
}

function isHigh(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** A value as it is named in a message: JSON quotes, at most 200 characters. */
export function quoted(value: string): string {
  const short = head(value, 200);
  return JSON.stringify(visibleLine(short)) + (short.length < value.length ? "…" : "");
}

/** `1 line`, `3 lines`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function byteSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Lines of a text: a final newline ends the last line and starts none. */
export function lineCount(text: string): number {
  if (text === "") return 0;
  let newlines = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) newlines += 1;
  return text.endsWith("\n") ? newlines : newlines + 1;
}
