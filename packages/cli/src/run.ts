/** `pawl run` and `pawl resume`: one turn in a folder, watched. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  createSession,
  forkSession,
  isId,
  isPawlError,
  type LogEntry,
  openSession,
  PawlError,
  type Runtime,
  type Session,
  type Turn,
  type TurnResult,
} from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { adviceLines } from "./advice.ts";
import { codingAgent } from "./agent.ts";
import { exitOfOutcome } from "./exit.ts";
import { forkPoint } from "./fork-point.ts";
import { Hurry } from "./hurry.ts";
import { Interruption } from "./interruption.ts";
import { LiveView } from "./live-view.ts";
import { type ChosenModel, chooseModel, type ModelOptions } from "./model.ts";
import { storeFolder, workspaceFolder } from "./place.ts";
import { Questions } from "./question.ts";
import { StatusLine } from "./status-line.ts";
import { line, seconds } from "./style.ts";
import { printEntry, printSummary, type Summary, summaryOf, summaryOfError } from "./summary.ts";
import { booksWords, failureWords, outcomeWords } from "./words.ts";

export interface RunOptions extends ModelOptions {
  cwd?: string;
  store?: string;
  session?: string;
  forkFrom?: string;
  idleMs?: number;
  yes?: boolean;
  json?: boolean;
}

/** A turn that has been asked for, and what a watcher needs. */
interface Begun {
  session: Session;
  /** What the session held before: of a new one, its creation. */
  before: LogEntry[];
  isNew: boolean;
  start(agent: ReturnType<typeof codingAgent>, signal: AbortSignal): Turn;
}

/** Runs a prompt; returns the exit code. */
export function runPrompt(prompt: string, options: RunOptions): Promise<number> {
  return watched(options, async (runtime, cwd) => {
    if (prompt === "-")
      throw new PawlError(
        "INVALID_INPUT",
        `the prompt is "-": standard input is not read; give the text as an argument`,
      );
    if (prompt.trim() === "")
      throw new PawlError("INVALID_INPUT", `the prompt is empty: ${JSON.stringify(prompt)}; say what is to be done`);
    const { session, isNew } = await sessionFor(runtime, prompt, cwd, options);
    const start: Begun["start"] = (agent, signal) => session.run(agent, prompt, { signal });
    return { session, isNew, before: await session.entries(), start };
  });
}

/** Goes on inside the turn that a dead process left open; returns the exit code. */
export function resumeSession(id: string, options: RunOptions): Promise<number> {
  return watched(options, async (runtime) => {
    const session = await openSession(runtime, id);
    const start: Begun["start"] = (agent, signal) => session.resume(agent, { signal });
    return { session, isNew: false, before: await session.entries(), start };
  });
}

async function sessionFor(
  runtime: Runtime,
  prompt: string,
  cwd: string,
  options: RunOptions,
): Promise<{ session: Session; isNew: boolean }> {
  const facts = { cwd, title: line(prompt, 72) };
  const isNew = true;
  if (options.forkFrom !== undefined) {
    const from = await forkPoint(runtime, options.forkFrom);
    return { session: await forkSession(runtime, from, options.session, facts), isNew };
  }
  try {
    return { session: await createSession(runtime, options.session, facts), isNew };
  } catch (error) {
    if (options.session === undefined || !isPawlError(error, "SESSION_EXISTS")) throw error;
    return { session: await openSession(runtime, options.session), isNew: false };
  }
}

async function watched(options: RunOptions, begin: (runtime: Runtime, cwd: string) => Promise<Begun>): Promise<number> {
  const interruption = new Interruption();
  const seen: Partial<Summary> = { session: options.session ?? null };
  let runtime: Runtime | undefined;
  try {
    // Everything that can be wrong about the words is said before anything is made.
    const chosen = chooseModel(options);
    if (options.cwd !== undefined) workspaceFolder(options.cwd);
    const dir = storeFolder(options.store);
    const opened = await openRuntime({ dir });
    runtime = opened;
    for (const warning of opened.warnings) process.stderr.write(`pawl: ${warning}\n`);
    const cwd = await folderOf(opened, options);
    const questions = new Questions();
    const agent = codingAgent({
      chosen,
      cwd,
      spillDir: join(dir, "spill"),
      commandDir: join(dir, "commands"),
      questions,
      yes: options.yes === true,
      ...(options.idleMs === undefined ? {} : { idleMs: options.idleMs }),
    });
    const begun = await begin(runtime, cwd);
    seen.session = begun.session.id;
    const watch = options.json ? printEvents : printStory;
    const result = await watch(begun, { options, chosen, questions, agent, cwd, signal: interruption.signal });
    return exitOfOutcome(result.outcome.type);
  } catch (error) {
    const stopped = interruption.is(error);
    if (options.json) printSummary(summaryOfError(error, { ...seen, ...(stopped ? { outcome: "aborted" } : {}) }));
    if (!stopped) throw error;
    process.stderr.write("Stopped before the turn began.\n");
    return exitOfOutcome("aborted");
  } finally {
    interruption.release();
    await runtime?.store.close();
  }
}

/** A session goes on in its own folder, wherever it is called from: edits in another would be a bad surprise. */
async function folderOf({ store }: Runtime, { cwd, session, forkFrom }: RunOptions): Promise<string> {
  const id = forkFrom?.split(":", 1)[0] ?? session;
  const known = id !== undefined && isId(id) ? (await store.get(id))?.head.cwd : undefined;
  if (cwd === undefined && known !== undefined) {
    if (existsSync(known)) return known;
    throw new PawlError("INVALID_INPUT", `the folder of session ${id} is gone: ${known}; name one with --cwd`);
  }
  const folder = workspaceFolder(cwd);
  if (known !== undefined && known !== folder)
    process.stderr.write(`pawl: session ${id} belongs to ${known}; this run works in ${folder}\n`);
  return folder;
}

interface Watch {
  options: RunOptions;
  chosen: ChosenModel;
  questions: Questions;
  agent: ReturnType<typeof codingAgent>;
  cwd: string;
  signal: AbortSignal;
}

const stopping = "Stopping: what runs is ended first, and every call gets its result. Ctrl-C again leaves at once.";

async function printEvents({ session, before, isNew, start }: Begun, watch: Watch): Promise<TurnResult> {
  if (isNew) for (const entry of before) if (entry.session === session.id) printEntry(entry);
  watch.signal.addEventListener("abort", () => process.stderr.write(`${stopping}\n`), { once: true });
  const turn = start(watch.agent, watch.signal);
  for await (const item of turn) {
    if (item.type !== "entry") continue;
    printEntry(item.entry);
    if (item.entry.event.type === "approval.requested") watch.questions.reached(item.entry.event.call);
  }
  const result = await turn.result;
  printSummary(summaryOf(result));
  return result;
}

async function printStory({ session, before, isNew, start }: Begun, watch: Watch): Promise<TurnResult> {
  const { chosen, questions, signal } = watch;
  const { stdout, stderr } = process;
  const story = stdout.isTTY ? stdout : stderr;
  const status = new StatusLine(story);
  const reached = (call: string) => questions.reached(call);
  const view = new LiveView({ text: stdout, story, status, url: chosen.url, reached });
  const startedAt = performance.now();
  view.prime(before);
  signal.addEventListener("abort", () => view.line("warn", stopping), { once: true });
  const turn = start(watch.agent, signal);
  const hurry = new Hurry(turn);
  let isBegun = false;
  for await (const item of turn) {
    // Not before: what is refused (another driver, a damaged log) is one line, without a story.
    if (!isBegun) printHead(view, isNew ? `new session ${session.id}` : `going on with session ${session.id}`, watch);
    isBegun = true;
    hurry.see(item);
    view.show(item);
  }
  hurry.end();
  view.end();
  const result = await turn.result;
  printEnd(view, result, performance.now() - startedAt, watch);
  return result;
}

function printHead(view: LiveView, session: string, { options, cwd }: Watch): void {
  view.line("quiet", `${options.model} in ${cwd}, ${session}`);
  if (!options.yes && !Questions.possible)
    view.line("warn", "! No terminal to ask in: calls that change anything are refused. --yes allows them.");
  view.gap();
}

function printEnd(view: LiveView, result: TurnResult, durationMs: number, { options, chosen }: Watch): void {
  const { outcome, failure, books, session } = result;
  const good = outcome.type === "completed";
  const [cost, ...lost] = booksWords(books);
  view.gap();
  view.line(good ? "good" : "bad", `${good ? "✓" : "✗"} ${outcomeWords(outcome)} · ${seconds(durationMs)} · ${cost}`);
  for (const words of lost) view.line("quiet", `  ${words}`);
  if (good) return;
  if (failure && failure.kind !== "aborted") view.line("bad", `  ${failureWords(failure, chosen.url)}`);
  for (const words of adviceLines({ outcome, failure, chosen, session, options })) view.line("quiet", `  ${words}`);
}
