/**
 * One server: its connection, which comes back, and calls on it, which are sent once.
 *
 * Owns: connecting again with back-off, which end of a call means what. Does not own: what the model is told of it (server-tool), the
 * transports. Invariants:
 * 1. A call that may have been received is never sent again; one that surely was not is sent over a new connection, once.
 * 2. Connecting is bounded in time and in attempts. It never happens behind a caller's back: only to connect, and before a call.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Client, Transport } from "@modelcontextprotocol/client";
import type { Json, Timers } from "@pawl/core";
import { joinSignals, limit } from "@pawl/core";
import packageJson from "../../package.json" with { type: "json" };
import { tail, visibleLine } from "../tools/text.ts";
import { type CallEnd, callEnd, messageOf } from "./call-end.ts";
import { httpTransport } from "./http-transport.ts";
import { ProgramTransport } from "./program-transport.ts";
import type { ServerConfig } from "./server-config.ts";
import { answerSchema } from "./tool-answer.ts";
import { allTools, type OfferedTool, someOf, usableTools } from "./tool-list.ts";
import { serverEnvironment } from "./variable.ts";

/** A first start may fetch a package; what takes longer has hung. */
const startMs = 30_000;
/** Before each further attempt. */
const backoffMs = [250, 1_000, 4_000];
const goodbyeMs = 1_000;

export interface Ground {
  cwd: string;
  env: NodeJS.ProcessEnv;
  timers: Timers;
  warn(text: string): void;
}

interface Connection {
  client: Client;
  transport: Transport;
}

interface Calling {
  signal: AbortSignal;
  progress(data: Json): void;
}

export class ServerLink {
  readonly name: string;
  readonly config: ServerConfig;
  /** As last heard. */
  offered: readonly OfferedTool[] = [];
  /** Why there is no connection. */
  trouble: string | undefined;
  readonly #ground: Ground;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #listing: Promise<void> = Promise.resolve();
  readonly #closed = new AbortController();
  #saidGarbage = false;

  constructor(name: string, config: ServerConfig, ground: Ground) {
    this.name = name;
    this.config = config;
    this.#ground = ground;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** Connects and lists its tools. Rejects with what a person should know. */
  async open(signal: AbortSignal): Promise<void> {
    const connection = await this.#connected(signal);
    await this.#list(connection);
  }

  /** The tools as of now: a list that is on its way is waited for. */
  async relisted(): Promise<void> {
    await this.#listing;
  }

  async call(tool: string, input: unknown, { signal, progress }: Calling): Promise<CallEnd> {
    for (let again = false; ; again = true) {
      const connection = await this.#reconnected(signal);
      if (typeof connection === "string") return { type: "not-sent", why: connection };
      const end = await this.#send(connection, tool, input, { signal, progress });
      if (end.type !== "not-sent" || again) return end;
      this.#drop(connection, end.why);
    }
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error("it was closed"));
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined));
    if (!connection) return;
    this.#drop(connection, "it was closed");
    await this.#leave(connection);
  }

  /** A connection, or why there is none. */
  async #reconnected(signal: AbortSignal): Promise<Connection | string> {
    let why = "";
    for (const wait of [0, ...backoffMs]) {
      if (wait > 0) await this.#pause(wait, signal);
      if (signal.aborted || this.#closed.signal.aborted) break;
      try {
        const lost = this.#connection === undefined;
        const connection = await this.#connected(signal);
        // Another version of it may have come up: what it offers counts from the next turn on.
        if (lost) this.#relist(connection);
        return connection;
      } catch (error) {
        why = messageOf(error);
      }
    }
    return why === "" ? "it was closed" : why;
  }

  #connected(signal: AbortSignal): Promise<Connection> {
    if (this.#connection) return Promise.resolve(this.#connection);
    this.#connecting ??= this.#connect(signal).finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(signal: AbortSignal): Promise<Connection> {
    const sdk = await import("@modelcontextprotocol/client");
    const transport = this.#transport(sdk);
    const client = new sdk.Client({ name: "pawl", version: packageJson.version }, { capabilities: { roots: {} } });
    const root = { uri: pathToFileURL(this.#ground.cwd).href, name: "workspace" };
    client.setRequestHandler("roots/list", () => ({ roots: [root] }));
    const late = new AbortController();
    const words = `it gave no answer to the first word within ${startMs / 1000} s`;
    const cancel = this.#ground.timers.after(startMs, () => late.abort(new Error(words)));
    const stop = joinSignals(signal, this.#closed.signal, late.signal);
    try {
      await untilAborted(client.connect(transport, { signal: stop.signal, timeout: limit.timerMs }), stop.signal);
    } catch (error) {
      void transport.close().catch(() => undefined);
      throw new Error(this.#account(late.signal.aborted ? words : messageOf(error), transport), { cause: error });
    } finally {
      cancel();
      stop.release();
    }
    const connection = { client, transport };
    this.#connection = connection;
    this.trouble = undefined;
    client.onclose = () => this.#drop(connection, this.#account("the connection ended", transport));
    client.setNotificationHandler("notifications/tools/list_changed", () => this.#relist(connection));
    return connection;
  }

  #transport(sdk: typeof import("@modelcontextprotocol/client")): Transport {
    const { config } = this;
    const { cwd, env, timers } = this.#ground;
    if ("url" in config) return httpTransport(sdk, config.url, config.headers ?? {}, timers);
    const program = {
      command: config.command,
      args: config.args ?? [],
      cwd: resolve(cwd, config.cwd ?? "."),
      env: serverEnvironment(env, config.env),
    };
    if (!existsSync(program.cwd)) throw new Error(`its folder ${program.cwd} does not exist: correct its cwd`);
    const transport = new ProgramTransport(program, timers, (line) => sdk.deserializeMessage(line));
    transport.ongarbage = (line) => {
      if (this.#saidGarbage) return;
      this.#saidGarbage = true;
      this.#ground.warn(
        `MCP server ${this.name} writes to its standard output what is no message (${JSON.stringify(line)}): passed over. ` +
          "Such words belong on its standard error",
      );
    };
    return transport;
  }

  /** What is known of why: how the program ended, and its last words. */
  #account(why: string, transport: Transport): string {
    if (!(transport instanceof ProgramTransport)) return why;
    const { command } = this.config as { command: string };
    const missing = /\bENOENT\b/.test(why)
      ? `${JSON.stringify(command)} was not found: install it, or give its path`
      : why;
    const ended = transport.end !== undefined && !/ENOENT/.test(why) ? `${missing}; ${transport.end}` : missing;
    const said = visibleLine(tail(transport.stderr, 500));
    return said === "" ? ended : `${ended}. Its last words: ${said}`;
  }

  #drop(connection: Connection, why: string): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.trouble = why;
    if (!(connection.transport instanceof ProgramTransport)) void this.#leave(connection);
  }

  async #leave({ client, transport }: Connection): Promise<void> {
    const { promise: late, resolve: give } = Promise.withResolvers<void>();
    const cancel = this.#ground.timers.after(goodbyeMs, give);
    if ("terminateSession" in transport) {
      const over = (transport.terminateSession as () => Promise<void>).call(transport);
      await Promise.race([over.catch(() => undefined), late]);
    }
    cancel();
    await client.close().catch(() => undefined);
    await transport.close().catch(() => undefined);
  }

  #relist(connection: Connection): void {
    this.#listing = this.#listing
      .then(() => this.#list(connection))
      .catch((error: unknown) => {
        if (this.#connection !== connection) return;
        this.#ground.warn(`MCP server ${this.name}: its tools could not be listed again: ${messageOf(error)}`);
      });
  }

  async #list({ client }: Connection): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = this.#ground.timers.after(startMs, () =>
      reject(new Error(`it did not list its tools within ${startMs / 1000} s`)),
    );
    try {
      const listed = await Promise.race([allTools(client), late]);
      const { tools, problems } = usableTools(listed);
      this.offered = tools;
      if (problems.length > 0) this.#ground.warn(`MCP server ${this.name}: tools left out: ${someOf(problems)}`);
    } finally {
      cancel();
    }
  }

  async #send(connection: Connection, tool: string, input: unknown, { signal, progress }: Calling): Promise<CallEnd> {
    const { client, transport } = connection;
    try {
      const answer = await client.request(
        { method: "tools/call", params: { name: tool, arguments: input as Record<string, unknown> } },
        answerSchema,
        {
          signal,
          // The runtime's deadline aborts the signal, and is told to the model in its own words.
          timeout: limit.timerMs,
          onprogress: ({ progress: done, total, message }) => {
            const share = total === undefined ? `${done}` : `${done}/${total}`;
            progress({
              output: message === undefined ? share : `${share} ${message}`,
              progress: done,
              total: total ?? null,
            });
          },
        },
      );
      return { type: "answered", answer };
    } catch (error) {
      return callEnd(error, (why) => this.#account(why, transport));
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve: go } = Promise.withResolvers<void>();
    const cancel = this.#ground.timers.after(ms, go);
    const onAbort = () => go();
    const stops = [signal, this.#closed.signal];
    for (const stop of stops) stop.addEventListener("abort", onAbort, { once: true });
    if (stops.some(({ aborted }) => aborted)) go();
    await promise;
    cancel();
    for (const stop of stops) stop.removeEventListener("abort", onAbort);
  }
}

/** Rejects with the abort; what is left of the work is nobody's any more. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", onAbort));
}
