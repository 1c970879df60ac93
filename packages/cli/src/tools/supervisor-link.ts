/**
 * The runtime's end of the channel to its supervisor.
 *
 * Owns: the one supervisor of this process, from the first command on; who waits for which report; the word at the end. Does not
 * own: what the supervisor does. Invariants:
 * 1. A command under way keeps the runtime alive; an idle supervisor and a job that has started do not.
 * 2. A runtime that ends in an orderly way says so: see {@link endRunningCommands}.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExitRecord } from "./command-folder.ts";
import { exitGraceMs, isRunning } from "./process-group.ts";
import type { Order, Report } from "./supervisor.ts";

type StartOrder = Extract<Order, { do: "start" }>;

export interface Watch {
  signal: AbortSignal;
  /** The start of the output is in its file up to here. */
  onGrown(bytes: number): void;
  /** It has started. */
  onStarted?(): void;
  /** A job: the abort ends it as `killed`, and once it has started the runtime may end all the same. */
  background?: boolean;
}

/** `lost`: the supervisor died over it, and what became of the command is to be found out. */
export type Answer =
  | { type: "ended"; record: ExitRecord & { ran: true }; rescued?: string | undefined }
  | { type: "refused"; why: string }
  | { type: "lost" };

interface Waiting {
  watch: Watch;
  started: boolean;
  answer(answer: Answer): void;
}

/** After a quit the groups get their grace, KILL, and their records are written; longer is a disk that hangs. */
const quitMs = exitGraceMs + 1_200;
const pollMs = 5;

let current: SupervisorLink | undefined;
let watchingExit = false;

/** Runs a command under the supervisor, which is started if need be. The abort of `signal` has it ended, and its end awaited. */
export async function supervised(order: Omit<StartOrder, "do">, watch: Watch): Promise<Answer> {
  watch.signal.throwIfAborted();
  return await liveLink().run({ do: "start", ...order }, watch);
}

/**
 * Ends every command that is still running, and what finished ones have left in the background; waits a moment for it,
 * without the event loop. For a host that is told to quit by a signal; an exit of the process does it by itself.
 */
export function endRunningCommands(): void {
  current?.quit();
  current = undefined;
}

function liveLink(): SupervisorLink {
  if (current?.dead === false) return current;
  if (!watchingExit) process.on("exit", endRunningCommands);
  watchingExit = true;
  current = new SupervisorLink();
  return current;
}

class SupervisorLink {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<string, Waiting>();
  #dead = false;
  /** Something may be left in the background. */
  #left = false;

  constructor() {
    const script = fileURLToPath(new URL(`./supervisor${extname(import.meta.url)}`, import.meta.url));
    this.#process = spawn(process.execPath, [script], {
      // Not the workspace: that may be removed, or lie on a disk to be taken out.
      cwd: "/",
      // Nothing of ours: options for this process (inspector, loaders, coverage) are not for that one.
      env: { PATH: process.env["PATH"] },
      // A group and session of its own: neither Ctrl-C nor the end of the terminal means it.
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#process.on("message", (report: Report) => this.#hear(report));
    this.#process.on("error", () => this.#die()); // it could not be started
    // Not the exit: that may be heard before the last reports are.
    this.#process.on("disconnect", () => this.#die());
    this.#process.unref();
    this.#hold();
  }

  get dead(): boolean {
    return this.#dead;
  }

  async run(order: StartOrder, watch: Watch): Promise<Answer> {
    const { signal, background } = watch;
    if (this.#waiting.has(order.folder)) return { type: "refused", why: "this call is under way: nothing was run" };
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const onAbort = () => this.#send({ do: "stop", folder: order.folder, reason: background ? "killed" : "aborted" });
    this.#waiting.set(order.folder, { watch, started: false, answer: resolve });
    this.#hold();
    this.#send(order);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#waiting.delete(order.folder);
      this.#hold();
    }
  }

  quit(): void {
    const { pid } = this.#process;
    if (this.#dead || pid === undefined) return;
    this.#process.kill("SIGTERM");
    if (this.#waiting.size === 0 && !this.#left) return;
    const wait = new Int32Array(new SharedArrayBuffer(4));
    // Our child, whose end the event loop has not heard of: its number is still its own.
    for (let waited = 0; waited < quitMs && isRunning(pid); waited += pollMs) Atomics.wait(wait, 0, 0, pollMs);
  }

  #hear(report: Report): void {
    const waiting = this.#waiting.get(report.folder);
    switch (report.say) {
      case "grown":
        return waiting?.watch.onGrown(report.bytes);
      case "started":
        if (waiting) waiting.started = true;
        this.#hold();
        return waiting?.watch.onStarted?.();
      case "refused":
        return waiting?.answer({ type: "refused", why: report.why });
      case "ended":
        if (report.record.end.group.length > 0) this.#left = true;
        return waiting?.answer({ type: "ended", record: report.record, rescued: report.rescued });
    }
  }

  #die(): void {
    if (this.#dead) return;
    this.#dead = true;
    for (const { answer } of this.#waiting.values()) answer({ type: "lost" });
  }

  #send(order: Order): void {
    // What cannot be sent is answered by the end of the channel.
    if (this.#process.connected) this.#process.send(order, () => undefined);
  }

  #hold(): void {
    if ([...this.#waiting.values()].some(({ watch, started }) => !(watch.background && started)))
      this.#process.channel?.ref();
    else this.#process.channel?.unref();
  }
}
