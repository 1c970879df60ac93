/**
 * The little that the store asks of a PostgreSQL client, so that any client will do.
 *
 * Owns: the shape. Does not own: SQL, retries (link), what errors mean (fault).
 */

export type Value = string | number | boolean | Uint8Array | null;
export type Row = { readonly [column: string]: unknown };
/** One statement with `$1` parameters. Rejects with the client's own error. */
export type Query = (text: string, values?: readonly Value[]) => Promise<readonly Row[]>;

export interface Database {
  /** On any connection, a transaction by itself. */
  query: Query;
  /** One transaction; rolled back where `work` rejects. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** A connection of its own, until it is given back or breaks. Absent where every statement may get another one. */
  reserve?(events: ReservedEvents): Promise<Reserved>;
  /** Whether a second one may be reserved without leaving too few for all else. */
  spare: boolean;
  /** Waits for what is under way. */
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
