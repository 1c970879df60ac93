/** What to tell a model whose edit does not match: where it stands in the file, or what comes closest. */
import { likeness } from "./source-file.ts";
import { head, visibleLine } from "./text.ts";

/** Looking for likeness is for a person-sized file; in a larger one the answer would not help either. */
const linesCompared = 20_000;
const linesShown = 12;
const lineChars = 300;

/** Where `part` occurs, without overlap. */
export function placesOf(text: string, part: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) places.push(at);
  return places;
}

/** The lines of the file that are most like those of `old`, with their numbers. */
export function closestLines(text: string, old: string): string {
  const wanted = old.split("\n").filter((line) => line.trim() !== "");
  const lines = text.split("\n").slice(0, linesCompared);
  const key = wanted[0]?.trim() ?? "";
  let best = { at: -1, score: 0 };
  for (const [at, line] of lines.entries()) {
    const score = likeness(key.slice(0, lineChars), line.trim().slice(0, lineChars));
    if (score > best.score) best = { at, score };
  }
  if (best.score < 0.5) return "No line is like it: read the file again, it may have changed.";
  const height = Math.min(linesShown, Math.max(1, old.split("\n").length) + 2);
  const from = Math.max(0, best.at - 1);
  const shown = lines
    .slice(from, from + height)
    .map((line, i) => `${from + i + 1}\t${visibleLine(head(line, lineChars))}`);
  return `The closest lines are:\n${shown.join("\n")}`;
}
