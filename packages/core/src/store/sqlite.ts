/**
 * The store in one SQLite file: the embedded default.
 *
 * Owns: the contract's face on the main thread: checks, moments, watches, blobs. Does not own: SQL and transactions (a
 * worker thread, see sqlite-worker), so that no flush ever blocks the event loop. Invariants:
 * 1. An append, a post, a creation is on disk when its promise resolves; all that wait share one flush.
 * 2. Many processes may open the same folder on one host. A network file system is not a host: SQLite's shared memory does
 *    not hold there, so it is not used, and the operator is warned.
 * 3. A folder that cannot be written is read all the same; whatever would write says STORE_UNAVAILABLE.
 */
import { mkdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock, Timers } from "../effects.ts";
import type { LogRecord } from "../log/envelope.ts";
import { taskPrefix } from "../log/shape.ts";
import {
  admitAppend,
  admitClaim,
  admitCreate,
  admitErasure,
  admitLease,
  admitName,
  admitPost,
  admitPostIds,
  admitRestored,
  admitSessionId,
  admitTtl,
  maxSeq,
  pageLimit,
} from "./admission.ts";
import { BlobFolder } from "./blob-folder.ts";
import { sharedFileSystem, sharedWarning } from "./file-system.ts";
import { storeFault } from "./sqlite-fault.ts";
import { WorkerLink } from "./sqlite-link.ts";
import { defaultBusyMs } from "./sqlite-open.ts";
import { summaryOf } from "./sqlite-summary.ts";
import { SqliteWatch } from "./sqlite-watch.ts";
import { type Opened, type Page, packErased, packRecords, type SqliteStats, unpackRecords } from "./sqlite-wire.ts";
import type {
  AppendBatch,
  ClaimOptions,
  CreateSession,
  Erasure,
  Holder,
  LeaseAnswer,
  LeaseInfo,
  MailboxEntry,
  News,
  Partial,
  Post,
  RestoreSession,
  SessionSummary,
  Snapshot,
  Store,
  Unchanged,
} from "./store.ts";

export interface SqliteStoreOptions {
  /** The folder of `pawl.db` and `blobs/`; made, for its owner only, where it is not there. */
  dir: string;
  clock: Clock;
  timers: Timers;
  /** Whether a lease holder lives; undefined: unknown (another host), its lease counts until it expires. */
  isAlive(holder: Holder): boolean | undefined;
  /** How long to wait for another process that holds the write lock, ms. */
  busyMs?: number;
  /** The type that `statfs` gives for a folder; asked once. */
  fileSystemType?(dir: string): Promise<number>;
}

export interface SqliteStore extends Store {
  /** How many operations shared how many commits and flushes since this store was opened. */
  stats(): Promise<SqliteStats>;
  /** Erases what deleted sessions, and those that were never taken in whole, have left. Also done by each delete. */
  sweep(): Promise<void>;
  /** Whether the folder could only be opened for reading. */
  readonly readOnly: boolean;
  /** What an operator should know about where the store lies, a line each; told once. */
  readonly warnings: readonly string[];
}

/** Candidates for work looked at in one go. */
const workPage = 200;

/** Opens, or makes, the store in `dir`. Fails with STORE_UNAVAILABLE or CORRUPT, naming the path. */
export async function sqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { dir } = options;
  await makeFolder(dir).catch((error) => {
    throw storeFault(error, dir);
  });
  const shared = sharedFileSystem(await (options.fileSystemType ?? typeOf)(dir));
  const link = new WorkerLink();
  try {
    const { busyMs = defaultBusyMs } = options;
    const opened = await link.call("open", { path: join(dir, "pawl.db"), journal: shared ? "delete" : "wal", busyMs });
    return new FileStore(options, link, {
      ...opened,
      warnings: [...(shared ? [sharedWarning(dir, shared)] : []), ...opened.warnings],
    });
  } catch (error) {
    await link.abandon();
    throw error;
  }
}

/** Node's own recursive mkdir never ends where a parent that exists answers ENOENT (/proc). */
async function makeFolder(dir: string): Promise<void> {
  if (await isFolder(dir)) return;
  const parent = dirname(dir);
  if (parent !== dir) await makeFolder(parent);
  await mkdir(dir, { mode: 0o700 }).catch(async (error) => {
    if (!(await isFolder(dir))) throw error;
  });
}

async function isFolder(dir: string): Promise<boolean> {
  return stat(dir).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** A folder that cannot be asked counts as local: opening it will say what is wrong. */
async function typeOf(dir: string): Promise<number> {
  return statfs(dir).then(
    ({ type }) => type,
    () => 0,
  );
}

class FileStore implements SqliteStore {
  readonly readOnly: boolean;
  readonly warnings: readonly string[];
  readonly #clock: Clock;
  readonly #isAlive: SqliteStoreOptions["isAlive"];
  readonly #link: WorkerLink;
  readonly #watch: SqliteWatch;
  readonly #blobs: BlobFolder;

  constructor({ dir, clock, timers, isAlive }: SqliteStoreOptions, link: WorkerLink, { readOnly, warnings }: Opened) {
    this.readOnly = readOnly;
    this.warnings = warnings;
    this.#clock = clock;
    this.#isAlive = isAlive;
    this.#link = link;
    this.#watch = new SqliteWatch(link, timers);
    this.#blobs = new BlobFolder(join(dir, "blobs"), () => this.#clock.now());
  }

  async create(batch: CreateSession): Promise<void> {
    admitCreate(batch);
    const { session, records, head, parent } = batch;
    const now = this.#clock.now();
    await this.#link.call("create", { session, records: packRecords(records), head, ...(parent && { parent }), now });
    this.#watch.notify(session, "any");
  }

  async append(batch: AppendBatch): Promise<void> {
    admitAppend(batch);
    await this.#link.call("append", { ...batch, records: packRecords(batch.records), now: this.#clock.now() });
    this.#watch.notify(batch.session, "records");
  }

  async restore({ session, head, posts = [], batches }: RestoreSession): Promise<void> {
    admitSessionId(session);
    const now = this.#clock.now();
    const key = await this.#link.call("restoreBegin", { session, now });
    let [seq, epoch] = [0, 0];
    try {
      for await (const records of batches) {
        admitRestored(session, seq, records);
        await this.#link.call("restoreAdd", { key, records: packRecords(records) });
        seq = records.at(-1)?.seq ?? seq;
        for (const record of records) if (record.session === session) epoch = Math.max(epoch, record.epoch);
      }
      admitPostIds(session, posts);
      await this.#link.call("restoreEnd", { key, session, seq, epoch, head, posts, now });
    } catch (error) {
      await this.#dropDraft(key);
      throw error;
    }
    this.#watch.notify(session, "any");
  }

  /** A courtesy: nobody sees a draft, and doctor finds one that stays. */
  async #dropDraft(key: number): Promise<void> {
    try {
      await this.#link.call("restoreDrop", { key });
      await this.sweep();
    } catch {
      // What has stopped the restore is what the caller hears of.
    }
  }

  async erase(erasure: Erasure): Promise<void> {
    admitErasure(erasure);
    const { session, epoch, seq, payload } = erasure;
    const { erased } = payload;
    await this.#link.call("redact", { session, epoch, seq, erased, payload: packErased(payload) });
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
    const row = await this.#link.call("get", { session });
    return row && this.#live(summaryOf(row));
  }

  async list(
    options: { limit?: number; cursor?: { updatedAt: number; session: string } } = {},
  ): Promise<SessionSummary[]> {
    const { cursor } = options;
    const rows = await this.#link.call("list", { limit: pageLimit(options.limit), ...(cursor && { cursor }) });
    return rows.map((row) => this.#live(summaryOf(row)));
  }

  #live(summary: SessionSummary): SessionSummary {
    const { lease, ...rest } = summary;
    if (!lease || (lease.expiresAt > this.#clock.now() && this.#isAlive(lease.holder) !== false)) return summary;
    return rest;
  }

  async delete(session: string, unchanged?: Unchanged): Promise<void> {
    await this.#link.call("delete", { session, ...(unchanged && { unchanged }) });
    this.#watch.notify(session, "any");
    await this.sweep();
  }

  async sweep(): Promise<void> {
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
    if (answer === "accepted") this.#watch.notify(session, "posts");
    return answer;
  }

  mailbox(session: string): Promise<MailboxEntry[]> {
    return this.#link.call("mailbox", { session });
  }

  watch(session: string, notify: (news: News) => void): () => void {
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
    return this.#link.call("renew", { session, epoch, ttlMs, now: this.#clock.now() });
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

  async oldBlobs({ before, after = "", limit }: { before: number; after?: string; limit?: number }): Promise<string[]> {
    this.#link.assertOpen();
    return this.#blobs.old(before, after, pageLimit(limit));
  }

  async dropBlobs(names: readonly string[], before: number): Promise<number> {
    this.#link.assertOpen();
    return this.#blobs.drop(names, before);
  }

  async claimWork(holder: Holder, options: ClaimOptions): Promise<{ session: string; epoch: number }[]> {
    admitClaim(holder, options);
    const { workspaces = [] } = options;
    const wanted = workspaces === "any" ? null : JSON.stringify(["", ...workspaces]);
    const claims: { session: string; epoch: number }[] = [];
    for (let from = 0; ; from += workPage) {
      const candidates = await this.#link.call("work", { from, limit: workPage, wanted, now: this.#clock.now() });
      for (const { session, lease } of candidates) {
        if (claims.length >= options.limit) return claims;
        if (session.startsWith(taskPrefix)) continue;
        if (lease && this.#surelyHeld(lease, options.ttlMs)) continue;
        const answer = await this.acquireLease(session, holder, options.ttlMs);
        if (answer.granted) claims.push({ session, epoch: answer.epoch });
      }
      if (candidates.length < workPage) return claims;
    }
  }

  /** One that ends later than ours would may be the work of a clock that went back: acquiring tells. */
  #surelyHeld({ expiresAt, holder }: LeaseInfo, ttlMs: number): boolean {
    const now = this.#clock.now();
    return expiresAt > now && expiresAt <= now + ttlMs && this.#isAlive(holder) !== false;
  }

  stats(): Promise<SqliteStats> {
    return this.#link.call("stats", undefined);
  }

  async close(): Promise<void> {
    await this.#link.close().finally(() => this.#watch.end());
  }
}
