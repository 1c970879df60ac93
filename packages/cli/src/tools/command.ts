/**
 * One shell command as a process group. Runs inside the supervisor.
 *
 * Owns: start, deadline, the end of the group, and the wait for its output. Does not own: what is made of the output,
 * whether it may start. Invariants:
 * 1. It resolves: when the shell has exited, or when the group was told to end and has, or has outlived KILL and is named.
 * 2. A background child that keeps the output open does not hold it up, and is not cut off: its further output is read and dropped.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import type { CommandEnd, StopReason } from "./command-folder.ts";
import { endGroup, exitGraceMs, liveMembers, markName, termGraceMs } from "./process-group.ts";

export interface Command {
  command: string;
  /** A program and arguments that stand before the shell; default none. */
  wrap?: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  /** In its environment, to know its descendants by. */
  mark: string;
  /** Resolves when it shall end. */
  stop: Promise<StopReason>;
  onStart(pgid: number): void;
  /** Both streams in the order they were written. */
  onOutput(chunk: Buffer): void;
}

/** After the shell's exit, what is still in the pipe arrives within this; longer, a background child holds it open. */
const pipeGraceMs = 200;

/** Rounds of the event loop in which a full pipe is read: it holds one chunk or a few. */
const pipeTurns = 4;

/** Rejects where the shell could not be started: then nothing was run. */
export async function runCommand(command: Command): Promise<CommandEnd> {
  const { child, pgid, output } = await start(command);
  const reader = new OutputReader(output, command.onOutput);
  const exit = new Promise<{ exitCode: number | null; exitSignal: NodeJS.Signals | null }>((resolve) => {
    child.once("exit", (exitCode, exitSignal) => resolve({ exitCode, exitSignal }));
  });
  command.onStart(pgid);
  const deadline = Promise.withResolvers<StopReason>();
  const timer = setTimeout(() => deadline.resolve("deadline"), command.timeoutMs);
  const stop = Promise.race([command.stop, deadline.promise]).then((stopped) => ({ stopped }));
  const first = await Promise.race([exit, stop]);
  clearTimeout(timer);
  // Who quits holds up a terminal: a shell then gets less time to tidy up.
  if ("stopped" in first) await endGroup(pgid, first.stopped === "exit" ? exitGraceMs : termGraceMs);
  // After KILL a shell that cannot die (a hung disk) must hold up neither the call nor the supervisor's exit.
  const ended = "stopped" in first ? await settledOr(exit, { exitCode: null, exitSignal: null }) : first;
  child.unref();
  await reader.finish();
  return { ...ended, ...("stopped" in first ? first : {}), ...liveMembers(pgid, command.mark) };
}

async function start({ command, wrap = [], cwd, env, mark }: Command) {
  const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
  try {
    // One pipe for both streams, so that their order is the true one; the outer shell gives way to the inner.
    const child = spawn("/bin/sh", ["-c", 'exec "$@" 2>&1', "sh", ...wrap, shell, "-c", command], {
      cwd,
      env: { ...env, [markName]: mark },
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    await once(child, "spawn"); // rejects on an error before
    child.on("error", () => undefined); // a later one is a signal that could not be sent; the group is watched itself
    if (child.pid === undefined) throw new Error("it has no process id");
    return { child, pgid: child.pid, output: child.stdout };
  } catch (error) {
    throw startFailure(error, cwd);
  }
}

function startFailure(cause: unknown, cwd: string): Error {
  if (cause instanceof Error && "code" in cause && cause.code === "E2BIG") {
    return new Error("the command is too long for the system: write it to a file and run that", { cause });
  }
  if (!existsSync(cwd)) return new Error(`the folder ${cwd} is gone: nothing was run`, { cause });
  return new Error(
    `the shell could not be started (${cause instanceof Error ? cause.message : cause}): nothing was run`,
    { cause },
  );
}

/** Reads the output for as long as the call wants it, and on after that without a use for it. */
class OutputReader {
  readonly #closed: Promise<"closed">;
  #wanted = true;

  constructor(output: Readable, take: Command["onOutput"]) {
    this.#closed = new Promise((resolve) => output.once("close", () => resolve("closed")));
    output.on("error", () => undefined); // the pipe broke: no more to read, and the exit tells the rest
    // Never paused or closed: a closed pipe would kill a background child at its next word.
    output.on("data", (chunk: Buffer) => {
      if (this.#wanted) take(chunk);
    });
  }

  /** After the shell's exit: the rest of the output. What then still holds the pipe open is in the background. */
  async finish(): Promise<void> {
    await settledOr(this.#closed, "open");
    // A timer that was late because the disk was slow has overtaken what waits in the pipe.
    for (let turn = 0; turn < pipeTurns; turn++) await new Promise((resolve) => setImmediate(resolve));
    this.#wanted = false;
  }
}

async function settledOr<T, F>(promise: Promise<T>, otherwise: F): Promise<T | F> {
  const { promise: late, resolve } = Promise.withResolvers<F>();
  const timer = setTimeout(() => resolve(otherwise), pipeGraceMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
