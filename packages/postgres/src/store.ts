/**
 * The store in PostgreSQL: any machine's process may drive any session.
 *
 * Owns: the contract's face: checks, order, retries, who is told. Does not own: SQL (append, read, lease, mailbox, keeping,
 * erasing, restoring). Invariants:
 * 1. What must be exact is decided by PostgreSQL, in one statement or one transaction: never by what this process remembers.
 * 2. Moments of leases are the database's: machines need not agree on the time.
 * 3. While the server is away operations wait, up to `patienceMs`; what got no answer is found out, not guessed.
 */

import { isPawlError } from "@pawl/core";
import { isAlive as isAliveHere, nodeEffects } from "@pawl/core/node";
import {
  type AppendBatch,
  admitAppend,
  admitCreate,
  admitErasure,
  admitLease,
  admitName,
  admitPost,
  admitSessionId,
  admitTtl,
  type Clock,
  type CreateSession,
  type Erasure,
  type Holder,
  type LeaseAnswer,
  type LogRecord,
  type MailboxEntry,
  maxSeq,
  type News,
  type Partial,
  type Post,
  pageLimit,
  type RestoreSession,
  type SessionSummary,
  type Snapshot,
  type Store,
  type Timers,
} from "@pawl/core/store";
import { Appender } from "./append.ts";
import type { Database } from "./database.ts";
import { Erasing } from "./erasing.ts";
import { storeFault } from "./fault.ts";
import { Keeping } from "./keeping.ts";
import { Lanes } from "./lane.ts";
import { Leases } from "./lease.ts";
import { Link } from "./link.ts";
import { Mailbox } from "./mailbox.ts";
import { Neighbour, ringOf } from "./neighbour.ts";
import { type Pool, poolDatabase } from "./pool-database.ts";
import { Presence } from "./presence.ts";
import { Reader } from "./read.ts";
import { restore } from "./restoring.ts";
import { migrate, schemaName } from "./schema.ts";
import { urlDatabase } from "./url-database.ts";
import { DatabaseWatch } from "./watch.ts";

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. This, or a pool of `pg`. */
  url?: string;
  /** A pool that stays its owner's: closing the store does not end it. */
  pool?: Pool;
  /** The schema of the tables; default `pawl`. Made, or brought up to date, when the store is opened. */
  schema?: string;
  /** Connections at most, besides the reserved one (of a worker two), with `url`; default 10. */
  connections?: number;
  /** `pooled` behind a transaction pooler: no LISTEN, no advisory lock, no prepared statements. Default `own`. */
  mode?: "own" | "pooled";
  /** How long an operation waits for a server that is away, ms; default 10,000: shorter than a lease. */
  patienceMs?: number;
  /** How long one statement may be without an answer before its connection counts as lost, ms; default 30,000. */
  answerMs?: number;
  /** For tests; default: the database's. */
  clock?: Clock;
  timers?: Timers;
  /** Whether a lease holder lives; undefined: unknown (another host). Default: this host's processes are looked at. */
  isAlive?(holder: Holder): boolean | undefined;
}

export interface PostgresStore extends Store {
  /** Calls `notify` when there may be work that nobody drives: a hint, for workers. Returns the end of it. */
  watchWork(notify: () => void): () => void;
  /** Erases what deleted sessions have left. Also done by each delete. */
  sweep(): Promise<void>;
}

const defaultPatienceMs = 10_000;
/** The largest batch over a slow line takes seconds; a row that another transaction keeps locked for longer is no good sign. */
const defaultAnswerMs = 30_000;

/** Opens the store, and makes or migrates its schema. Fails with STORE_UNAVAILABLE, saying why. */
export async function postgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const {
    schema = "pawl",
    timers = nodeEffects().timers,
    patienceMs = defaultPatienceMs,
    answerMs = defaultAnswerMs,
  } = options;
  const name = schemaName(schema);
  const link = new Link(databaseOf(options), name, timers, { patienceMs, answerMs });
  try {
    await link.run(() => migrate(link, name));
    const store = new DatabaseStore(options, link, timers, schema);
    await store.connect();
    return store;
  } catch (error) {
    await link.close(async () => {}).catch(() => {});
    throw storeFault(error);
  }
}

function databaseOf({ url, pool, connections, mode = "own" }: PostgresStoreOptions): Database {
  if (pool) return poolDatabase(pool, mode);
  return urlDatabase(url ?? "", { mode, ...(connections === undefined ? {} : { connections }) });
}

class DatabaseStore implements PostgresStore {
  readonly #link: Link;
  readonly #lanes = new Lanes();
  readonly #now: () => number | null;
  readonly #presence: Presence;
  readonly #neighbour: Neighbour;
  readonly #watch: DatabaseWatch;
  readonly #appender: Appender;
  readonly #reader: Reader;
  readonly #leases: Leases;
  readonly #mailbox: Mailbox;
  readonly #keeping: Keeping;
  readonly #erasing: Erasing;

  constructor({ clock, isAlive = isAliveHere }: PostgresStoreOptions, link: Link, timers: Timers, channel: string) {
    const now = () => (clock ? clock.now() : null);
    this.#link = link;
    this.#now = now;
    this.#neighbour = new Neighbour(link, timers, ringOf(channel), { onGone: () => this.#watch.tellOfWork() });
    this.#watch = new DatabaseWatch({
      ...{ link, timers, channel, isHeard: () => this.#presence.isConnected },
      onJoined: (mark) => this.#neighbour.joined(mark),
    });
    this.#presence = new Presence(link, timers, channel, {
      onNotice: (payload) => this.#watch.hear(payload),
      onConnected: () => this.#watch.missed(),
      onMarked: (mark) => {
        this.#neighbour.begin(mark);
        this.#watch.tellOfMark(mark);
      },
    });
    this.#appender = new Appender(link, now);
    this.#reader = new Reader(link, now, isAlive);
    this.#leases = new Leases({ link, reader: this.#reader, presence: this.#presence, now, isAlive });
    this.#mailbox = new Mailbox(link, now);
    this.#keeping = new Keeping(link);
    this.#erasing = new Erasing(link);
  }

  connect(): Promise<void> {
    return this.#presence.open();
  }

  async create(batch: CreateSession): Promise<void> {
    admitCreate(batch);
    await this.#ordered(batch.session, (uncertain) => this.#appender.create(batch, uncertain));
    this.#watch.tell(batch.session, "any");
  }

  async append(batch: AppendBatch): Promise<void> {
    admitAppend(batch);
    await this.#ordered(batch.session, (uncertain) => this.#appender.append(batch, uncertain));
    this.#watch.tell(batch.session, "records");
  }

  #ordered<T>(lane: string, attempt: (uncertain: boolean) => Promise<T>): Promise<T> {
    this.#link.assertOpen();
    // Accepted now, though others of this session go first: `close` waits for it.
    return this.#link.accept(this.#lanes.after(lane, () => this.#link.tries(attempt)));
  }

  async restore(restored: RestoreSession): Promise<void> {
    admitSessionId(restored.session);
    // Not tried again: the batches are read once.
    await this.#link.once(() => restore(this.#link, restored, this.#now()));
    this.#watch.tell(restored.session, "any");
  }

  async erase(erasure: Erasure): Promise<void> {
    admitErasure(erasure);
    await this.#ordered(erasure.session, () => this.#erasing.erase(erasure));
  }

  async read(session: string, { after = 0, limit }: { after?: number; limit?: number } = {}): Promise<LogRecord[]> {
    const most = pageLimit(limit);
    return this.#link.run(() => this.#reader.read(session, after, most));
  }

  async readTail(session: string, options: { before?: number; limit?: number } = {}): Promise<LogRecord[]> {
    const { before = maxSeq + 1, limit } = options;
    const most = pageLimit(limit);
    return this.#link.run(() => this.#reader.tail(session, before, most));
  }

  async get(session: string): Promise<SessionSummary | undefined> {
    return this.#link.run(() => this.#reader.get(session));
  }

  async list(
    options: { limit?: number; cursor?: { updatedAt: number; session: string } } = {},
  ): Promise<SessionSummary[]> {
    const most = pageLimit(options.limit);
    return this.#link.run(() => this.#reader.list(most, options.cursor));
  }

  async delete(session: string): Promise<void> {
    await this.#ordered(session, async (uncertain) => {
      await this.#erasing.delete(session).catch((error) => {
        if (!(uncertain && isPawlError(error, "SESSION_NOT_FOUND"))) throw error;
      });
    });
    this.#watch.tell(session, "any");
    await this.sweep();
  }

  async sweep(): Promise<void> {
    while (await this.#link.run(() => this.#erasing.sweep()));
  }

  async setName(name: string, session: string | null, expected?: string | null): Promise<boolean> {
    admitName(name);
    return this.#link.run((uncertain) => this.#keeping.setName(name, session, expected, uncertain));
  }

  async resolveName(name: string): Promise<string | undefined> {
    return this.#link.run(() => this.#keeping.resolveName(name));
  }

  async post(session: string, post: Post): Promise<"accepted" | "duplicate"> {
    const body = admitPost(session, post);
    const answer = await this.#ordered(`post ${session}`, () => this.#mailbox.post(session, post, body));
    if (answer === "accepted") this.#watch.tell(session, "posts");
    return answer;
  }

  async mailbox(session: string): Promise<MailboxEntry[]> {
    return this.#link.run(() => this.#mailbox.read(session));
  }

  watch(session: string, notify: (news: News) => void): () => void {
    this.#link.assertOpen();
    return this.#watch.add(session, notify);
  }

  watchWork(notify: () => void): () => void {
    this.#link.assertOpen();
    this.#presence.enroll();
    return this.#watch.addWorker(notify);
  }

  async acquireLease(session: string, holder: Holder, ttlMs: number): Promise<LeaseAnswer> {
    admitLease(holder, ttlMs);
    return this.#leases.acquire(session, holder, ttlMs);
  }

  async renewLease(session: string, epoch: number, ttlMs: number): Promise<boolean> {
    admitTtl(ttlMs);
    return this.#leases.renew(session, epoch, ttlMs);
  }

  async releaseLease(session: string, epoch: number): Promise<void> {
    const given = await this.#leases.release(session, epoch);
    // What was handed over between two steps waits for somebody.
    if (given) this.#watch.tell(session, "any");
  }

  async writePartial(session: string, epoch: number, attempt: string, chunk: string): Promise<void> {
    await this.#ordered(session, () => this.#keeping.writePartial(session, epoch, attempt, chunk));
  }

  async readPartial(session: string): Promise<Partial | undefined> {
    return this.#link.run(() => this.#keeping.readPartial(session));
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    await this.#link.run(() => this.#keeping.saveSnapshot(session, snapshot));
  }

  async loadSnapshot(session: string, reducer: string): Promise<Snapshot | undefined> {
    return this.#link.run(() => this.#keeping.loadSnapshot(session, reducer));
  }

  async putBlob(bytes: Uint8Array): Promise<string> {
    return this.#link.run(() => this.#keeping.putBlob(bytes));
  }

  async getBlob(name: string): Promise<Uint8Array | undefined> {
    return this.#link.run(() => this.#keeping.getBlob(name));
  }

  async claimWork(
    holder: Holder,
    options: { limit: number; ttlMs: number },
  ): Promise<{ session: string; epoch: number }[]> {
    admitLease(holder, options.ttlMs);
    return this.#leases.claim(holder, options);
  }

  close(): Promise<void> {
    return this.#link.close(async () => {
      await this.#neighbour.end();
      await this.#watch.end();
      await this.#presence.end();
    });
  }
}
