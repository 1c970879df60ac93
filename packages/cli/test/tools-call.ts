/** A throw-away workspace, and its tools called as the runtime calls them. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { DoubtfulCall, Lock, Reconciled } from "@pawl/core";
import { type WorkspaceToolsOptions, workspaceTools } from "../src/tools/workspace-tools.ts";

export interface CallOptions {
  signal?: AbortSignal;
  key?: string;
  /** Whose call it is; default `s`. */
  session?: string;
  progress?: (data: unknown) => void;
}

interface Callable {
  execute(input: unknown, context: unknown): unknown;
  locks(input: unknown): Lock[] | Promise<Lock[]>;
  reconcile(call: DoubtfulCall<unknown>): Promise<Reconciled>;
}

export class Folder {
  /** The workspace; beside it there is `outside`. */
  readonly root: string;
  readonly outside: string;
  readonly tools: { [name: string]: Callable };
  #calls = 0;

  constructor(
    t: TestContext,
    files: { [path: string]: string | Buffer } = {},
    options: Partial<WorkspaceToolsOptions> = {},
  ) {
    const top = realpathSync(mkdtempSync(join(tmpdir(), "pawl-tools-")));
    t.after(() => rmSync(top, { recursive: true, force: true }));
    this.root = join(top, "work");
    this.outside = join(top, "outside");
    mkdirSync(this.root);
    mkdirSync(this.outside);
    writeFileSync(join(this.outside, "secret.txt"), "secret\n");
    for (const [path, content] of Object.entries(files)) this.put(path, content);
    const spillDir = join(top, "spill");
    this.tools = workspaceTools({ cwd: this.root, spillDir, ...options }) as unknown as { [name: string]: Callable };
  }

  put(path: string, content: string | Buffer): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  content(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  /** What the model is told; a throw is the test's to catch. */
  async call(name: string, input: unknown, options: CallOptions = {}): Promise<string> {
    return (await this.result(name, input, options)).text;
  }

  async result(name: string, input: unknown, options: CallOptions = {}): Promise<{ text: string; isError: boolean }> {
    this.#calls += 1;
    const signal = options.signal ?? new AbortController().signal;
    const id = options.key ?? `call-${this.#calls}`;
    const value = await this.tool(name).execute(input, {
      signal,
      abortSignal: signal,
      session: options.session ?? "s",
      callId: id,
      toolCallId: id,
      idempotencyKey: id,
      progress: options.progress ?? (() => undefined),
      messages: [],
      context: {},
    });
    if (typeof value === "string") return { text: value, isError: false };
    const output = value as { content: { text: string }[]; isError: boolean };
    return { text: output.content.map(({ text }) => text).join(""), isError: output.isError };
  }

  async locks(name: string, input: unknown): Promise<Lock[]> {
    return await this.tool(name).locks(input);
  }

  async reconcile(name: string, input: unknown, key: string): Promise<Reconciled> {
    return await this.tool(name).reconcile({
      session: "s",
      callId: key,
      idempotencyKey: key,
      input,
      enteredAt: 0,
      signal: new AbortController().signal,
    });
  }

  tool(name: string): Callable {
    const tool = this.tools[name];
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return tool;
  }
}
