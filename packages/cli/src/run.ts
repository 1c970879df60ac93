/** `pawl run`, `pawl resume` and `pawl continue`: one turn in a folder, watched. */
import {
  isPawlError,
  type LiveItem,
  type LogEntry,
  PawlError,
  type Runtime,
  type Session,
  type Turn,
  type TurnResult,
} from "@pawl/core";
import { adviceOn, goOnCommand } from "./advice.ts";
import { codingAgent } from "./agent.ts";
import { ChildLines } from "./child-lines.ts";
import { exitOfOutcome } from "./exit.ts";
import { Hurry } from "./hurry.ts";
import { Interruption } from "./interruption.ts";
import { LiveView } from "./live-view.ts";
import { namedServers } from "./mcp/named-servers.ts";
import type { ConnectedServers } from "./mcp/servers.ts";
import type { ChosenModel } from "./model.ts";
import { hostsIn, hostsOfInputs } from "./named-hosts.ts";
import { openStore } from "./open-store.ts";
import { storeFolder, workspaceFolder } from "./place.ts";
import { Questions } from "./question.ts";
import { folderOf, type RunTarget, sessionOf, targetOf } from "./run-target.ts";
import { type Setup, type SetupOptions, sandboxOf, setUp } from "./setup.ts";
import { StatusLine } from "./status-line.ts";
import { line, seconds } from "./style.ts";
import { printEntry, printSummary, type Summary, summaryOf, summaryOfError } from "./summary.ts";
import { TaskWatch } from "./task-watch.ts";
import { isAsking } from "./tools/asking.ts";
import { booksWords, failureWords, outcomeWords, pausedWords, resumedWords } from "./words.ts";

export interface RunOptions extends SetupOptions {
  cwd?: string;
  store?: string;
  session?: string;
  forkFrom?: string;
  /** What the new session needs. */
  workspace?: string;
  json?: boolean;
  /** A file that names MCP servers besides those of the configuration. */
  mcpConfig?: string;
}

/** A turn that has been asked for, and what a watcher needs. */
interface Begun {
  session: Session;
  /** What the session held before: of a new one, its creation. */
  before: LogEntry[];
  isNew: boolean;
  /** What the person has just said. */
  prompt?: string;
  start(agent: ReturnType<typeof codingAgent>, signal: AbortSignal): Turn;
}

/** Runs a prompt; returns the exit code. */
export function runPrompt(prompt: string, options: RunOptions): Promise<number> {
  return watched(options, "may be new", async (runtime, target, cwd) => {
    if (prompt === "-")
      throw new PawlError(
        "INVALID_INPUT",
        `the prompt is "-": standard input is not read; give the text as an argument`,
      );
    if (prompt.trim() === "")
      throw new PawlError("INVALID_INPUT", `the prompt is empty: ${JSON.stringify(prompt)}; say what is to be done`);
    const { session, isNew } = await sessionOf(runtime, target, {
      cwd,
      title: line(prompt, 72),
      ...(options.workspace === undefined ? {} : { workspace: options.workspace }),
    });
    const start: Begun["start"] = (agent, signal) => session.run(agent, prompt, { signal });
    return { session, isNew, prompt, before: await session.entries(), start };
  });
}

/** Goes on inside the turn that a dead process left open; returns the exit code. */
export function resumeSession(id: string, options: RunOptions): Promise<number> {
  return goOn(id, options, (session, agent, signal) => session.resume(agent, { signal }));
}

/** Follows a turn that did not complete with one that has no input of its own; returns the exit code. */
export function continueSession(id: string, options: RunOptions): Promise<number> {
  return goOn(id, options, (session, agent, signal) => session.continue(agent, { signal }));
}

function goOn(
  id: string,
  options: RunOptions,
  how: (session: Session, ...rest: Parameters<Begun["start"]>) => Turn,
): Promise<number> {
  return watched({ ...options, session: id }, "must exist", async (runtime, target) => {
    const { session } = await sessionOf(runtime, target, {});
    const start: Begun["start"] = (agent, signal) => how(session, agent, signal);
    return { session, isNew: false, before: await session.entries(), start };
  });
}

async function watched(
  options: RunOptions,
  mustExist: Parameters<typeof targetOf>[2],
  begin: (runtime: Runtime, target: RunTarget, cwd: string) => Promise<Begun>,
): Promise<number> {
  const interruption = new Interruption();
  const seen: Partial<Summary> = { session: options.session ?? null };
  let runtime: Runtime | undefined;
  let servers: ConnectedServers | undefined;
  try {
    // Everything that can be wrong about the words is said before anything is made.
    let setup = await setUpAhead(options);
    const dir = storeFolder(options.store);
    const opened = await openStore(options.store);
    runtime = opened;
    for (const warning of opened.warnings) process.stderr.write(`pawl: ${warning}\n`);
    const target = await targetOf(opened, options, mustExist);
    const cwd = await folderOf(opened, target, options.cwd);
    setup ??= await setUp(options, cwd);
    const questions = new Questions();
    const sandbox = await sandboxOf(setup, cwd, dir);
    if (sandbox.notice !== undefined) setup.notices.push(sandbox.notice);
    const tasks = new TaskWatch();
    const named = new Set<string>();
    servers = await namedServers({
      configured: setup.config.values.mcpServers,
      file: options.mcpConfig,
      cwd,
      signal: interruption.signal,
      warn: (text) => void process.stderr.write(`pawl: ${text}\n`),
    });
    const serverTools = await servers?.tools();
    const agent = codingAgent({
      runtime: opened,
      setup,
      sandbox,
      cwd,
      dir,
      store: options.store,
      person: Questions.possible ? questions : undefined,
      tasks,
      named,
      ...(serverTools ? { serverTools } : {}),
    });
    const begun = await begin(opened, target, cwd);
    seen.session = begun.session.id;
    for (const host of [...hostsOfInputs(begun.before), ...hostsIn(begun.prompt ?? "")]) named.add(host);
    const watch = options.json ? printEvents : printStory;
    const told = { options: asGiven(options, setup), setup, chosen: setup.chosen, questions, tasks, agent, cwd };
    const result = await watch(begun, { ...told, signal: interruption.signal });
    return exitOfOutcome(result.outcome.type);
  } catch (thrown) {
    const error = withWayOut(thrown, seen.session, options);
    const stopped = interruption.is(error);
    if (options.json) printSummary(summaryOfError(error, { ...seen, ...(stopped ? { outcome: "aborted" } : {}) }));
    if (!stopped) throw error;
    process.stderr.write("Stopped before the turn began.\n");
    return exitOfOutcome("aborted");
  } finally {
    interruption.release();
    await servers?.close();
    await runtime?.store.close();
  }
}

/** Where the folder is known before the store is opened. Otherwise it is the session's own. */
async function setUpAhead(options: RunOptions): Promise<Setup | undefined> {
  const { cwd, session, forkFrom } = options;
  if (cwd === undefined && (session !== undefined || forkFrom !== undefined)) return undefined;
  return await setUp(options, workspaceFolder(cwd));
}

/** As a command that goes on has to say it: what `--local` found may not be what it finds next time. */
function asGiven(options: RunOptions, { chosen }: Setup): RunOptions {
  if (options.local === undefined) return options;
  const { local: _, ...others } = options;
  return { ...others, model: chosen.word, baseUrl: chosen.url };
}

/** A disk that stayed full: what was done is in the log, and the turn can be taken up again. */
function withWayOut(error: unknown, session: string | null | undefined, options: RunOptions): unknown {
  if (!session || !isPawlError(error, "STORE_FULL")) return error;
  const command = goOnCommand("resume", { session, options });
  return new PawlError("STORE_FULL", `${error.message}; the turn is kept, when there is room: ${command}`, {
    cause: error,
  });
}

interface Watch {
  options: RunOptions;
  setup: Setup;
  chosen: ChosenModel;
  questions: Questions;
  tasks: TaskWatch;
  agent: ReturnType<typeof codingAgent>;
  cwd: string;
  signal: AbortSignal;
}

const stopping = "Stopping: what runs is ended first, and every call gets its result. Ctrl-C again leaves at once.";

async function printEvents({ session, before, isNew, start }: Begun, watch: Watch): Promise<TurnResult> {
  if (isNew) for (const entry of before) if (entry.session === session.id) printEntry(entry);
  watch.signal.addEventListener("abort", () => process.stderr.write(`${stopping}\n`), { once: true });
  watch.tasks.show = (item) => tellProgram(item, watch.questions);
  const { chosen, notices } = watch.setup;
  const taken = chosen.why === undefined ? [] : [`${chosen.word} is taken, since ${chosen.why}`];
  for (const words of [...taken, ...notices]) process.stderr.write(`pawl: ${words}\n`);
  const turn = start(watch.agent, watch.signal);
  for await (const item of turn) {
    if (item.type === "entry") printEntry(item.entry);
    else tellProgram(item, watch.questions);
  }
  const result = await turn.result;
  printSummary(summaryOf(result));
  return result;
}

/** What is no event of the log, and yet not to be missed. */
function tellProgram(item: LiveItem, questions: Questions): void {
  if (item.type === "approval.pending") questions.reached(item.approval.call);
  if (item.type === "tool.progress" && isAsking(item.data)) questions.reached(item.call);
  if (item.type === "paused") process.stderr.write(`pawl: ${pausedWords(item.reason)}\n`);
  if (item.type === "resumed") process.stderr.write(`pawl: ${resumedWords}\n`);
}

async function printStory({ session, before, isNew, start }: Begun, watch: Watch): Promise<TurnResult> {
  const { chosen, questions, tasks, signal } = watch;
  const { stdout, stderr } = process;
  const story = stdout.isTTY ? stdout : stderr;
  const status = new StatusLine(story);
  questions.screen = status;
  const reached = (call: string) => questions.reached(call);
  const view = new LiveView({ text: stdout, story, status, url: chosen.url, reached });
  const lines = new ChildLines({ line: (tone, text) => view.line(tone, text), asks: (call) => view.asks(call) });
  tasks.show = (item, child) => lines.show(item, child);
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

function printHead(view: LiveView, session: string, { setup, cwd }: Watch): void {
  view.line("quiet", `${setup.chosen.word} in ${cwd}, ${session}`);
  if (setup.chosen.why !== undefined) view.line("quiet", `this model since ${setup.chosen.why}`);
  for (const words of setup.notices) view.line("warn", `! ${words}`);
  const refused = {
    plan: "",
    ask: "calls that change anything, and ",
    "accept-edits": "commands, and ",
    all: undefined,
  };
  const what = refused[setup.config.values.mode];
  if (what !== undefined && !Questions.possible)
    view.line(
      "warn",
      `! No terminal to ask in: ${what}pages of hosts that you have not named are refused.${what === "" ? "" : " --yes allows them."}`,
    );
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
  const called = options.session ?? session;
  const { hints, commands } = adviceOn({ outcome, failure, chosen, session: called, options });
  for (const words of hints) view.line("quiet", `  ${words}`);
  for (const words of commands) view.command("quiet", `  ${words}`);
}
