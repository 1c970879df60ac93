/**
 * The MCP servers of a configuration, side by side: a server that does not come up, or misbehaves, costs its own tools and one
 * warning, never the rest.
 */
import type { Timers, Tool, ToolSet } from "@pawl/core";
import { nodeEffects } from "@pawl/core/node";
import { messageOf } from "./call-end.ts";
import type { ServerConfig, ServersConfig } from "./server-config.ts";
import { type Ground, ServerLink } from "./server-link.ts";
import { serverTool } from "./server-tool.ts";
import { toolNames } from "./tool-name.ts";
import { withVariables } from "./variable.ts";

export interface ServersOptions {
  /** The workspace: where programs run, and what servers that ask for roots are given. */
  cwd: string;
  /** Ends the connecting. */
  signal?: AbortSignal;
  /** Hears one line for each thing that is wrong. */
  warn(text: string): void;
  env?: NodeJS.ProcessEnv;
  timers?: Timers;
}

export interface ServerStatus {
  name: string;
  state: "connected" | "lost" | "failed" | "off";
  /** What its tools are called by the model. */
  tools: string[];
  /** Why it is not connected. */
  trouble?: string;
}

export interface ConnectedServers {
  /**
   * Their tools as of now, `mcp__SERVER__TOOL`. Ask once for each turn: what a server says of a changed list counts from the next
   * time on, so that no request of a turn that is under way has another prefix than the one before.
   */
  tools(): Promise<ToolSet>;
  status(): ServerStatus[];
  /** Ends the connections, and the programs with all that they started. */
  close(): Promise<void>;
}

/** Connects to all that are enabled, at the same time; resolves when each has answered or failed. */
export async function connectServers(servers: ServersConfig, options: ServersOptions): Promise<ConnectedServers> {
  const { cwd, warn, env = process.env, timers = nodeEffects().timers } = options;
  const signal = options.signal ?? new AbortController().signal;
  const ground: Ground = { cwd, env, timers, warn };
  const failed = new Map<string, string>();
  const open = async (name: string, config: ServerConfig): Promise<ServerLink | undefined> => {
    let link: ServerLink | undefined;
    try {
      link = new ServerLink(name, withVariables(config, env, name), ground);
      await link.open(signal);
      return link;
    } catch (error) {
      await link?.close();
      const why = messageOf(error);
      failed.set(name, why);
      warn(why.startsWith("MCP server") ? why : `MCP server ${name} is not used: ${why}`);
      return undefined;
    }
  };
  const enabled = Object.entries(servers).filter(([, config]) => config.enabled !== false);
  const opened = await Promise.all(enabled.map(([name, config]) => open(name, config)));
  const links = opened.filter((link) => link !== undefined);
  let named = nameAll(links, warn);

  const statusOf = (name: string): ServerStatus => {
    const link = links.find((one) => one.name === name);
    if (link === undefined) {
      const trouble = failed.get(name);
      return trouble === undefined ? { name, state: "off", tools: [] } : { name, state: "failed", tools: [], trouble };
    }
    const tools = named.filter((one) => one.link === link).map((one) => one.name);
    const { connected, trouble } = link;
    return { name, state: connected ? "connected" : "lost", tools, ...(trouble === undefined ? {} : { trouble }) };
  };
  return {
    async tools() {
      await Promise.all(links.map((link) => link.relisted()));
      named = nameAll(links, warn);
      return Object.fromEntries(named.map(({ name, tool }) => [name, tool]));
    },
    status: () => Object.keys(servers).map(statusOf),
    close: async () => void (await Promise.all(links.map((link) => link.close()))),
  };
}

interface Named {
  name: string;
  link: ServerLink;
  tool: Tool<never>;
}

function nameAll(links: readonly ServerLink[], warn: (text: string) => void): Named[] {
  const all = links.flatMap((link) => link.offered.map((offered) => ({ link, offered })));
  const names = toolNames(all.map(({ link, offered }) => ({ server: link.name, tool: offered.name })));
  return all.flatMap(({ link, offered }, at) => {
    const name = names[at];
    if (name !== undefined) return [{ name, link, tool: serverTool(link, offered) as Tool<never> }];
    warn(
      `MCP server ${link.name}: its tool ${JSON.stringify(offered.name)} cannot be told from another, and is left out`,
    );
    return [];
  });
}
