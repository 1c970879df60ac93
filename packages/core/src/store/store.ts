/**
 * The store contract, whole. Stores keep bytes, order, fences and leases; they never look into a payload.
 *
 * Owns: durability, atomicity, fencing. Does not own: what records mean, when to drive, what a post is for.
 * Invariants:
 * 1. `append` is one atomic batch, durable when it resolves (L3), refused when the epoch is stale (FENCED, L8) or
 *    `expectedSeq` is not the head (CONFLICT), or a post waits that the writer has not read (UNREAD). A refused batch leaves
 *    no trace.
 * 2. A lease's epoch only grows. Whoever holds the newest epoch may append, also after its lease has expired, until
 *    somebody takes over or it gives the lease back. Nobody holds epoch 0, the creation's.
 * 3. `post` is durable and idempotent by the client's id and needs no lease.
 * 4. Reading, listing and watching write nothing.
 * 5. A store that does not do something says NOT_SUPPORTED; the shape stays.
 * 6. What a session needs is said once: the first head that names a workspace decides, and no later one takes it away.
 * 7. A wall clock that jumps makes no lease last: one that seems to end later than its length from now is counted anew
 *    from now, when somebody asks for it.
 */
import type { ErasedPayload, LogRecord } from "../log/envelope.ts";
import type { Json } from "../log/event.ts";

/** A rebuildable projection of a session for lists; written in the batch that changes it. */
export interface Head {
  title?: string;
  /** The open turn, if there is one. Whether it is *running* or *interrupted* is derived with the lease. */
  openTurn?: string;
  /** The outcome of the last ended turn. */
  outcome?: string;
  cwd?: string;
  /** What a worker must have to drive it: opaque, compared as it is. Absent: any worker may. */
  workspace?: string;
}

/** The workspaces that a worker has; `any`: whichever a session asks for, it makes it be there. */
export type Workspaces = readonly string[] | "any";

export interface SessionSummary {
  session: string;
  /** seq of the last record. */
  seq: number;
  /** The newest epoch given out. */
  epoch: number;
  createdAt: number;
  updatedAt: number;
  head: Head;
  /** What it is called by, in order; absent where by nothing. */
  names?: string[];
  parent?: ForkPoint;
  /** When the oldest post in the mailbox came, UTC ms; absent where it is empty. */
  waitingSince?: number;
  /** The lease, if one is live by the store's clock and its holder is not known to be dead. */
  lease?: LeaseInfo;
}

export interface ForkPoint {
  session: string;
  seq: number;
}

export interface CreateSession {
  session: string;
  /** The first batch, epoch 0, its seq from `(parent?.seq ?? 0) + 1`. */
  records: LogRecord[];
  head: Head;
  /** Copy on write: the child reads the parent's records up to and including `seq`, then its own. */
  parent?: ForkPoint;
}

export interface RestoreSession {
  session: string;
  /** Read when the last batch has been given: what it says may depend on them. */
  head: Head;
  /**
   * Ids of posts of this session that the records hold: consumed, and duplicates from now on. A store does not look into
   * records, so whoever restores says so. Read when the last batch has been given.
   */
  posts?: readonly string[];
  /** In order of seq; each batch within the bounds of an append. */
  batches: AsyncIterable<LogRecord[]>;
}

export interface Erasure {
  session: string;
  /** Fenced like an append: while it happens nobody drives. */
  epoch: number;
  seq: number;
  payload: ErasedPayload;
}

export interface AppendBatch {
  session: string;
  epoch: number;
  /** The seq of the last record the writer has seen. */
  expectedSeq: number;
  records: LogRecord[];
  head?: Head;
  /**
   * Ids of posts that this batch moves into the log: they leave the mailbox in the same transaction. One that is not
   * there refuses the batch (INVALID_INPUT).
   */
  consume?: string[];
  /**
   * How many posts wait, as the writer knows: where there are more or fewer, one has come that it has not read, and the batch
   * is refused (UNREAD). Whoever says so writes with what was accepted before, and need not read the mailbox each time.
   */
  expectedPosts?: number;
  /** The attempt whose partial journal ends with this batch. */
  dropPartial?: string;
}

/** What whoever deletes has seen: nothing has happened to the session since. */
export interface Unchanged {
  epoch: number;
  expectedSeq: number;
}

export interface Post {
  id: string;
  kind: "input" | "steer" | "edit" | "withdrawal" | "answer" | "abort";
  body: Json;
}

/** A post in the mailbox: ordered by arrival. */
export interface MailboxEntry extends Post {
  order: number;
  postedAt: number;
}

/** Who holds a lease: enough to tell a dead holder from a live one, and a reused pid from its first owner. */
export interface Holder {
  /** Unique per acquisition attempt of a process. */
  id: string;
  host: string;
  /** Changes with every boot of the host. */
  boot: string;
  pid: number;
  /** The process's start, in whatever unit the host gives; only compared for equality. */
  start: string;
}

export interface LeaseInfo {
  epoch: number;
  holder: Holder;
  /** By the store's clock, UTC ms. */
  expiresAt: number;
}

export type LeaseAnswer = { granted: true; epoch: number; seq: number } | { granted: false; held: LeaseInfo };

export interface ClaimOptions {
  limit: number;
  ttlMs: number;
  workspaces?: Workspaces;
}

export interface Snapshot {
  reducer: string;
  version: number;
  seq: number;
  checksum: string;
  bytes: Uint8Array;
}

export interface Partial {
  attempt: string;
  epoch: number;
  /** The chunks of this attempt in order, as they were written. */
  chunks: string[];
}

/** What a watcher is told of: of other processes only that something came. */
export type News = "records" | "posts" | "any";

export interface Store {
  /**
   * Fails with SESSION_EXISTS (ids are not reused, not even of deleted sessions), or SESSION_NOT_FOUND for a parent
   * that is not there or shorter than the cut.
   */
  create(session: CreateSession): Promise<void>;
  append(batch: AppendBatch): Promise<void>;
  /**
   * Takes in a whole session as another store read it, byte for byte: records of any origin and epoch, gaps included.
   * All or nothing: nobody sees the session until this resolves, and where `batches` throws there is none. Its newest
   * epoch is the greatest of its own records. Fails with SESSION_EXISTS.
   */
  restore(session: RestoreSession): Promise<void>;
  /**
   * Replaces the payload of one record by what is left of it; envelope, checksum and the payload's hash stay. Durable
   * when it resolves. Snapshots of all who read the record are dropped. Erasing again changes nothing. Fails with FENCED,
   * INVALID_INPUT for a record that the session does not hold itself, CONFLICT where the hash is not the payload's.
   */
  erase(erasure: Erasure): Promise<void>;
  /**
   * Records with seq greater than `after` (default 0), ascending, at most `limit` (default {@link limit.pageRecords}).
   * A shorter page is the end of the log.
   */
  read(session: string, options?: { after?: number; limit?: number }): Promise<LogRecord[]>;
  /** The last records with seq below `before` (default: all), ascending, at most `limit`. */
  readTail(session: string, options?: { before?: number; limit?: number }): Promise<LogRecord[]>;
  /** Undefined where there is no such session. */
  get(session: string): Promise<SessionSummary | undefined>;
  /** Most recently updated first. `cursor` is the last entry of the page before. */
  list(options?: { limit?: number; cursor?: { updatedAt: number; session: string } }): Promise<SessionSummary[]>;
  /**
   * Hides at once; erases what no living child reads. With `unchanged` it is fenced like an append, and refused with CONFLICT
   * where the log has grown or a post waits: what was accepted is not thrown away by who did not know of it.
   */
  delete(session: string, unchanged?: Unchanged): Promise<void>;

  /** A name moves to a session, or goes (`null`). With `expected`, only from that session. */
  setName(name: string, session: string | null, expected?: string | null): Promise<boolean>;
  resolveName(name: string): Promise<string | undefined>;

  /** `duplicate` when a post of that id was accepted before, consumed or not. */
  post(session: string, post: Post): Promise<"accepted" | "duplicate">;
  /** What is in the mailbox, in order of arrival. */
  mailbox(session: string): Promise<MailboxEntry[]>;
  /**
   * Calls `notify` after records or posts of the session arrived, from this or another process. A hint: it may come
   * late, twice, or for nothing. Returns the end of the watch.
   */
  watch(session: string, notify: (news: News) => void): () => void;

  /** Grants when no live lease is there, or its holder is known to be dead. Each grant has a greater epoch. */
  acquireLease(session: string, holder: Holder, ttlMs: number): Promise<LeaseAnswer>;
  /** False when the epoch is no longer the newest, or its lease was given back. */
  renewLease(session: string, epoch: number, ttlMs: number): Promise<boolean>;
  /** Gives the lease back, if it is still ours. */
  releaseLease(session: string, epoch: number): Promise<void>;

  /**
   * Survives the process, not the power: never flushed. A stale epoch is passed over in silence. A session has one: the
   * first chunk of another attempt replaces what is there.
   */
  writePartial(session: string, epoch: number, attempt: string, chunk: string): Promise<void>;
  readPartial(session: string): Promise<Partial | undefined>;

  saveSnapshot(session: string, snapshot: Snapshot): Promise<void>;
  loadSnapshot(session: string, reducer: string): Promise<Snapshot | undefined>;

  /** Content-addressed: returns the sha256 (hex) of the bytes. */
  putBlob(bytes: Uint8Array): Promise<string>;
  getBlob(hash: string): Promise<Uint8Array | undefined>;
  /**
   * Names of blobs that nobody has put since `before` (UTC ms, by the store's clock), ascending, after the name `after`, at most
   * `limit` (default {@link limit.pageRecords}). Whether a log names them is not the store's to know.
   */
  oldBlobs(options: { before: number; after?: string; limit?: number }): Promise<string[]>;
  /** Removes those of `names` that nobody has put since `before`; resolves with how many. */
  dropBlobs(names: readonly string[], before: number): Promise<number>;

  /**
   * Sessions with an open turn or a waiting post, no live lease, and no need of a workspace but of one of `workspaces`
   * (default: none), leased to this holder: first open turns, then who was driven longest ago, so that sessions take turns. What waits for other workspaces costs nothing and takes no place. Not those of
   * tasks (ids that begin with `task_`): they are driven from inside the call that gave them. For workers.
   */
  claimWork(holder: Holder, options: ClaimOptions): Promise<{ session: string; epoch: number }[]>;

  /** Waits for what was accepted, then lets go of files and threads. */
  close(): Promise<void>;
}
