/** What an undo or a redo is about to do, and what it has done, in words. */
import { goOnCommandOf } from "./next-command.ts";
import { readablePath } from "./snapshot/git.ts";
import type { Move, Moved } from "./snapshot/move.ts";
import { isEmpty, type RestorePlan } from "./snapshot/restore-plan.ts";
import type { Shadow } from "./snapshot/shadow.ts";
import { leftOutWords } from "./snapshot/snapshotter.ts";
import { counted, printable, type Tone, toned, wrapped } from "./style.ts";
import type { Plan, UndoOptions } from "./undo.ts";

/** More names would push the question off the screen. */
const shownFiles = 20;

const { stderr } = process;

export function describeMove({ shadow, move, what, later }: Plan, files: RestorePlan): void {
  const turns =
    later > 0 ? `, and ${counted(later, "turn")} that ${move.kind === "undo" ? "follow" : "came since"}` : "";
  if (what !== "" && move.kind === "undo") say("strong", `takes back ${what} of session ${move.from}${turns}`);
  if (what !== "" && move.kind === "redo")
    say("strong", `brings back ${what}; what session ${move.from} holds${turns} is left`);
  sayFiles(shadow, files);
  say("quiet", "Ignored files (build output, node_modules) and the folder's own .git are not touched.");
}

function sayFiles(shadow: Shadow, files: RestorePlan): void {
  if (isEmpty(files)) say("plain", `no file in ${shadow.folder} changes`);
  else say("plain", `in ${shadow.folder}: ${figures(files)}`);
  const lines: [Tone, string][] = [
    ...files.write.map(({ path, isNew }): [Tone, string] => [
      isNew ? "good" : "warn",
      `${isNew ? "+" : "~"} ${shown(path)}`,
    ]),
    ...files.remove.map((path): [Tone, string] => ["bad", `- ${shown(path)}`]),
  ];
  for (const [tone, text] of lines.slice(0, shownFiles)) say(tone, `  ${text}`);
  if (lines.length > shownFiles) say("quiet", `  … ${counted(lines.length - shownFiles, "more file")}`);
  if (files.spared.length > 0)
    say("warn", `stays as it is, since snapshots leave it out: ${leftOutWords(files.spared)}`);
}

function figures({ write, remove }: RestorePlan): string {
  const back = write.filter(({ isNew }) => isNew).length;
  const words: string[] = [];
  if (write.length > back) words.push(`${counted(write.length - back, "file")} as before`);
  if (back > 0) words.push(`${counted(back, "file")} brought back`);
  if (remove.length > 0) words.push(`${counted(remove.length, "file")} removed`);
  return words.join(", ");
}

export function tellMoved({ plan, problems }: Moved, shadow: Shadow, move: Move, options: UndoOptions): void {
  const ok = problems.length === 0;
  const paths = (list: readonly { path: string }[]) => list.map(({ path }) => readablePath(path));
  if (options.json) {
    const files = { written: paths(plan.write), removed: plan.remove.map(readablePath), kept: paths(plan.spared) };
    const told = problems.map(({ path, why }) => ({ path: readablePath(path), why }));
    const name = move.name === undefined ? {} : { name: move.name };
    const to = ok ? { session: move.to, ...name } : { session: move.from };
    const redo = ok && move.back ? { redo: move.back.session } : {};
    process.stdout.write(`${JSON.stringify({ ok, ...to, from: move.from, files, problems: told, ...redo })}\n`);
    return;
  }
  for (const { path, why } of problems) say("bad", `✗ ${shown(path)}: ${printable(why)}`);
  if (!ok) {
    say("bad", `${counted(problems.length, "file")} could not be changed; the conversation stays where it is`);
    say("plain", `when that is mended, the same command finishes it: pawl ${move.kind} ${move.from}`);
    return;
  }
  process.stdout.write(`${move.to}\n`);
  say(
    "good",
    `✓ ${isEmpty(plan) ? `no file in ${shadow.folder} had to change` : figures(plan)}; the log until now is kept as ${move.from}`,
  );
  if (move.name !== undefined) say("plain", `${move.name} is session ${move.to} now`);
  const address = move.name ?? move.to;
  if (move.kind === "undo") say("quiet", `To bring all of it back: pawl redo ${address}`);
  say("quiet", `To go on: ${goOnCommandOf(address, options.store)}`);
}

export function warn(words: string): void {
  say("warn", `! ${words}`);
}

function shown(path: string): string {
  const text = readablePath(path);
  return printable(text) === text && !text.includes("\n") ? text : JSON.stringify(text);
}

function say(tone: Tone, text: string): void {
  stderr.write(`${toned(tone, wrapped(text, stderr), stderr)}\n`);
}
