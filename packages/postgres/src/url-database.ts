/** A database by its URL, through the `postgres` package. */
import postgres from "postgres";
import type { Database, Query, Reserved, ReservedEvents, Row, Value } from "./database.ts";

export interface UrlOptions {
  /** Connections at most, besides the reserved ones; default 10. */
  connections?: number;
  /**
   * `own`: a connection is a session of the server. `pooled`: behind a transaction pooler (PgBouncer), where every
   * transaction may get another one: no prepared statements, no LISTEN, no advisory lock.
   */
  mode: "own" | "pooled";
}

/** Nobody waits longer for a server that does not answer its greeting. */
const connectSeconds = 10;

/** Everything that was asked for has been answered by then; this is for saying goodbye. */
const endSeconds = 1;

type Client = ReturnType<typeof postgres>;
type Unsafe = Pick<Client, "unsafe">;

export function urlDatabase(url: string, { connections = 10, mode }: UrlOptions): Database {
  const shared = { connect_timeout: connectSeconds, onnotice: () => {}, fetch_types: false };
  const prepare = mode === "own";
  const client = postgres(url, { ...shared, max: connections, prepare });
  return {
    query: queryOf(client, prepare),
    transaction: (work) => client.begin((inside) => work(queryOf(inside, prepare))) as ReturnType<typeof work>,
    ...(mode === "own" ? { reserve: (events: ReservedEvents) => reserve(url, shared, events) } : {}),
    spare: mode === "own",
    // With a deadline: of a connection that broke under a statement the client waits for an answer that cannot come.
    close: () => client.end({ timeout: endSeconds }),
  };
}

function queryOf(client: Unsafe, prepare: boolean): Query {
  return async (text, values = []) => {
    // Without parameters the simple protocol would be used, which cannot prepare; it may hold several statements.
    const rows = await client.unsafe(text, [...values] as Value[], { prepare: prepare && values.length > 0 });
    return rows as unknown as Row[];
  };
}

async function reserve(url: string, shared: object, { onNotice, onLost }: ReservedEvents): Promise<Reserved> {
  let state: "opening" | "open" | "ended" = "opening";
  const options = {
    ...shared,
    max: 1,
    idle_timeout: null,
    max_lifetime: null,
    onnotify: (_channel: string, payload: string) => onNotice(payload),
    onclose: () => {
      if (state !== "open") return;
      state = "ended";
      // The client would connect again by itself, to a session that listens to nothing.
      void client.end({ timeout: 0 }).catch(() => {});
      onLost();
    },
  };
  const client: Client = postgres(url, options as unknown as Parameters<typeof postgres>[1] & object);
  const query = queryOf(client, false);
  try {
    await query("SELECT 1");
  } catch (error) {
    state = "ended";
    await client.end({ timeout: 0 }).catch(() => {});
    throw error;
  }
  state = "open";
  return {
    query,
    async release() {
      state = "ended";
      await client.end({ timeout: endSeconds }).catch(() => {});
    },
  };
}
