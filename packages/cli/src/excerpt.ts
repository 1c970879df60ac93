/** Of a long output the lines that a person wants to see; the whole is in the log. */
import { counted } from "./style.ts";

const shownLines = 8;

/** A command says at its end what became of it; everything else begins with what matters. */
export function excerptOf(lines: readonly string[], endMatters: boolean): string[] {
  const left = lines.length - shownLines;
  const head = left <= 0 || !endMatters ? shownLines : 2;
  const shown = lines.slice(0, head);
  if (left > 0) shown.push(`… ${counted(endMatters ? left + 1 : left, "more line")}`);
  if (left > 0 && endMatters) shown.push(...lines.slice(head + left + 1));
  return shown;
}
