/** A database through a pool that the program has already: `pg`'s, or one that looks like it. */
import type { Database, Query, Reserved, ReservedEvents, Row, Value } from "./database.ts";

/** What is used of a `pg` client. */
export interface PoolClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** With an error the connection is thrown away. */
  release(error?: Error | boolean): void;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  on(event: "error" | "end", listener: () => void): unknown;
  off(event: "error", listener: () => void): unknown;
}

/** What is used of a `pg` pool. */
export interface Pool {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  connect(): Promise<PoolClient>;
  options?: { max?: number };
}

/** What `pg` has without a word. */
const usualSize = 10;
/** Two that are reserved, and as many to work with. */
const leastSize = 4;

/** The pool stays its owner's: closing the store does not end it. */
export function poolDatabase(pool: Pool, mode: "own" | "pooled"): Database {
  return {
    query: queryOf(pool),
    transaction: (work) => transaction(pool, work),
    ...(mode === "own" ? { reserve: (events: ReservedEvents) => reserve(pool, events) } : {}),
    spare: mode === "own" && (pool.options?.max ?? usualSize) >= leastSize,
    close: async () => {},
  };
}

function queryOf(client: Pick<Pool, "query">): Query {
  return async (text, values = []) => {
    const { rows } = await client.query(text, values.map(bytes));
    return rows as Row[];
  };
}

/** A pool may take other views for lists of numbers. */
function bytes(value: Value): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

const unheard = () => {};

async function transaction<T>(pool: Pool, work: (query: Query) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // A connection that breaks between two statements tells nobody else; the next statement fails.
  client.on("error", unheard);
  try {
    await client.query("BEGIN");
    const done = await work(queryOf(client));
    await client.query("COMMIT");
    client.off("error", unheard);
    client.release();
    return done;
  } catch (error) {
    const broken = await client.query("ROLLBACK").then(
      () => false,
      () => true,
    );
    if (!broken) client.off("error", unheard);
    client.release(broken);
    throw error;
  }
}

async function reserve(pool: Pool, { onNotice, onLost }: ReservedEvents): Promise<Reserved> {
  const client = await pool.connect();
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    client.release(true);
    onLost();
  };
  client.on("error", end);
  client.on("end", end);
  client.on("notification", ({ payload = "" }) => onNotice(payload));
  return {
    query: queryOf(client),
    async release() {
      if (ended) return;
      ended = true;
      // It listens and holds a lock: nobody else should get it.
      client.release(true);
    },
  };
}
