/** A folder with a store and a workspace, the agent that is killed in it (supervisor-host), and the one that takes over. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  watch,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { type EventOf, openSession, verify } from "@pawl/core";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import { workspaceTools } from "../src/tools/workspace-tools.ts";
import { commandsOf, openRuntimeOn } from "./supervisor-machine.ts";

export interface Settled {
  by: string;
  text: string;
  isError: boolean;
}

/** Says that it ran, then waits on a pipe for the word to go on. */
export const waiting = "echo ran >> count; echo before; touch ready; read word < pipe; echo after $word";

export class CrashWorld {
  readonly top: string;
  readonly work: string;
  readonly commandDir: string;
  /** Where sessions are: a folder, or a database. */
  readonly place: string;
  readonly #t: TestContext;
  #ended: Promise<unknown> | undefined;

  constructor(t: TestContext, place?: string) {
    this.#t = t;
    this.top = realpathSync(mkdtempSync(join(tmpdir(), "pawl-crash-")));
    this.work = join(this.top, "work");
    this.place = place ?? join(this.top, "store");
    this.commandDir = join(this.top, "store", "commands");
    mkdirSync(this.work);
    execFileSync("mkfifo", [join(this.work, "pipe")]);
    t.after(() => rmSync(this.top, { recursive: true, force: true, maxRetries: 5 }));
  }

  /** `on`: a machine of that name; default: this one. */
  host(
    trap: "none" | "asked" | "entered" | "paused" | "quit" | "open",
    command: string,
    timeoutMs = 60_000,
    on?: string,
  ): ChildProcess {
    const script = fileURLToPath(new URL("./supervisor-host.ts", import.meta.url));
    const child = spawn(
      process.execPath,
      [script, this.top, trap, command, String(timeoutMs), ...(on ? [on, this.place] : [])],
      {
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    this.#t.after(() => child.kill("SIGKILL"));
    this.#ended = once(child, "exit");
    return child;
  }

  /** Writes into the pipe that {@link waiting} reads, as soon as it does. */
  letGoOn(word: string): void {
    const writer = spawn("/bin/sh", ["-c", `echo ${word} > pipe`], { cwd: this.work, stdio: "ignore" });
    this.#t.after(() => writer.kill("SIGKILL"));
  }

  tools(commandDir = this.commandDir): ReturnType<typeof workspaceTools> {
    return workspaceTools({ cwd: this.work, spillDir: join(this.top, "spill"), commandDir });
  }

  /** Takes the session over, in this process, as a machine of the name `on`. The result of the last call of the step that was open. */
  async resume(on?: string, commandDir = commandsOf(this.top, on)): Promise<Settled> {
    const runtime = await openRuntimeOn(this.place, on);
    try {
      const session = await openSession(runtime, "s");
      const model = scriptedModel([[...say("done"), finish()]]);
      const result = await session.resume({ model, tools: this.tools(commandDir), permission: () => "allow" }).result;
      assert.equal(result.outcome.type, "completed");
      const entries = await session.entries();
      assert.deepEqual(
        verify(entries).flatMap(({ violations }) => violations),
        [],
      );
      const settled = entries.map(({ event }) => event).findLast(({ type }) => type === "tool.settled");
      const { output, by } = settled as EventOf<"tool.settled">;
      return {
        by,
        isError: output.isError,
        text: output.content.map((part) => (part.type === "text" ? part.text : "")).join(""),
      };
    } finally {
      await runtime.store.close();
    }
  }

  /** How often the command's side effect happened. */
  get ran(): number {
    return existsSync(join(this.work, "count")) ? this.content("count").trim().split("\n").length : 0;
  }

  content(name: string): string {
    return readFileSync(join(this.work, name), "utf8");
  }

  /** Resolves once the workspace has such a file. */
  made(name: string): Promise<void> {
    return appears(this.work, name, this.#ended);
  }

  /** The folders of calls, in the order they were entered. */
  get calls(): string[] {
    if (!existsSync(this.commandDir)) return [];
    const entered = (path: string) =>
      statSync(join(path, "request.json"), { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    return readdirSync(this.commandDir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(this.commandDir, name))
      .sort((a, b) => entered(a) - entered(b));
  }

  get lastCall(): string {
    const last = this.calls.at(-1);
    assert.ok(last !== undefined);
    return last;
  }

  /** The process that the last call's claim names. */
  get supervisor(): number {
    const claim = JSON.parse(readFileSync(join(this.lastCall, "claim"), "utf8")) as { process: { pid: number } };
    return claim.process.pid;
  }
}

/** Rejects with what `ended` has to say where that comes first: a process that died makes no more files. */
export async function appears(folder: string, name: string, ended?: Promise<unknown>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const look = () => {
    if (existsSync(join(folder, name))) resolve();
  };
  const watcher = watch(folder, look);
  look();
  void ended?.then((how) => {
    look();
    reject(new Error(`it ended without ${name}: ${JSON.stringify(how)}`));
  });
  try {
    await promise;
  } finally {
    watcher.close();
  }
}

export async function killed(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** Resolves once the process is dead, collected or not. */
export async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
}

/** Dead and not yet collected counts as dead. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
