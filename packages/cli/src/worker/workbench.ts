/**
 * What a worker drives a session with: the same as `pawl run` in the session's own folder.
 *
 * Owns: set-up at each claim (configuration, model, sandbox, servers), so that what people change counts from the next turn on.
 * Does not own: which sessions are claimed. Invariants:
 * 1. Tools run in the session's folder or not at all: a session whose folder is not on this machine is left to others.
 * 2. Nobody sits here: a question waits in the log until somebody answers it, from anywhere.
 * 3. Servers of a folder are connected while a session of it is driven, and shared by those.
 */
import { statSync } from "node:fs";
import { type Agent, type LogEntry, PawlError, type Runtime, type Session } from "@pawl/core";
import { codingAgent } from "../agent.ts";
import { namedServers } from "../mcp/named-servers.ts";
import type { ConnectedServers } from "../mcp/servers.ts";
import { hostsOfInputs } from "../named-hosts.ts";
import { storeFolder } from "../place.ts";
import { type Setup, type SetupOptions, sandboxOf, setUp } from "../setup.ts";
import { line } from "../style.ts";
import type { TaskWatch } from "../task-watch.ts";

export interface WorkbenchOptions extends SetupOptions {
  store?: string;
  /** A file that names MCP servers besides those of the configuration. */
  mcpConfig?: string;
}

export interface Seat {
  cwd: string;
  title?: string;
}

interface Shared {
  servers: Promise<ConnectedServers | undefined>;
  sessions: Set<string>;
}

export class Workbench {
  readonly #runtime: Runtime;
  readonly #options: WorkbenchOptions;
  readonly #tasks: TaskWatch;
  /** Hears what an operator has to know of the set-up of a folder, each once. */
  readonly #warn: (text: string) => void;
  readonly #warned = new Set<string>();
  readonly #closed = new AbortController();
  /** By folder. */
  readonly #shared = new Map<string, Shared>();
  readonly #seats = new Map<string, Seat>();
  readonly #named = new Map<string, Set<string>>();

  constructor(runtime: Runtime, options: WorkbenchOptions, tasks: TaskWatch, warn: (text: string) => void) {
    this.#runtime = runtime;
    this.#options = options;
    this.#tasks = tasks;
    this.#warn = warn;
  }

  /** Of a session that was sat down to. */
  seat(session: string): Seat | undefined {
    return this.#seats.get(session);
  }

  /** Fails with NOT_SUPPORTED where the session's folder is not here, INVALID_INPUT where the set-up is wrong. */
  async agent(session: Session): Promise<Agent> {
    const head = (await session.summary())?.head;
    this.#seats.set(session.id, { cwd: head?.cwd ?? "", ...(head?.title === undefined ? {} : { title: head.title }) });
    const cwd = folderHere(head ?? {});
    const setup = await setUp(this.#options, cwd);
    const dir = storeFolder(this.#options.store);
    const sandbox = await sandboxOf(setup, cwd, dir);
    for (const words of [...setup.notices, ...(sandbox.notice === undefined ? [] : [sandbox.notice])])
      this.#warnOnce(words);
    const named = hostsOfInputs(await session.entries());
    this.#named.set(session.id, named);
    const serverTools = await (await this.#servers(session.id, cwd, setup))?.tools();
    return codingAgent({
      runtime: this.#runtime,
      setup,
      sandbox,
      cwd,
      dir,
      store: this.#options.store,
      person: undefined,
      unanswered: "wait",
      tasks: this.#tasks,
      named,
      ...(serverTools ? { serverTools } : {}),
    });
  }

  /** What people say meanwhile names hosts, too. */
  hear(session: string, entry: LogEntry): void {
    const named = this.#named.get(session);
    if (named && entry.event.type === "input.accepted") for (const host of hostsOfInputs([entry])) named.add(host);
  }

  /** The session is driven here no longer. */
  leave(session: string): void {
    this.#named.delete(session);
    this.#seats.delete(session);
    for (const [cwd, { sessions, servers }] of this.#shared) {
      if (!sessions.delete(session) || sessions.size > 0) continue;
      this.#shared.delete(cwd);
      void end(servers);
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all([...this.#shared.values()].map(({ servers }) => end(servers)));
  }

  #servers(session: string, cwd: string, { config }: Setup): Promise<ConnectedServers | undefined> {
    const known = this.#shared.get(cwd);
    const shared: Shared = known ?? {
      sessions: new Set(),
      servers: namedServers({
        configured: config.values.mcpServers,
        file: this.#options.mcpConfig,
        cwd,
        signal: this.#closed.signal,
        warn: (text) => this.#warnOnce(text),
      }),
    };
    this.#shared.set(cwd, shared);
    shared.sessions.add(session);
    return shared.servers;
  }

  #warnOnce(text: string): void {
    if (this.#warned.has(text)) return;
    this.#warned.add(text);
    this.#warn(text);
  }
}

async function end(servers: Promise<ConnectedServers | undefined>): Promise<void> {
  await (await servers.catch(() => undefined))?.close();
}

function folderHere({ cwd, workspace }: { cwd?: string; workspace?: string }): string {
  if (cwd === undefined)
    throw new PawlError("NOT_SUPPORTED", "it names no folder to work in; a session gets one with pawl post --cwd DIR");
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return cwd;
  // Of the two words, the one that was said of this machine is the wrong one.
  const has = workspace === undefined ? "" : `, which has the workspace ${line(workspace, 72)} all the same`;
  throw new PawlError("NOT_SUPPORTED", `its folder ${cwd} is not on this machine${has}; left to a worker that has it`);
}
