/**
 * One shell command as a process group.
 *
 * Owns: start, deadline, abort, the end of the group, and the wait for its output. Does not own: what is made of the output.
 * Invariants:
 * 1. It resolves: when the shell has exited, or when the group was told to end and has, or has outlived KILL and is named.
 * 2. A background child that keeps the output open does not hold it up, and is not cut off: its further output is read and dropped.
 * 3. Groups that still run when the runtime exits are ended.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { endGroup, endGroupsNow, hasMarkedMember, liveMembers, type Member, markName } from "./process-group.ts";
import { errorCode } from "./workspace.ts";

export interface Command {
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  signal: AbortSignal;
  /** Both streams in the order they were written. May return a promise: no more is read until it is settled. */
  onOutput(chunk: Buffer): void | Promise<void>;
}

export interface CommandEnd {
  /** Of the shell; null if a signal ended it, or if it outlived KILL. */
  exitCode: number | null;
  exitSignal: NodeJS.Signals | null;
  /** Why it was told to end, if it was. */
  stopped?: "aborted" | "deadline";
  /** Live processes of the group: in the background after an exit, survivors after KILL. */
  group: Member[];
  /** Live processes that the command started and that have left its group. */
  left: Member[];
}

/** After the shell's exit, what is still in the pipe arrives within this; longer, a background child holds it open. */
const pipeGraceMs = 200;
/** How often that wait is repeated while what has arrived is still being taken in, on a slow disk. */
const pipeRounds = 50;

/** Rounds of the event loop in which a full pipe is read: it holds one chunk or a few. */
const pipeTurns = 4;

interface Running {
  mark: string;
  /** The shell has not been collected yet, so its number cannot have gone to another process. */
  shell: boolean;
}

const running = new Map<number, Running>();
let watchingExit = false;

export async function runCommand(command: Command): Promise<CommandEnd> {
  command.signal.throwIfAborted();
  const mark = randomUUID();
  const child = await start(command, mark);
  const pgid = child.pid;
  if (pgid === undefined || child.stdout === null) throw new Error("the shell has neither a process id nor an output");
  const output = child.stdout;
  const entry = track(pgid, mark);
  const reader = new OutputReader(output, command.onOutput);
  const exit = new Promise<{ exitCode: number | null; exitSignal: NodeJS.Signals | null }>((resolve) => {
    child.once("exit", (exitCode, exitSignal) => {
      entry.shell = false;
      resolve({ exitCode, exitSignal });
    });
  });
  const stop = stopRequest(command);
  const first = await Promise.race([exit, stop.requested]);
  stop.forget();
  if ("stopped" in first) await endGroup(pgid);
  // After KILL a shell that cannot die (a hung disk) must hold up neither the call nor the runtime's exit.
  const ended = "stopped" in first ? await settledOr(exit, { exitCode: null, exitSignal: null }) : first;
  child.unref();
  await reader.finish();
  const rest = liveMembers(pgid, mark);
  if (rest.group.length === 0) running.delete(pgid);
  return { ...ended, ...("stopped" in first ? first : {}), ...rest };
}

/** Ends every group that is still running, waiting a moment for it. For a host that is told to quit. */
export function endRunningCommands(): void {
  const ours = [...running].filter(([pgid, { mark, shell }]) => shell || hasMarkedMember(pgid, mark));
  endGroupsNow(ours.map(([pgid]) => pgid));
  running.clear();
}

async function start({ command, cwd, env }: Command, mark: string): Promise<ChildProcess> {
  const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
  try {
    // One pipe for both streams, so that their order is the true one; the outer shell gives way to the inner.
    const child = spawn("/bin/sh", ["-c", 'exec "$0" -c "$1" 2>&1', shell, command], {
      cwd,
      env: { ...env, [markName]: mark },
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    await once(child, "spawn"); // rejects on an error before
    child.on("error", () => undefined); // a later one is a signal that could not be sent; the group is watched itself
    return child;
  } catch (error) {
    throw startFailure(error, cwd);
  }
}

function startFailure(cause: unknown, cwd: string): Error {
  if (errorCode(cause) === "E2BIG") {
    return new Error("the command is too long for the system: write it to a file and run that", { cause });
  }
  if (!existsSync(cwd)) return new Error(`the folder ${cwd} is gone: nothing was run`, { cause });
  return new Error(
    `the shell could not be started (${cause instanceof Error ? cause.message : cause}): nothing was run`,
    { cause },
  );
}

function stopRequest({ signal, timeoutMs }: Command) {
  const { promise, resolve } = Promise.withResolvers<{ stopped: "aborted" | "deadline" }>();
  const onAbort = () => resolve({ stopped: "aborted" });
  const timer = setTimeout(() => resolve({ stopped: "deadline" }), timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  return {
    requested: promise,
    forget: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

/** Reads the output for as long as the call wants it, and on after that without a use for it. */
class OutputReader {
  readonly #output: Readable;
  readonly #take: Command["onOutput"];
  readonly #closed: Promise<"closed">;
  readonly #waiting: Buffer[] = [];
  #busy = false;
  #wanted = true;

  constructor(output: Readable, take: Command["onOutput"]) {
    this.#output = output;
    this.#take = take;
    this.#closed = new Promise((resolve) => output.once("close", () => resolve("closed")));
    output.on("error", () => undefined); // the pipe broke: no more to read, and the exit tells the rest
    output.on("data", (chunk: Buffer) => {
      if (!this.#wanted) return;
      this.#waiting.push(chunk);
      if (!this.#busy) void this.#work();
    });
  }

  /** After the shell's exit: the rest of the output. What then still holds the pipe open is in the background. */
  async finish(): Promise<void> {
    for (let round = 0; round < pipeRounds; round++) {
      await settledOr(this.#closed, "open");
      // A timer that was late because the runtime was busy has overtaken what waits in the pipe.
      for (let turn = 0; turn < pipeTurns; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (this.#busy) continue;
      if (this.#output.closed) return;
      break;
    }
    // A closed pipe would kill the background child at its next word: it is read on, without keeping the runtime alive.
    this.#wanted = false;
    if ("unref" in this.#output && typeof this.#output.unref === "function") this.#output.unref();
  }

  /** One chunk after the other: a paused stream may still bring one that was under way. */
  async #work(): Promise<void> {
    this.#busy = true;
    for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
      try {
        const taken = this.#take(chunk);
        if (taken === undefined) continue;
        this.#output.pause();
        await taken;
      } catch {
        // What cannot be taken is lost; the command and its exit are not.
      }
    }
    this.#busy = false;
    this.#output.resume();
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

function track(pgid: number, mark: string): Running {
  const entry = { mark, shell: true };
  running.set(pgid, entry);
  if (!watchingExit) process.on("exit", endRunningCommands);
  watchingExit = true;
  return entry;
}
