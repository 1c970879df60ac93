/** Which server, and how patiently it is asked: what a store and a migration share. */
import { nodeEffects } from "@pawl/core/node";
import type { Timers } from "@pawl/core/store";
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
  /** Connections at most, besides the reserved one, with `url`; default 10. */
  connections?: number;
  /** `pooled` behind a transaction pooler: no LISTEN, no advisory lock, no prepared statements. Default `own`. */
  mode?: "own" | "pooled";
  /** How long an operation waits for a server that is away, ms; default 10,000: shorter than a lease. */
  patienceMs?: number;
  /** How long one statement may be without an answer before its connection counts as lost, ms; default 30,000. */
  answerMs?: number;
  timers?: Timers;
}

const defaultPatienceMs = 10_000;
/** The largest batch over a slow line takes seconds; a row that another transaction keeps locked for longer is no good sign. */
const defaultAnswerMs = 30_000;

export function linkTo(options: ServerOptions): Link {
  const { schema = "pawl", timers = nodeEffects().timers } = options;
  const { patienceMs = defaultPatienceMs, answerMs = defaultAnswerMs } = options;
  return new Link(databaseOf(options), schemaName(schema), timers, { patienceMs, answerMs });
}

function databaseOf({ url, pool, connections, mode = "own" }: ServerOptions): Database {
  if (pool) return poolDatabase(pool, mode);
  return urlDatabase(url ?? "", { mode, ...(connections === undefined ? {} : { connections }) });
}
