/**
 * The store in one SQLite file: the embedded default.
 *
 * Owns: the contract's face on the main thread: checks, moments, watches, blobs. Does not own: SQL and transactions (a
 * worker thread, see sqlite-worker), so that no flush ever blocks the event loop. Invariants:
 * 1. An append, a post, a creation is on disk when its promise resolves; all that wait share one flush.
 * 2. Many processes may open the same folder on one host. A network file system is not a host: SQLite's locks do not
 *    hold there.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Timers } from "../effects.ts";
import type { LogRecord } from "../log/envelope.ts";
import {
  admitAppend,
  admitCreate,
  admitLease,
  admitName,
  admitPost,
  admitTtl,
  maxSeq,
  pageLimit,
} from "./admission.ts";
import { BlobFolder } from "./blob-folder.ts";
import { storeFault } from "./sqlite-fault.ts";
import { WorkerLink } from "./sqlite-link.ts";
import { SqliteWatch } from "./sqlite-watch.ts";
import { type Page, packRecords, type SqliteStats, unpackRecords } from "./sqlite-wire.ts";
import type {
  AppendBatch,
  CreateSession,
  Holder,
  LeaseAnswer,
  MailboxEntry,
  Partial,
  Post,
  SessionSummary,
  Snapshot,
  Store,
} from "./store.ts";

export interface SqliteStoreOptions {
  /** The folder of `pawl.db` and `blobs/`; made, for its owner only, where it is not there. */
  dir: string;
  clock: Clock;
  timers: Timers;
  /** Whether a lease holder lives; undefined: unknown (another host), its lease counts until it expires. */
  isAlive(holder: Holder): boolean | undefined;
}

export interface SqliteStore extends Store {
  /** How many operations shared how many commits and flushes since this store was opened. */
  stats(): Promise<SqliteStats>;
}

/** Candidates for work looked at in one go. */
const workPage = 200;

/** Opens, or makes, the store in `dir`. Fails with STORE_UNAVAILABLE or CORRUPT, naming the path. */
export async function sqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { dir } = options;
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error) => {
    throw storeFault(error, dir);
  });
  const link = new WorkerLink();
  try {
    await link.call("open", { path: join(dir, "pawl.db") });
  } catch (error) {
    await link.abandon();
    throw error;
  }
  return new FileStore(options, link);
}

class FileStore implements SqliteStore {
  readonly #clock: Clock;
  readonly #isAlive: SqliteStoreOptions["isAlive"];
  readonly #link: WorkerLink;
  readonly #watch: SqliteWatch;
  readonly #blobs: BlobFolder;

  constructor({ dir, clock, timers, isAlive }: SqliteStoreOptions, link: WorkerLink) {
    this.#clock = clock;
    this.#isAlive = isAlive;
    this.#link = link;
    this.#watch = new SqliteWatch(link, timers);
    this.#blobs = new BlobFolder(join(dir, "blobs"));
  }

  async create(batch: CreateSession): Promise<void> {
    admitCreate(batch);
    const { session, records, head, parent } = batch;
    const now = this.#clock.now();
    await this.#link.call("create", { session, records: packRecords(records), head, ...(parent && { parent }), now });
    this.#watch.notify(session);
  }

  async append(batch: AppendBatch): Promise<void> {
    admitAppend(batch);
    await this.#link.call("append", { ...batch, records: packRecords(batch.records), now: this.#clock.now() });
    this.#watch.notify(batch.session);
  }

  async read(session: string, { after = 0, limit }: { after?: number; limit?: number } = {}): Promise<LogRecord[]> {
    return this.#pages(session, await this.#link.call("read", { session, after, limit: pageLimit(limit) }));
  }

  async readTail(session: string, options: { before?: number; limit?: number } = {}): Promise<LogRecord[]> {
    const { before = maxSeq + 1, limit } = options;
    return this.#pages(session, await this.#link.call("readTail", { session, before, limit: pageLimit(limit) }));
  }

  /** The worker answers in bounded pieces; the caller gets the page it asked for. */
  async #pages(session: string, first: Page): Promise<LogRecord[]> {
    const records = unpackRecords(first.records);
    for (let { rest } = first; rest; ) {
      const page = await this.#link.call("read", { session, ...rest });
      records.push(...unpackRecords(page.records));
      rest = page.rest;
    }
    return records;
  }

  async get(session: string): Promise<SessionSummary | undefined> {
    const entry = await this.#link.call("get", { session });
    return entry && this.#live(entry);
  }

  async list(
    options: { limit?: number; cursor?: { updatedAt: number; session: string } } = {},
  ): Promise<SessionSummary[]> {
    const { cursor } = options;
    const entries = await this.#link.call("list", { limit: pageLimit(options.limit), ...(cursor && { cursor }) });
    return entries.map((entry) => this.#live(entry));
  }

  #live({ lease, ...entry }: SessionSummary): SessionSummary {
    if (!lease || lease.expiresAt <= this.#clock.now() || this.#isAlive(lease.holder) === false) return entry;
    return { ...entry, lease };
  }

  async delete(session: string): Promise<void> {
    await this.#link.call("delete", { session });
    this.#watch.notify(session);
    while (await this.#link.call("erase", undefined));
  }

  async setName(name: string, session: string | null, expected?: string | null): Promise<boolean> {
    admitName(name);
    return this.#link.call("setName", { name, session, ...(expected !== undefined && { expected }) });
  }

  resolveName(name: string): Promise<string | undefined> {
    return this.#link.call("resolveName", { name });
  }

  async post(session: string, post: Post): Promise<"accepted" | "duplicate"> {
    const body = admitPost(session, post);
    const { id, kind } = post;
    const answer = await this.#link.call("post", { session, id, kind, body, now: this.#clock.now() });
    if (answer === "accepted") this.#watch.notify(session);
    return answer;
  }

  mailbox(session: string): Promise<MailboxEntry[]> {
    return this.#link.call("mailbox", { session });
  }

  watch(session: string, notify: () => void): () => void {
    return this.#watch.add(session, notify);
  }

  async acquireLease(session: string, holder: Holder, ttlMs: number): Promise<LeaseAnswer> {
    admitLease(holder, ttlMs);
    const call = { session, holder: JSON.stringify(holder), ttlMs, now: this.#clock.now() };
    const answer = await this.#link.call("acquire", { ...call, dead: 0 });
    if (answer.granted || this.#isAlive(answer.held.holder) !== false) return answer;
    // Only that very lease: who took it over in between is not dead.
    return this.#link.call("acquire", { ...call, dead: answer.held.epoch });
  }

  async renewLease(session: string, epoch: number, ttlMs: number): Promise<boolean> {
    admitTtl(ttlMs);
    return this.#link.call("renew", { session, epoch, expiresAt: this.#clock.now() + ttlMs });
  }

  async releaseLease(session: string, epoch: number): Promise<void> {
    await this.#link.call("release", { session, epoch });
  }

  async writePartial(session: string, epoch: number, attempt: string, chunk: string): Promise<void> {
    await this.#link.call("writePartial", { session, epoch, attempt, chunk });
  }

  readPartial(session: string): Promise<Partial | undefined> {
    return this.#link.call("readPartial", { session });
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    await this.#link.call("saveSnapshot", { session, snapshot });
  }

  loadSnapshot(session: string, reducer: string): Promise<Snapshot | undefined> {
    return this.#link.call("loadSnapshot", { session, reducer });
  }

  async putBlob(bytes: Uint8Array): Promise<string> {
    this.#link.assertOpen();
    return this.#blobs.put(bytes);
  }

  async getBlob(name: string): Promise<Uint8Array | undefined> {
    this.#link.assertOpen();
    return this.#blobs.get(name);
  }

  async claimWork(
    holder: Holder,
    options: { limit: number; ttlMs: number },
  ): Promise<{ session: string; epoch: number }[]> {
    const claims: { session: string; epoch: number }[] = [];
    let afterKey = 0;
    for (;;) {
      const candidates = await this.#link.call("work", { afterKey, limit: workPage });
      for (const { key, session, lease } of candidates) {
        if (claims.length >= options.limit) return claims;
        afterKey = key;
        if (lease && lease.expiresAt > this.#clock.now() && this.#isAlive(lease.holder) !== false) continue;
        const answer = await this.acquireLease(session, holder, options.ttlMs);
        if (answer.granted) claims.push({ session, epoch: answer.epoch });
      }
      if (candidates.length < workPage) return claims;
    }
  }

  stats(): Promise<SqliteStats> {
    return this.#link.call("stats", undefined);
  }

  async close(): Promise<void> {
    await this.#link.close().finally(() => this.#watch.end());
  }
}
