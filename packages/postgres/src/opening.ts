/** Which server, and how patiently it is asked: what a store and a migration share. */
import { nodeEffects } from "@pawl/core/node";
import type { Timers } from "@pawl/core/store";
import type { Asking } from "./client.ts";
import type { Database } from "./database.ts";
import { Link } from "./link.ts";
import { type Pool, poolDatabase } from "./pool-database.ts";
import { schemaName } from "./schema.ts";
import { urlDatabase } from "./url-database.ts";

export interface ServerOptions {
  /** `postgres://user:password@host:port/database`. This, or a pool of `pg`. */
  url?: string;
  /** A pool that stays its owner's: closing the store does not end it. */
  pool?: Pool;
  /** The schema of the tables; default `pawl`. */
  schema?: string;
  /** Connections at most, besides the reserved one (of a worker two), with `url`; default 10. */
  connections?: number;
  /** `pooled` behind a transaction pooler: no LISTEN, no advisory lock, no prepared statements. Default `own`. */
  mode?: "own" | "pooled";
  /** How long an operation waits for a server that is away, ms; default 10,000: shorter than a lease. */
  patienceMs?: number;
  /**
   * How long a statement's connection may move no byte before it counts as dead, ms; default 8,000: a lease outlives it. With
   * `url` a statement waits for a lock for 0.6 of it.
   */
  answerMs?: number;
  timers?: Timers;
}

const defaultPatienceMs = 10_000;
/** No statement of ours keeps a healthy server busy for so long; a dead line is found out while our leases hold. */
const defaultAnswerMs = 8_000;

export function linkTo(options: ServerOptions): Link {
  const { schema = "pawl", timers = nodeEffects().timers } = options;
  const { patienceMs = defaultPatienceMs, answerMs = defaultAnswerMs } = options;
  return new Link(databaseOf(options, { timers, answerMs }), schemaName(schema), timers, patienceMs);
}

function databaseOf({ url, pool, connections, mode = "own" }: ServerOptions, asking: Asking): Database {
  if (pool) return poolDatabase(pool, { mode, ...asking });
  return urlDatabase(url ?? "", { mode, ...asking, ...(connections === undefined ? {} : { connections }) });
}
