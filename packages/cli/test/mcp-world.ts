/** MCP servers for a test, connected and closed with it, and their tools called as the runtime calls them. */
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Part, Timers, Tool } from "@pawl/core";
import type { ServersConfig } from "../src/mcp/server-config.ts";
import { type ConnectedServers, connectServers } from "../src/mcp/servers.ts";

export const everything = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);
const odd = fileURLToPath(new URL("./mcp-odd-server.ts", import.meta.url));

/** Runs what is to wait up to so many milliseconds at once, and what is to wait longer never. */
export function hastyTimers(longest: number): Timers {
  return {
    after(ms, fn) {
      const timer = ms <= longest ? setImmediate(fn) : undefined;
      return () => clearImmediate(timer);
    },
  };
}

export interface Called {
  content: Part[];
  isError: boolean;
  text: string;
}

export class ServerWorld {
  readonly top: string;
  readonly warnings: string[] = [];
  servers: ConnectedServers | undefined;
  #calls = 0;

  constructor(t: TestContext) {
    this.top = realpathSync(mkdtempSync(join(tmpdir(), "pawl-mcp-")));
    t.after(async () => {
      await this.servers?.close();
      rmSync(this.top, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  /** The odd server, behaving in that manner. */
  odd(manner: string): { command: string; args: string[] } {
    return { command: process.execPath, args: [odd, manner, join(this.top, "effects"), join(this.top, "starts")] };
  }

  async connect(
    config: ServersConfig,
    options: { timers?: Timers; env?: NodeJS.ProcessEnv; signal?: AbortSignal } = {},
  ) {
    const warn = (text: string) => this.warnings.push(text);
    this.servers = await connectServers(config, { cwd: this.top, warn, ...options });
    return this.servers;
  }

  async tool(name: string): Promise<Tool> {
    const tools = (await this.servers?.tools()) ?? {};
    const tool = tools[name] as Tool | undefined;
    if (tool === undefined) throw new Error(`no tool ${name}: ${Object.keys(tools).join(", ")}`);
    return tool;
  }

  async call(
    name: string,
    input: unknown = {},
    { signal = new AbortController().signal, progress = (_: unknown) => {} } = {},
  ): Promise<Called> {
    const tool = await this.tool(name);
    const id = `call-${++this.#calls}`;
    const value = (await tool.execute?.(input, {
      signal,
      abortSignal: signal,
      session: "s",
      callId: id,
      toolCallId: id,
      idempotencyKey: id,
      progress,
      messages: [],
      context: {},
    })) as { content: Part[]; isError: boolean };
    const text = value.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    return { ...value, text };
  }

  lines(name: "effects" | "starts"): string[] {
    const path = join(this.top, name);
    return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
  }

  /** The number of the process that was started last. */
  get pid(): number {
    return Number(this.lines("starts").at(-1));
  }
}
