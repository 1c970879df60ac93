/** `pawl diff`: what a turn, or everything since a step, has changed in the folder. Changes nothing. */
import { addressOf } from "./address.ts";
import { latestHere } from "./latest.ts";
import { readable } from "./readable.ts";
import { pathsOf, readablePath } from "./snapshot/git.ts";
import type { Shadow } from "./snapshot/shadow.ts";
import { leftOutWords } from "./snapshot/snapshotter.ts";
import { undoPoint } from "./snapshot/undo-point.ts";
import { printable, type Tone, toned } from "./style.ts";
import { filesOf } from "./undo.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

export type DiffOptions = VisitOptions & { stat?: boolean };

const { stdout, stderr } = process;

export function showDiff(address: string | undefined, step: string | undefined, options: DiffOptions): Promise<number> {
  return visitStore(options, async (runtime) => {
    const session = address === undefined ? await latestHere(runtime) : await addressOf(runtime, address);
    const { entries, damage } = await readable(runtime, session);
    if (damage) throw damage;
    const point = undoPoint(session, entries, step);
    const cwd = (await runtime.store.get(session))?.head.cwd;
    const { shadow, commit } = await filesOf(options, point, cwd);
    const now = await shadow.keep();
    const then = commit === undefined ? now : await shadow.read(commit);
    const where = point.step === 1 ? `turn ${point.turn}` : `step ${point.turn}.${point.step}`;
    if (options.json) {
      const files = await filesBetween(shadow, then.tree, now.tree);
      const patch = options.stat ? {} : { patch: (await between(shadow, then.tree, now.tree, [])).toString("utf8") };
      const leftOut = [...then.leftOut, ...now.leftOut].map(({ path, why }) => ({ path: readablePath(path), why }));
      const about = { session, turn: point.turn, step: point.step, folder: shadow.folder };
      stdout.write(`${JSON.stringify({ ok: true, ...about, files, leftOut, ...patch })}\n`);
      return 0;
    }
    const text = await between(shadow, then.tree, now.tree, options.stat ? ["--stat"] : []);
    const none = text.length === 0 ? "nothing in it has changed" : "whoever changed it";
    const about = `${shadow.folder} since ${where} of session ${session}: ${none}; ignored files are not looked at`;
    stderr.write(`${toned("quiet", about, stderr)}\n`);
    if (now.leftOut.length > 0) stderr.write(`${toned("warn", `left out: ${leftOutWords(now.leftOut)}`, stderr)}\n`);
    print(text);
    return 0;
  });
}

function between(shadow: Shadow, from: string, to: string, how: readonly string[]): Promise<Buffer> {
  return shadow.git(["diff", "--no-color", "--no-ext-diff", "--no-textconv", "-M", ...how, from, to]);
}

interface FileChange {
  path: string;
  change: "added" | "deleted" | "modified";
  /** Absent for what is no text. */
  addedLines?: number;
  deletedLines?: number;
}

async function filesBetween(shadow: Shadow, from: string, to: string): Promise<FileChange[]> {
  const asked = ["diff-tree", "-r", "-z", "--no-renames"];
  const [status, counts] = await Promise.all([
    shadow.git([...asked, "--name-status", from, to]),
    shadow.git([...asked, "--numstat", from, to]),
  ]);
  const lines = new Map(
    pathsOf(counts).map((line) => {
      const [, added = "", deleted = "", path = ""] = /^(\S+)\t(\S+)\t(.*)$/s.exec(line) ?? [];
      return [path, [added, deleted]] as const;
    }),
  );
  const fields = pathsOf(status);
  return fields.flatMap((path, at) => {
    if (at % 2 === 0) return [];
    const [added = "-", deleted = "-"] = lines.get(path) ?? [];
    const figures = added === "-" ? {} : { addedLines: Number(added), deletedLines: Number(deleted) };
    return [{ path: readablePath(path), change: changeOf(fields[at - 1] ?? ""), ...figures }];
  });
}

function changeOf(letter: string): FileChange["change"] {
  if (letter === "A") return "added";
  return letter === "D" ? "deleted" : "modified";
}

/** Into a pipe as it is, so that it can be applied; on a terminal in colours, and without what would steer it. */
function print(patch: Buffer): void {
  if (!stdout.isTTY) {
    stdout.write(patch);
    return;
  }
  for (const line of patch.toString("utf8").split("\n").slice(0, -1))
    stdout.write(`${toned(toneOf(line), printable(line), stdout)}\n`);
}

function toneOf(line: string): Tone {
  if (/^(diff|index|---|\+\+\+|new file|deleted file|old mode|new mode|rename|similarity) ?/.test(line))
    return "strong";
  if (line.startsWith("+")) return "good";
  if (line.startsWith("-")) return "bad";
  return line.startsWith("@@") ? "quiet" : "plain";
}
