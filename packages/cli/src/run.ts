/** `pawl run` and `pawl resume`: one turn in a folder, watched. */
import { join } from "node:path";
import {
  createSession,
  forkSession,
  isPawlError,
  openSession,
  PawlError,
  type Runtime,
  type Session,
  type Turn,
  type TurnResult,
} from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { codingAgent } from "./agent.ts";
import { exitOfError, exitOfOutcome } from "./exit.ts";
import { forkPoint } from "./fork-point.ts";
import { LiveView } from "./live-view.ts";
import { chooseModel, type ModelOptions } from "./model.ts";
import { storeFolder, workspaceFolder } from "./place.ts";
import { grouped, line, seconds } from "./style.ts";
import { failureWords, outcomeWords } from "./words.ts";

export interface RunOptions extends ModelOptions {
  cwd?: string;
  store?: string;
  session?: string;
  forkFrom?: string;
  idleMs?: number;
  yes?: boolean;
  json?: boolean;
}

/** Runs a prompt; returns the exit code. */
export async function runPrompt(prompt: string, options: RunOptions): Promise<number> {
  return watched(options, async (runtime, agent, signal) => {
    const session = await sessionFor(runtime, prompt, options);
    return { session, turn: session.run(agent, prompt, { signal }) };
  });
}

/** Goes on inside the turn that a dead process left open; returns the exit code. */
export async function resumeSession(id: string, options: RunOptions): Promise<number> {
  return watched(options, async (runtime, agent, signal) => {
    const session = await openSession(runtime, id);
    return { session, turn: session.resume(agent, { signal }) };
  });
}

type Begin = (
  runtime: Runtime,
  agent: ReturnType<typeof codingAgent>,
  signal: AbortSignal,
) => Promise<{ session: Session; turn: Turn }>;

async function watched(options: RunOptions, begin: Begin): Promise<number> {
  const abort = abortOnSignals();
  let runtime: Runtime | undefined;
  try {
    // Everything that can be wrong about the words is said before anything is made.
    const chosen = chooseModel(options);
    const cwd = workspaceFolder(options.cwd);
    const dir = storeFolder(options.store);
    runtime = await openRuntime({ dir });
    const agent = codingAgent({
      chosen,
      cwd,
      spillDir: join(dir, "spill"),
      yes: options.yes === true,
      ...(options.idleMs === undefined ? {} : { idleMs: options.idleMs }),
    });
    const { session, turn } = await begin(runtime, agent, abort.signal);
    const result = options.json ? await printEvents(turn) : await printStory(turn, session.id, options);
    return exitOfOutcome(result.outcome.type);
  } catch (error) {
    if (options.json)
      printSummary({
        ok: false,
        outcome: null,
        text: "",
        session: options.session ?? null,
        turn: null,
        usage: null,
        error: errorOf(error),
      });
    throw error;
  } finally {
    abort.release();
    await runtime?.store.close();
  }
}

async function sessionFor(runtime: Runtime, prompt: string, options: RunOptions): Promise<Session> {
  const facts = { cwd: workspaceFolder(options.cwd), title: line(prompt, 72) };
  if (options.forkFrom !== undefined)
    return forkSession(runtime, await forkPoint(runtime, options.forkFrom), options.session, facts);
  if (options.session === undefined) return createSession(runtime, undefined, facts);
  try {
    return await createSession(runtime, options.session, facts);
  } catch (error) {
    if (isPawlError(error, "SESSION_EXISTS")) return openSession(runtime, options.session);
    throw error;
  }
}

async function printEvents(turn: Turn): Promise<TurnResult> {
  for await (const item of turn) {
    if (item.type !== "entry") continue;
    const { seq, time, event } = item.entry;
    process.stdout.write(`${JSON.stringify({ seq, time, ...event })}\n`);
  }
  const result = await turn.result;
  const { committed, discarded } = result.books;
  printSummary({
    ok: result.outcome.type === "completed",
    outcome: result.outcome.type,
    text: result.text,
    session: result.session,
    turn: result.turn,
    usage: {
      input: committed.tokens.input + discarded.tokens.input,
      output: committed.tokens.output + discarded.tokens.output,
    },
    error: result.failure ?? null,
  });
  return result;
}

/** The last line of standard output, whatever happened. */
function printSummary(summary: {
  ok: boolean;
  outcome: string | null;
  text: string;
  session: string | null;
  turn: string | null;
  usage: { input: number; output: number } | null;
  error: unknown;
}): void {
  process.stdout.write(`${JSON.stringify(summary)}\n`);
}

function errorOf(error: unknown): { code: string; message: string; exit: number } {
  const code = error instanceof PawlError ? error.code : "UNEXPECTED";
  return { code, message: error instanceof Error ? error.message : String(error), exit: exitOfError(error) };
}

async function printStory(turn: Turn, session: string, options: RunOptions): Promise<TurnResult> {
  const view = new LiveView(process.stdout, process.stderr);
  const startedAt = performance.now();
  view.line("quiet", `session ${session} · ${options.model} · ${workspaceFolder(options.cwd)}`);
  for await (const item of turn) view.show(item);
  const result = await turn.result;
  const { outcome, failure, books } = result;
  const good = outcome.type === "completed";
  const { committed, discarded } = books;
  const requests = committed.attempts + discarded.attempts;
  const lost = discarded.attempts > 0 ? ` (${discarded.attempts} lost)` : "";
  const tokens = `${grouped(committed.tokens.input + discarded.tokens.input)} tokens in, ${grouped(committed.tokens.output + discarded.tokens.output)} out`;
  view.line(
    good ? "good" : "bad",
    `${good ? "✓" : "✗"} ${outcomeWords(outcome)} · ${seconds(performance.now() - startedAt)} · ${requests} requests${lost} · ${tokens}`,
  );
  if (!good && failure) view.line("bad", `  ${failureWords(failure)}`);
  if (!good)
    view.line(
      "quiet",
      `  Everything up to here is kept. Go on with: pawl run --session ${session} --model ${options.model} "…"`,
    );
  return result;
}

/** Ctrl-C ends the turn cleanly, a second one ends the process. */
function abortOnSignals(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(exitOfOutcome("aborted"));
    process.stderr.write("\nStopping: open calls get their results first. Again to leave at once.\n");
    controller.abort(new DOMException("stopped by a signal", "AbortError"));
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return {
    signal: controller.signal,
    release: () => void process.off("SIGINT", onSignal).off("SIGTERM", onSignal),
  };
}
