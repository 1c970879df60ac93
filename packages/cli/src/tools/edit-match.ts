/**
 * Finding the text that an edit names, and replacing it. Pure.
 *
 * Invariants:
 * 1. All edits are matched against the same text, the file as it is; all apply or none does.
 * 2. What no edit touches stays as it is, byte for byte: line ends, also mixed ones, and a byte order mark.
 * 3. A match that forgives white space is taken only where the exact text is absent and exactly one place fits.
 */
import { PawlError } from "@pawl/core";
import { closestLines, placesOf } from "./edit-advice.ts";
import { SourceText } from "./source-text.ts";
import { quoted } from "./text.ts";

export interface Edit {
  old: string;
  new: string;
  all?: boolean | undefined;
}

export interface Edited {
  text: string;
  /** Numbers of the edits, from 1, that matched only when white space was forgiven. */
  tolerant: number[];
}

/** A replacement of `[start, end)` in the text with `\n` line ends. */
interface Change {
  start: number;
  end: number;
  text: string;
  edit: number;
}

/** Applies all edits, or throws an error that says which one fails, why, and what the file holds there. */
export function applyEdits(original: string, edits: Edit[]): Edited {
  const source = new SourceText(original);
  const changes: Change[] = [];
  const tolerant: number[] = [];
  for (const [index, edit] of edits.entries()) {
    const found = findEdit(source.text, edit, index + 1, edits.length);
    changes.push(...found.changes);
    if (found.tolerant) tolerant.push(index + 1);
  }
  changes.sort((a, b) => a.start - b.start);
  refuseOverlap(changes);
  return { text: source.replaced(changes), tolerant };
}

/** Whether `text` reads as if the edits had been made: every new text is there, and no old one outside of them. */
export function looksEdited(text: string, edits: Edit[]): boolean {
  const { text: plain } = new SourceText(text);
  return edits.every((edit) => {
    const before = unix(edit.old);
    const after = unix(edit.new);
    if (after === "" || !plain.includes(after)) return false;
    // An old text inside of a new one is no sign of an edit that was not made; everywhere else it is.
    return !(after.includes(before) ? plain.replaceAll(after, "\0") : plain).includes(before);
  });
}

function findEdit(text: string, edit: Edit, number: number, of: number): { changes: Change[]; tolerant: boolean } {
  const name = of === 1 ? "the edit" : `edit ${number} of ${of}`;
  const old = unix(edit.old);
  const replacement = unix(edit.new);
  if (old === "") throw refusal(name, "`old` is empty: give the text to replace, or use write for a new file");
  if (old === replacement) throw refusal(name, `\`old\` and \`new\` are the same: ${quoted(old)}`);
  const places = placesOf(text, old);
  const first = places[0];
  if (places.length > 1 && !edit.all) {
    throw refusal(
      name,
      `\`old\` occurs ${places.length} times (${lineNumbers(text, places)}): add lines around it until it is unique, or set all`,
    );
  }
  if (first !== undefined) {
    return {
      changes: places.map((start) => ({ start, end: start + old.length, text: replacement, edit: number })),
      tolerant: false,
    };
  }
  const forgiven = edit.all ? [] : tolerantMatches(text, old);
  const only = forgiven[0];
  if (only && forgiven.length === 1) {
    return {
      changes: [{ ...only, text: fitted(text.slice(only.start, only.end), old, replacement), edit: number }],
      tolerant: true,
    };
  }
  if (forgiven.length > 1) {
    const starts = forgiven.map(({ start }) => start);
    throw refusal(
      name,
      `\`old\` is not in the file as it stands, and with white space forgiven it fits ${starts.length} places (${lineNumbers(text, starts)}): copy the text exactly from read`,
    );
  }
  throw refusal(name, `\`old\` is not in the file. ${closestLines(text, old)}`);
}

function refuseOverlap(changes: Change[]): void {
  for (const [index, change] of changes.entries()) {
    const next = changes[index + 1];
    if (next && next.start < change.end) {
      throw refusal(
        `edits ${change.edit} and ${next.edit}`,
        "they touch the same text: join them into one (all edits are matched against the file before the call)",
      );
    }
  }
}

/** Runs of whole lines that equal `old` when each line is trimmed and its runs of blanks count as one. */
function tolerantMatches(text: string, old: string): { start: number; end: number }[] {
  const wanted = bodyLines(old).map(squeezed);
  if (wanted.every((line) => line === "")) return [];
  const lines = text.split("\n");
  const plain = lines.map(squeezed);
  const starts: number[] = [];
  let offset = 0;
  for (const line of lines) {
    starts.push(offset);
    offset += line.length + 1;
  }
  const matches: { start: number; end: number }[] = [];
  for (let at = 0; at + wanted.length <= lines.length; at++) {
    if (!wanted.every((line, i) => plain[at + i] === line)) continue;
    const last = at + wanted.length - 1;
    const end = (starts[last] ?? 0) + (lines[last]?.length ?? 0);
    matches.push({ start: starts[at] ?? 0, end: old.endsWith("\n") && end < text.length ? end + 1 : end });
  }
  return matches;
}

/** `replacement` with the indentation of the file where `old` had its own, and its own where they agree. */
function fitted(found: string, old: string, replacement: string): string {
  const indents = new Map<string, string>();
  const there = found.split("\n");
  for (const [i, line] of bodyLines(old).entries()) {
    const real = there[i];
    if (line.trim() !== "" && real !== undefined && !indents.has(indentOf(line)))
      indents.set(indentOf(line), indentOf(real));
  }
  const known = [...indents.keys()].sort((a, b) => b.length - a.length);
  return replacement
    .split("\n")
    .map((line) => {
      const prefix = line === "" ? undefined : known.find((indent) => line.startsWith(indent));
      return prefix === undefined ? line : (indents.get(prefix) ?? "") + line.slice(prefix.length);
    })
    .join("\n");
}

function bodyLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return lines;
}

function squeezed(line: string): string {
  return line.trim().replace(/\s+/g, " ");
}

function indentOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
}

function unix(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

function lineNumbers(text: string, places: number[]): string {
  const shown = places.slice(0, 10).map((place) => text.slice(0, place).split("\n").length);
  return `line${places.length === 1 ? "" : "s"} ${shown.join(", ")}${places.length > shown.length ? ", …" : ""}`;
}

function refusal(name: string, why: string): PawlError {
  return new PawlError("INVALID_INPUT", `nothing was changed: ${name}: ${why}`);
}
