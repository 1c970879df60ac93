/**
 * The search without ripgrep: JavaScript's regular expressions over the listed files, in a thread that can be ended. A pattern that
 * backtracks for ever cannot be interrupted otherwise, and would take the whole runtime with it.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { PawlError } from "@pawl/core";
import { GrepCollector, type GrepFound, type GrepQuery, searchMs } from "./grep-line.ts";
import type { ScanMessage, ScanTask } from "./grep-worker.ts";
import { quoted } from "./text.ts";

/** The pattern as JavaScript understands it; throws a message that says what is wrong with it. */
export function javascriptRegex(pattern: string, ignoreCase: boolean): RegExp {
  // The one thing that models write for ripgrep and JavaScript does not have.
  const inline = /^\(\?i\)/.test(pattern);
  const source = inline ? pattern.slice(4) : pattern;
  const flags = ignoreCase || inline ? "i" : "";
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    // Strict mode refuses harmless escapes such as \- and \".
  }
  try {
    return new RegExp(source, flags);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PawlError(
      "INVALID_INPUT",
      `the pattern ${quoted(pattern)} is no valid regular expression (${why}): escape ( ) [ ] { } + * ? . ^ $ | with \\ to search for them`,
      { cause },
    );
  }
}

/** Searches `files`, relative to the folder, in their order. */
export async function scanFiles(query: GrepQuery, files: string[], withinMs: number = searchMs): Promise<GrepFound> {
  query.signal.throwIfAborted();
  const regex = javascriptRegex(query.pattern, query.ignoreCase);
  const task: ScanTask = {
    folder: query.folder,
    files,
    source: regex.source,
    flags: regex.flags,
    context: query.context,
    limit: query.limit,
  };
  const collector = new GrepCollector(query.limit);
  // The extension of this file: sources run as they are, a build has its own.
  const worker = new Worker(new URL(`./grep-worker${extname(import.meta.url)}`, import.meta.url), { workerData: task });
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const onAbort = () => reject(query.signal.reason);
  const timer = setTimeout(
    () => resolve(`the search was ended after ${withinMs / 1_000} s: a simpler pattern or a smaller path may help`),
    withinMs,
  );
  query.signal.addEventListener("abort", onAbort, { once: true });
  worker.on("error", reject);
  worker.on("message", (message: ScanMessage) => {
    if (message.type === "done") return resolve(message.note);
    if (!message.lines.every((line) => collector.add(line))) resolve(undefined);
  });
  try {
    const note = await promise;
    return { lines: collector.lines, more: collector.more, ...(note === undefined ? {} : { note }) };
  } finally {
    clearTimeout(timer);
    query.signal.removeEventListener("abort", onAbort);
    await worker.terminate();
  }
}
