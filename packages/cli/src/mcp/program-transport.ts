/**
 * A server that is a program of this machine, spoken to over its standard input and output.
 *
 * Owns: the process and all that it starts, lines, the end of its standard error. Does not own: what is said. Invariants:
 * 1. The end of the process is the end of the connection, also where a child of it holds the output open.
 * 2. After `close`, and after an end by itself, nothing of its process group is left.
 * 3. What is no message is passed over and said once; a line without an end closes the connection: what follows cannot be told apart.
 *
 * Not the SDK's own transport: that waits for the output to close, signals the program alone, and keeps no standard error.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { Timers } from "@pawl/core";
import { tail, visibleLine } from "../tools/text.ts";

export interface Program {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Record<string, string>;
}

/** One message: a result with several large pictures fits. */
const lineBytes = 64 * 1024 * 1024;
/** Its last words are what explains a death; a flood of them is not kept. */
const stderrChars = 2_000;
/** After the exit, what is still in the pipe arrives within this. */
const pipeGraceMs = 200;
/** A server that is told to go may write something down; most go at once. */
const closeGraceMs = 1_000;

/** It had ended before anything was sent: no call was made. */
export class NotSent extends Error {}

const groups = new Set<number>();

/** An exit without a close: at least no server stays behind. */
process.on("exit", () => {
  for (const pgid of groups) signal(pgid, "SIGTERM");
});

export class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  /** Hears the first line that was no message. */
  ongarbage?: (line: string) => void;
  readonly #program: Program;
  readonly #timers: Timers;
  readonly #read: (line: string) => JSONRPCMessage;
  #child: ChildProcessWithoutNullStreams | undefined;
  #lines: Buffer[] = [];
  #bytes = 0;
  #stderr = "";
  #end: string | undefined;
  #ended = Promise.withResolvers<void>();

  /** `read` gives the message that a line is, or throws. */
  constructor(program: Program, timers: Timers, read: (line: string) => JSONRPCMessage) {
    this.#program = program;
    this.#timers = timers;
    this.#read = read;
  }

  /** How it ended; undefined while it runs. */
  get end(): string | undefined {
    return this.#end;
  }

  /** The last that it said on its standard error. */
  get stderr(): string {
    return this.#stderr.trim();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const { command, args, cwd, env } = this.#program;
    // A group of its own: Ctrl-C is for us, and what it starts (npx does) ends with it.
    const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.#child = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = tail(this.#stderr + tail(text, stderrChars), stderrChars);
    });
    // A pipe that breaks is the end of the process, which is heard of itself.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => undefined);
    child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    try {
      await once(child, "spawn");
    } catch (error) {
      this.#finish("it could not be started");
      throw error;
    }
    if (child.pid !== undefined) groups.add(child.pid);
    child.on("error", () => undefined);
    child.once("exit", (code, name) =>
      this.#exited(name === null ? `it exited with code ${code}` : `${name} ended it`),
    );
  }

  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#end !== undefined) return Promise.reject(new NotSent(this.#end ?? "not started"));
    return new Promise((resolve, reject) => {
      child.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Its input ends, which asks it to go; then TERM, then KILL. Resolves when it is gone. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || this.#end !== undefined) return;
    child.stdin.end();
    for (const name of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#gone()) return;
      signal(child.pid, name);
    }
    if (!(await this.#gone())) this.#finish("it outlived KILL");
  }

  async #gone(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#timers.after(closeGraceMs, () => resolve(false));
    void this.#ended.promise.then(() => resolve(true));
    return promise.finally(cancel);
  }

  #exited(how: string): void {
    const stdout = this.#child?.stdout;
    const cancel = this.#timers.after(pipeGraceMs, () => this.#finish(how));
    const finish = () => {
      cancel();
      this.#finish(how);
    };
    if (stdout === undefined || stdout.closed) finish();
    else stdout.once("close", finish);
  }

  #finish(how: string): void {
    if (this.#end !== undefined) return;
    this.#end = how;
    const child = this.#child;
    if (child?.pid !== undefined) {
      signal(child.pid, "SIGKILL");
      groups.delete(child.pid);
    }
    for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy();
    child?.unref();
    this.#ended.resolve();
    this.onclose?.();
  }

  #take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...this.#lines, chunk.subarray(from, at)]).toString("utf8");
      this.#lines = [];
      this.#bytes = 0;
      from = at + 1;
      this.#hear(line);
    }
    this.#lines.push(chunk.subarray(from));
    this.#bytes += chunk.length - from;
    if (this.#bytes > lineBytes) this.#finish(`it sent ${this.#bytes} bytes without the end of a line`);
  }

  #hear(line: string): void {
    if (this.#end !== undefined || line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = this.#read(line);
    } catch {
      this.ongarbage?.(visibleLine(line.slice(0, 100)));
      delete this.ongarbage;
      return;
    }
    this.onmessage?.(message);
  }
}

function signal(pgid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pgid, name);
  } catch {
    // It has ended.
  }
}
