/** The search by ripgrep, where it is installed: its JSON output, so that no file name can be taken for text. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { joinSignals } from "@pawl/core";
import { z } from "zod";
import { skippedFolders } from "./file-list.ts";
import {
  excerpt,
  GrepCollector,
  type GrepFound,
  type GrepLine,
  type GrepQuery,
  searchedFileBytes,
  searchMs,
} from "./grep-line.ts";
import { findProgram } from "./program.ts";
import { temporaryPattern } from "./replacement.ts";

const errorChars = 2_000;

/** ripgrep refused the pattern or failed; the message is its own. */
export class RipgrepFailure extends Error {}

const bytes = z.union([z.object({ text: z.string() }), z.object({ bytes: z.string() })]);
const lineData = z.object({
  path: bytes,
  lines: bytes,
  line_number: z.number(),
  submatches: z.array(z.object({ start: z.number() })),
});
const message = z.discriminatedUnion("type", [
  z.object({ type: z.literal("begin") }),
  z.object({ type: z.literal("match"), data: lineData }),
  z.object({ type: z.literal("context"), data: lineData }),
  z.object({ type: z.literal("end"), data: z.object({ binary_offset: z.number().nullable() }) }),
  z.object({ type: z.literal("summary") }),
]);

/** The executable, or undefined where there is none. */
export function findRipgrep(env: NodeJS.ProcessEnv): string | undefined {
  return findProgram("rg", env);
}

export async function searchWithRipgrep(program: string, env: NodeJS.ProcessEnv, query: GrepQuery): Promise<GrepFound> {
  const deadline = AbortSignal.timeout(searchMs);
  const child = spawn(program, ripgrepArguments(query), { cwd: query.folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const end = () => child.kill("SIGKILL");
  const stop = joinSignals(query.signal, deadline);
  stop.signal.addEventListener("abort", end, { once: true });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(0, errorChars);
  });
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once("error", (cause) => reject(new RipgrepFailure(cause.message, { cause })));
    child.once("close", resolve);
  });
  exit.catch(() => undefined); // heard of below; until then it must not count as unhandled
  const collector = new GrepCollector(query.limit);
  let file: GrepLine[] = [];
  try {
    for await (const row of createInterface({ input: child.stdout })) {
      const event = parsed(row);
      if (event?.type === "begin") file = [];
      if (event?.type === "match" || event?.type === "context") file.push(grepLine(event));
      if (file.length > 0 && (event?.type === "end" || file.length > query.limit * (2 * query.context + 1))) {
        // A NUL further down: the file is binary, and what was found before it is no text.
        const binary = event?.type === "end" && event.data.binary_offset !== null;
        if (!binary && !file.every((line) => collector.add(line))) end();
        file = [];
      }
    }
    const code = await exit;
    query.signal.throwIfAborted();
    if (code === 2 && collector.lines.length === 0) throw new RipgrepFailure(complaint.trim());
    const found = { lines: collector.lines, more: collector.more };
    return deadline.aborted ? { ...found, note: `the search was ended after ${searchMs / 1_000} s` } : found;
  } finally {
    stop.release();
    end();
  }
}

function ripgrepArguments(query: GrepQuery): string[] {
  const options = [
    "--json",
    "--crlf",
    "--no-config",
    "--hidden",
    "--sort=path",
    `--max-filesize=${searchedFileBytes}`,
    `--context=${query.context}`,
  ];
  if (query.ignoreCase) options.push("--ignore-case");
  // Order counts: the last glob that matches decides, and what is left out stays out.
  if (query.glob !== undefined) options.push(`--glob=${query.glob}`);
  const skipped = query.unfiltered ? skippedFolders.filter((name) => name === ".git") : skippedFolders;
  for (const name of [...skipped, temporaryPattern]) options.push(`--glob=!**/${name}`);
  if (query.unfiltered) options.push("--no-ignore");
  return [...options, `--regexp=${query.pattern}`, "--", query.file === undefined ? "." : `./${query.file}`];
}

function parsed(row: string): z.infer<typeof message> | undefined {
  try {
    return message.safeParse(JSON.parse(row)).data;
  } catch {
    return undefined; // the last row of a search that was ended
  }
}

function grepLine({ type, data }: { type: "match" | "context"; data: z.infer<typeof lineData> }): GrepLine {
  const line = bufferOf(data.lines);
  const column = line.subarray(0, data.submatches[0]?.start ?? 0).toString("utf8").length;
  return {
    path: bufferOf(data.path).toString("utf8").replace(/^\.\//, ""),
    number: data.line_number,
    text: excerpt(line.toString("utf8"), column),
    match: type === "match",
  };
}

function bufferOf(value: z.infer<typeof bytes>): Buffer {
  return "text" in value ? Buffer.from(value.text) : Buffer.from(value.bytes, "base64");
}
