/**
 * The little that the store asks of a PostgreSQL client, so that any client will do.
 *
 * Owns: the shape. Does not own: SQL, retries (link), what errors mean (fault).
 */

export type Value = string | number | boolean | Uint8Array | null;
export type Row = { readonly [column: string]: unknown };

export interface Answer {
  rows: readonly Row[];
  /** How many rows the statement has found or changed: it may change some without a word about them. */
  count: number;
}

/**
 * One statement with `$1` parameters. Rejects with the client's own error, or with ETIMEDOUT where nothing is heard of it: then
 * its connection is thrown away, and so is one that broke.
 */
export type Ask = (text: string, values?: readonly Value[]) => Promise<Answer>;
/** The same where only rows matter. */
export type Query = (text: string, values?: readonly Value[]) => Promise<Answer["rows"]>;

export function queryOf(ask: Ask): Query {
  return async (text, values) => (await ask(text, values)).rows;
}

export interface Database {
  /** On any connection, a transaction by itself. */
  ask: Ask;
  /** One transaction; rolled back where `work` rejects. `pace`: statements of `slow` work may take as long as they like. */
  transaction<T>(work: (query: Query) => Promise<T>, pace?: "slow"): Promise<T>;
  /**
   * A connection of its own, until it is given back or breaks. Absent where every statement may get another one. Fails with
   * INVALID_INPUT where a pooler is found to stand in between.
   */
  reserve?(events: ReservedEvents): Promise<Reserved>;
  /** Whether a second one may be reserved without leaving too few for all else. */
  spare: boolean;
  /** How long a statement may wait for a lock at most, ms: by then its connection has not been taken for dead. */
  lockMs: number;
  /** Waits for what is under way, and never long for a line that is dead. */
  close(): Promise<void>;
}

export interface ReservedEvents {
  /** A notification on a channel that the connection listens to. */
  onNotice(payload: string): void;
  /** The connection is gone, once; not after `release`. */
  onLost(): void;
}

export interface Reserved {
  query: Query;
  release(): Promise<void>;
}
