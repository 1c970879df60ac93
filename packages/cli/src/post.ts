/** `pawl post`: an input for a session that somebody else drives, now or later. */
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { isTaskSession, PawlError, type SessionFacts, type SessionSummary, workspaceWait } from "@pawl/core";
import { commandLine } from "./next-command.ts";
import { openStore } from "./open-store.ts";
import { workspaceFolder } from "./place.ts";
import { type RunTarget, sessionOf, targetOf } from "./run-target.ts";
import { line, toned } from "./style.ts";
import { waitWords } from "./words.ts";

export interface PostOptions {
  store?: string;
  json?: boolean;
  session?: string;
  forkFrom?: string;
  cwd?: string;
  /** What a new session needs. */
  workspace?: string;
  steer?: boolean;
}

export async function postPrompt(prompt: string, options: PostOptions): Promise<number> {
  if (prompt.trim() === "")
    throw new PawlError("INVALID_INPUT", `the prompt is empty: ${JSON.stringify(prompt)}; say what is to be done`);
  if (options.steer && options.session === undefined)
    throw new PawlError("INVALID_INPUT", "--steer goes into an open turn; name its session with --session");
  const runtime = await openStore(options.store);
  try {
    const target = await targetOf(runtime, options, options.steer ? "must exist" : "may be new");
    refuseTask(target);
    const { session, isNew } = await sessionOf(runtime, target, factsOf(target, prompt, options));
    const input = await session.post(options.steer ? "steer" : "input", prompt);
    const summary = await session.summary();
    tell(options, { session: session.id, input, isNew, who: whoseTurn(summary) });
    return 0;
  } finally {
    await runtime.store.close();
  }
}

/** No worker is given it, and the agent whose task it is would not expect it. */
function refuseTask(target: RunTarget): void {
  if (target.kind === "known" && isTaskSession(target.id))
    throw new PawlError("INVALID_INPUT", `session ${target.id} is a task of another; post to that one`);
}

function factsOf(target: RunTarget, prompt: string, { cwd, workspace }: PostOptions): SessionFacts {
  const needs = workspace === undefined ? {} : { workspace };
  if (target.kind === "known") {
    if (cwd !== undefined)
      throw new PawlError("INVALID_INPUT", `--cwd ${cwd}: session ${target.id} has its folder; leave it out`);
    return needs;
  }
  // A fork works where its parent did.
  if (target.kind === "fork" && cwd === undefined) return { title: line(prompt, 72), ...needs };
  return { cwd: folderThere(cwd), title: line(prompt, 72), ...needs };
}

/** A folder of the worker's machine, which may be another one. */
function folderThere(cwd: string | undefined): string {
  if (cwd === undefined || !isAbsolute(cwd) || existsSync(cwd)) return workspaceFolder(cwd);
  process.stderr.write(`pawl: ${cwd} is not on this machine: a worker that has it will drive the session\n`);
  return cwd;
}

function whoseTurn(summary: SessionSummary | undefined): string {
  if (summary?.lease) return "goes to whoever drives it";
  const waits = summary && workspaceWait(summary);
  return waits ? waitWords(waits) : "waits for a worker";
}

function tell(
  { json, store }: PostOptions,
  { session, input, isNew, who }: { session: string; input: string; isNew: boolean; who: string },
): void {
  const { stdout, stderr } = process;
  if (json) return void stdout.write(`${JSON.stringify({ ok: true, session, input, isNew })}\n`);
  stdout.write(`${session}\n`);
  const follow = commandLine(["follow", session], [["--store", store]]);
  stderr.write(`${toned("quiet", `${isNew ? "new session, " : ""}${who}; to watch: ${follow}`, stderr)}\n`);
}
