/** The real `pawl` in a world of its own: store, workspace, HOME and XDG folders, and model servers on free ports. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type ModelServer,
  type Protocol,
  type Script,
  type ScriptFunction,
  startModelServer,
} from "@pawl/model-server";

const bin = fileURLToPath(new URL("../bin/pawl.js", import.meta.url));
/** Shared by the worlds of one file, so that only its first start is a cold one. */
const cache = mkdtempSync(join(tmpdir(), "pawl-cache-"));
process.once("exit", () => rmSync(cache, { recursive: true, force: true }));

/** Divides every wait of the process by fifty: a budget of back-offs is used up in a moment. */
export const quickTimers = { NODE_OPTIONS: `--import=${new URL("./quick-timers.ts", import.meta.url).href}` };

export const providerOf = { chat: "openai-chat", responses: "openai", anthropic: "anthropic" } as const;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface LoggedEvent {
  seq: number;
  time: number;
  type: string;
  [field: string]: unknown;
}

export interface LastLine {
  ok: boolean;
  outcome: string | null;
  text: string;
  session: string | null;
  turn: string | null;
  usage: { input: number; output: number };
  error: { code: string; message: string; exit: number; until?: number; failure?: unknown } | null;
}

/** A `pawl` under way. */
export class Running {
  readonly process: ChildProcess;
  /** Whole lines of standard output so far. */
  readonly lines: string[] = [];
  /** Standard error so far. */
  stderr = "";
  readonly ended: Promise<Ended>;
  readonly #waiting: { count: number; resolve: () => void }[] = [];
  readonly #listening: { words: RegExp; resolve: () => void }[] = [];

  constructor(child: ChildProcess) {
    this.process = child;
    let stdout = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
      const whole = stdout.split("\n").slice(0, -1);
      this.lines.push(...whole.slice(this.lines.length));
      for (const { count, resolve } of this.#waiting) if (this.lines.length >= count) resolve();
    });
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      this.stderr += chunk;
      for (const { words, resolve } of this.#listening) if (words.test(this.stderr)) resolve();
    });
    this.ended = once(child, "close").then(([code, signal]) => {
      // Whoever waits for a line that never came is told that there will be none.
      for (const { resolve } of [...this.#waiting, ...this.#listening]) resolve();
      return { code, signal, stdout, stderr: this.stderr };
    });
  }

  /** Resolves when so many lines are there, or the process has ended. */
  async linesSeen(count: number): Promise<void> {
    if (this.lines.length >= count || this.process.exitCode !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ count, resolve });
    await promise;
  }

  /** Resolves when standard error has such words, or the process has ended. */
  async said(words: RegExp): Promise<void> {
    if (words.test(this.stderr) || this.process.exitCode !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#listening.push({ words, resolve });
    await promise;
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }
}

export class World {
  readonly root: string;
  readonly work: string;
  readonly store: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #t: TestContext;

  constructor(t: TestContext, env: NodeJS.ProcessEnv = {}) {
    this.#t = t;
    this.root = realpathSync(mkdtempSync(join(tmpdir(), "pawl-run-")));
    this.work = join(this.root, "work");
    this.store = join(this.root, "store");
    const home = join(this.root, "home");
    for (const folder of [this.work, home]) mkdirSync(folder);
    this.env = {
      PATH: process.env["PATH"],
      HOME: home,
      XDG_DATA_HOME: join(home, "data"),
      XDG_CONFIG_HOME: join(this.root, ".config"),
      XDG_CACHE_HOME: cache,
      TMPDIR: this.root,
      ...env,
    };
    this.configure({});
    t.after(() => rmSync(this.root, { recursive: true, force: true, maxRetries: 3 }));
  }

  /** The user's own configuration file. Without a word of it, commands run as they are: machines differ in what they can start. */
  configure(config: object): void {
    const folder = join(this.root, ".config", "pawl");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.json"), JSON.stringify({ sandbox: "off", ...config }));
  }

  async server(script: Script | ScriptFunction): Promise<ModelServer> {
    const server = await startModelServer({ script });
    this.#t.after(() => server.close());
    return server;
  }

  /** The arguments that name the model, the workspace and the store. */
  place(server: ModelServer, protocol: Protocol = "chat"): string[] {
    const model = ["--model", `${providerOf[protocol]}:scripted`, "--base-url", server.baseUrl(protocol)];
    return [...model, "--cwd", this.work, "--store", this.store];
  }

  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    return this.startAs([process.execPath], args, env);
  }

  /** In a terminal of its own, with these lines typed into it. Both streams are one; carriage returns are taken out. */
  inTerminal(typed: string, args: readonly string[]): Promise<Ended> {
    return this.atTerminal([[/^/, typed]], args);
  }

  /** The same, where each text is typed once its words have appeared behind those of the one before. */
  async atTerminal(typed: readonly [RegExp, string | (() => string)][], args: readonly string[]): Promise<Ended> {
    const line = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(" ");
    // `exec`: a shell in between would die of a Ctrl-C that the program takes well.
    const child = spawn("script", ["-qec", `exec ${line}`, "/dev/null"], {
      cwd: this.work,
      env: { ...this.env, NO_COLOR: "1", TERM: "dumb" },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#t.after(() => child.kill("SIGKILL"));
    const left = [...typed];
    let seen = "";
    const type = (chunk: string) => {
      seen += chunk;
      for (let next = left[0]; next?.[0].test(seen); next = left[0]) {
        child.stdin.write(typeof next[1] === "string" ? next[1] : next[1]());
        seen = seen.replace(next[0], "");
        left.shift();
      }
    };
    type("");
    child.stdout.on("data", (chunk: Buffer) => type(chunk.toString("utf8")));
    const ended = await new Running(child).ended;
    return { ...ended, stdout: ended.stdout.replaceAll("\r", "") };
  }

  /** On a disk where no file may grow beyond so many blocks of 512 bytes, until `prlimit` says otherwise. */
  startConfined(blocks: number, args: readonly string[]): Running {
    return this.startAs(["/bin/sh", "-c", `ulimit -S -f ${blocks}; exec "$0" "$@"`, process.execPath], args, {});
  }

  startAs([command = "", ...before]: readonly string[], args: readonly string[], env: NodeJS.ProcessEnv): Running {
    const child = spawn(command, [...before, bin, ...args], {
      cwd: this.work,
      env: { ...this.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#t.after(() => child.kill("SIGKILL"));
    return new Running(child);
  }

  pawl(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return this.start(args, env).ended;
  }

  /** The events of a session as `pawl show --json` prints them, line by line. */
  async shown(session: string): Promise<string[]> {
    const { code, stdout, stderr } = await this.pawl(["show", session, "--json", "--store", this.store]);
    if (code !== 0) throw new Error(`pawl show ended with ${code}: ${stderr}`);
    return stdout.trimEnd().split("\n");
  }

  /** The laws hold: exit code 0. */
  async verified(session: string): Promise<Ended> {
    return this.pawl(["verify", session, "--store", this.store]);
  }

  read(path: string): string {
    return readFileSync(join(this.work, path), "utf8");
  }
}

export function lastLine(stdout: string): LastLine {
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as LastLine;
}

/** The events that `--json` printed, without the summary. */
export function eventsOf(stdout: string): LoggedEvent[] {
  const lines = stdout.trimEnd().split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as LoggedEvent);
}

/** Resolves with the first line that a program writes into the pipe `path`. */
export async function firstLineOf(path: string): Promise<string> {
  const { createReadStream } = await import("node:fs");
  for await (const line of createInterface({ input: createReadStream(path) })) return line;
  return "";
}
