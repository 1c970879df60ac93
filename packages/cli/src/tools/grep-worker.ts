/** The thread of {@link scanFiles}: reads, matches, tells. Synchronous throughout; it is ended from outside. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { excerpt, type GrepLine, searchedFileBytes } from "./grep-line.ts";

export interface ScanTask {
  folder: string;
  files: string[];
  source: string;
  flags: string;
  context: number;
  limit: number;
}

export type ScanMessage = { type: "lines"; lines: GrepLine[] } | { type: "done"; note?: string };

function run({ folder, files, source, flags, context, limit }: ScanTask): void {
  const regex = new RegExp(source, flags);
  let large = 0;
  let hits = 0;
  for (const path of files) {
    const text = fileText(join(folder, path));
    if (text === "large") large += 1;
    if (typeof text === "string") continue;
    // One hit more than is wanted tells that there are more.
    const lines = matchingLines(path, text.content, regex, context, limit + 1 - hits);
    hits += lines.filter(({ match }) => match).length;
    if (lines.length > 0) tell({ type: "lines", lines });
    if (hits > limit) break;
  }
  tell({
    type: "done",
    ...(large > 0 ? { note: `${large} files above ${searchedFileBytes / 1_000_000} MB were not searched` } : {}),
  });
}

function fileText(path: string): { content: string } | "large" | "skipped" {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(file);
    if (!stats.isFile()) return "skipped";
    if (stats.size > searchedFileBytes) return "large";
    const bytes = readFileSync(file);
    // As ripgrep: a NUL makes a file binary, another encoding does not.
    return bytes.includes(0) ? "skipped" : { content: bytes.toString("utf8") };
  } catch {
    return "skipped"; // unreadable, or gone since it was listed: as ripgrep does
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function matchingLines(path: string, content: string, regex: RegExp, context: number, limit: number): GrepLine[] {
  const texts = content.split("\n");
  if (texts.at(-1) === "") texts.pop();
  const kept = new Map<number, GrepLine>();
  let hits = 0;
  for (const [index, raw] of texts.entries()) {
    const text = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    const column = text.search(regex);
    if (column < 0) continue;
    for (let near = Math.max(0, index - context); near <= Math.min(texts.length - 1, index + context); near++) {
      if (near === index) kept.set(index, { path, number: index + 1, text: excerpt(text, column), match: true });
      else if (!kept.has(near))
        kept.set(near, { path, number: near + 1, text: excerpt(texts[near] ?? "", 0), match: false });
    }
    hits += 1;
    if (hits >= limit) break;
  }
  return [...kept.entries()].sort(([a], [b]) => a - b).map(([, line]) => line);
}

function tell(message: ScanMessage): void {
  parentPort?.postMessage(message);
}

run(workerData);
