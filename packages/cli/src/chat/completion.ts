/** What a word at the cursor may become: a file after `@`, a command after `/`. Pure. */

export interface Choice {
  /** What it is written as. */
  text: string;
  about?: string;
}

export interface Popup {
  kind: "file" | "command";
  /** Where the word begins in the composer's text. */
  from: number;
  query: string;
  choices: readonly Choice[];
  selected: number;
}

const shownChoices = 6;

/** The word that the cursor stands behind, if it asks for a completion. */
export function wordAt(text: string, cursor: number): Pick<Popup, "kind" | "from" | "query"> | undefined {
  const before = text.slice(0, cursor);
  const command = /^\/([\w-]*)$/.exec(before);
  if (command) return { kind: "command", from: 0, query: command[1] ?? "" };
  const file = /(?:^|[\s("'])@([^\s@]*)$/.exec(before);
  if (!file) return undefined;
  const query = file[1] ?? "";
  return { kind: "file", from: cursor - query.length - 1, query };
}

/** The best first: what stands in one piece, in the file's own name, early. */
export function matching(choices: readonly Choice[], query: string): Choice[] {
  const wanted = query.toLowerCase();
  const scored: { choice: Choice; score: number }[] = [];
  for (const choice of choices) {
    const score = scoreOf(choice.text.toLowerCase(), wanted);
    if (score !== undefined) scored.push({ choice, score });
  }
  scored.sort((a, b) => a.score - b.score || a.choice.text.length - b.choice.text.length);
  return scored.slice(0, shownChoices).map(({ choice }) => choice);
}

/** Lower is better; undefined where the letters are not there in this order. */
function scoreOf(text: string, wanted: string): number | undefined {
  if (wanted === "") return 0;
  const name = text.lastIndexOf("/") + 1;
  const inName = text.indexOf(wanted, name);
  if (inName >= 0) return inName === name ? 0 : 1;
  if (text.includes(wanted)) return 2;
  let at = -1;
  let gaps = 0;
  for (const sign of wanted) {
    const next = text.indexOf(sign, at + 1);
    if (next < 0) return undefined;
    if (at >= 0 && next > at + 1) gaps += 1;
    at = next;
  }
  return 3 + gaps;
}
