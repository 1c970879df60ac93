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
  admitClaim,
  admitCreate,
  admitErasure,
  admitLease,
  admitName,
  admitPost,
  admitSessionId,
  admitTtl,
  type ClaimOptions,
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
  type Unchanged,
} from "@pawl/core/store";
import { Appender } from "./append.ts";
import { Erasing } from "./erasing.ts";
import { storeFault } from "./fault.ts";
import { Keeping } from "./keeping.ts";
import { Lanes } from "./lane.ts";
import { Leases } from "./lease.ts";
import type { Link } from "./link.ts";
import { Mailbox } from "./mailbox.ts";
import { Neighbour, ringOf } from "./neighbour.ts";
import { linkTo, type ServerOptions } from "./opening.ts";
import { Presence } from "./presence.ts";
import { Reader } from "./read.ts";
import { restore } from "./restoring.ts";
import { demandFormat, migrate, schemaName } from "./schema.ts";
import { DatabaseWatch } from "./watch.ts";

export interface PostgresStoreOptions extends ServerOptions {
  /**
   * `at-open` (default): the schema is made, or brought up to date, when the store is opened. `by-hand`: that fails with
   * STORE_UNAVAILABLE, and is left to `migrateSchema`: for a role that may not change tables.
   */
  migration?: "at-open" | "by-hand";
  /** For tests; default: the database's. */
  clock?: Clock;
  /** Whether a lease holder lives; undefined: unknown (another host). Default: this host's processes are looked at. */
  isAlive?(holder: Holder): boolean | undefined;
}

export interface PostgresStore extends Store {
  /** Calls `notify` when there may be work that nobody drives: a hint, for workers. Returns the end of it. */
  watchWork(notify: () => void): () => void;
  /** Erases what deleted sessions have left. Also done by each delete. */
  sweep(): Promise<void>;
}

/** Opens the store. Fails with STORE_UNAVAILABLE, saying why. */
export async function postgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { schema = "pawl", timers = nodeEffects().timers, migration = "at-open" } = options;
  const name = schemaName(schema);
  const link = linkTo({ ...options, timers });
  const store = new DatabaseStore(options, link, timers, schema);
  try {
    // First: behind a pooler nothing else would mean what it says.
    await store.connect();
    await link.run(async () => {
      if (migration === "at-open") await migrate(link, name);
      else await demandFormat(link, name);
    });
    return store;
  } catch (error) {
    await store.close().catch(() => {});
    throw storeFault(error);
  }
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
    this.#keeping = new Keeping(link, now);
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
    return this.#link.inTurn((work) => this.#lanes.after(lane, work), attempt);
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

  async delete(session: string, unchanged?: Unchanged): Promise<void> {
    await this.#ordered(session, async (uncertain) => {
      await this.#erasing.delete(session, unchanged).catch((error) => {
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

  async oldBlobs({ before, after = "", limit }: { before: number; after?: string; limit?: number }): Promise<string[]> {
    const most = pageLimit(limit);
    return this.#link.run(() => this.#keeping.oldBlobs(before, after, most));
  }

  async dropBlobs(names: readonly string[], before: number): Promise<number> {
    return this.#link.run(() => this.#keeping.dropBlobs(names, before));
  }

  async claimWork(holder: Holder, options: ClaimOptions): Promise<{ session: string; epoch: number }[]> {
    admitClaim(holder, options);
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
