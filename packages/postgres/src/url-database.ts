/**
 * A database by its URL, through a pool of `pg` of our own.
 *
 * Owns: how connections are made, and their end.
 */
import pg from "pg";
import { type Asking, hangUp } from "./client.ts";
import type { Database, Reserved, ReservedEvents } from "./database.ts";
import { lockMsOf, poolDatabase, reserved } from "./pool-database.ts";

export interface UrlOptions extends Omit<Asking, "nameOf"> {
  /** Connections at most, besides the reserved ones; default 10. */
  connections?: number;
  /**
   * `own`: a connection is a session of the server. `pooled`: behind a transaction pooler (PgBouncer), where every
   * transaction may get another one: no prepared statements, no LISTEN, no advisory lock.
   */
  mode: "own" | "pooled";
}

/** Nobody waits longer for a server that does not answer its greeting: two tries fit into a lease. */
const connectMs = 5_000;
/** Everything that was asked for has been answered by then; this is for saying goodbye. */
const endMs = 1_000;

export function urlDatabase(url: string, { connections = 10, mode, timers, answerMs }: UrlOptions): Database {
  const shared = {
    connectionString: strictUrl(url),
    connectionTimeoutMillis: Math.min(connectMs, answerMs),
    keepAlive: true,
    application_name: "pawl",
    // A pooler refuses settings that it does not know.
    ...(mode === "own" ? { lock_timeout: lockMsOf(answerMs) } : {}),
  };
  const pool = new pg.Pool({ ...shared, Client: Connecting, max: connections, idleTimeoutMillis: 0 });
  const clients = new Set<object>();
  pool.on("connect", (client) => void clients.add(client));
  pool.on("remove", (client) => void clients.delete(client));
  // Of a connection that breaks while nobody uses it.
  pool.on("error", () => {});
  const options = {
    ...{ mode, timers, answerMs, places: connections },
    ...(mode === "own" ? { nameOf: statementNames() } : {}),
  };
  const database = poolDatabase(pool, options);
  return {
    ...database,
    ...(mode === "own" ? { reserve: (events: ReservedEvents) => reserve(shared, options, events) } : {}),
    spare: mode === "own",
    async close() {
      const cancel = timers.after(endMs, () => clients.forEach(hangUp));
      await database.close();
      await pool.end();
      cancel();
    },
  };
}

/**
 * The client takes these three for `verify-full`, and warns on standard error that it will not for ever: said outright, they stay
 * as strict as they are.
 */
function strictUrl(url: string): string {
  return /[?&]uselibpqcompat=/.test(url)
    ? url
    : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}

/** One that is refused in the middle of its greeting is left by the pool as it is: the server would wait a minute for its next word. */
class Connecting extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    // Between a pool's hands nobody listens, and a connection that ends just then would end the process.
    this.on("error", () => {});
  }

  override connect(): Promise<this>;
  override connect(callback: (error?: Error) => void): void;
  override connect(callback?: (error?: Error) => void): Promise<this> | undefined {
    if (!callback) return super.connect() as unknown as Promise<this>;
    super.connect((error?: Error) => {
      if (error) hangUp(this);
      callback(error);
    });
    return undefined;
  }
}

/** A statement is prepared once a connection. There are as many as this package has texts. */
function statementNames(): (text: string) => string {
  const names = new Map<string, string>();
  return (text) => {
    const name = names.get(text) ?? `pawl_${names.size}`;
    names.set(text, name);
    return name;
  };
}

async function reserve(shared: pg.ClientConfig, options: Asking, events: ReservedEvents): Promise<Reserved> {
  const client = new pg.Client(shared);
  // Before it is ours, whoever connects hears of it.
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    hangUp(client);
    throw error;
  }
  return reserved(client, () => void client.end().catch(() => {}), options, events);
}
