/**
 * The store in memory: the reference for what the contract means. Nothing survives the process.
 *
 * Owns: every rule of store.ts, in the plainest form. Does not own: durability. A forked session points to its parent,
 * so that the parent's records stay as long as a child reads them, also after the parent is deleted.
 */
import { hash } from "node:crypto";
import type { Clock } from "../effects.ts";
import { copied } from "../log/copy.ts";
import { type LogRecord, payloadHash } from "../log/envelope.ts";
import type { Json } from "../log/event.ts";
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
  pageLimit,
} from "./admission.ts";
import { copies, demandAppendable, headSeq, inTurn, reads, type Session, slice } from "./memory-session.ts";
import {
  conflict,
  fenced,
  noParent,
  noSession,
  notOwn,
  otherPayload,
  postsWait,
  sessionExists,
  storeClosed,
} from "./refusal.ts";
import type {
  AppendBatch,
  ClaimOptions,
  CreateSession,
  Erasure,
  Head,
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
import { Watchers } from "./watch.ts";

export interface MemoryStoreOptions {
  clock: Clock;
  /** Whether a lease holder lives; undefined: unknown, its lease counts until it expires. */
  isAlive?: (holder: Holder) => boolean | undefined;
}

export function memoryStore(options: MemoryStoreOptions): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly #clock: Clock;
  readonly #isAlive: (holder: Holder) => boolean | undefined;
  readonly #sessions = new Map<string, Session>();
  readonly #deleted = new Set<string>();
  readonly #names = new Map<string, string>();
  readonly #blobs = new Map<string, { bytes: Uint8Array; putAt: number }>();
  readonly #watchers = new Watchers();
  #posted = 0;
  #closed = false;

  constructor({ clock, isAlive = () => undefined }: MemoryStoreOptions) {
    this.#clock = clock;
    this.#isAlive = isAlive;
  }

  async create(batch: CreateSession): Promise<void> {
    this.#open();
    admitCreate(batch);
    const { session: id, parent, records, head } = batch;
    if (this.#sessions.has(id) || this.#deleted.has(id)) throw sessionExists(id);
    const from = parent && this.#session(parent.session);
    if (parent && from && parent.seq > headSeq(from)) throw noParent(parent, headSeq(from));
    this.#add({ id, parent: from, cut: parent?.seq ?? 0, records: copies(records), epoch: 0, head });
    this.#watchers.notify(id, "any");
  }

  async restore({ session: id, head, posts = [], batches }: RestoreSession): Promise<void> {
    this.#open();
    admitSessionId(id);
    const records: LogRecord[] = [];
    for await (const batch of batches) {
      admitRestored(id, records.at(-1)?.seq ?? 0, batch);
      records.push(...copies(batch));
    }
    admitPostIds(id, posts);
    this.#open();
    if (this.#sessions.has(id) || this.#deleted.has(id)) throw sessionExists(id);
    const epoch = records.reduce((most, record) => (record.session === id ? Math.max(most, record.epoch) : most), 0);
    this.#add({ id, parent: undefined, cut: 0, records, epoch, head, posts });
    this.#watchers.notify(id, "any");
  }

  #add({
    posts = [],
    ...session
  }: Pick<Session, "id" | "parent" | "cut" | "records" | "epoch" | "head"> & { posts?: readonly string[] }): void {
    const now = this.#clock.now();
    this.#sessions.set(session.id, {
      ...session,
      createdAt: now,
      updatedAt: now,
      head: { ...session.head },
      lease: undefined,
      posts: new Set(posts),
      mailbox: new Map(),
      partial: undefined,
      snapshots: new Map(),
    });
  }

  async erase(erasure: Erasure): Promise<void> {
    this.#open();
    admitErasure(erasure);
    const { epoch, seq, payload } = erasure;
    const session = this.#session(erasure.session);
    if (session.lease?.epoch !== epoch) throw fenced(session.id, epoch, session.epoch);
    const record = session.records.find((own) => own.seq === seq);
    if (!record) throw notOwn(session.id, seq, session.cut);
    if (payloadHash(record.payload) !== payload.erased) throw otherPayload(session.id, seq, payload.erased);
    if (record.payload instanceof Uint8Array) record.payload = { ...payload, left: new Uint8Array(payload.left) };
    for (const reader of this.#sessions.values()) if (reads(reader, session)) reader.snapshots.clear();
  }

  async append(batch: AppendBatch): Promise<void> {
    this.#open();
    admitAppend(batch);
    const session = this.#session(batch.session);
    demandAppendable(session, batch);
    session.records.push(...copies(batch.records));
    session.updatedAt = this.#clock.now();
    if (batch.head) session.head = { ...batch.head, ...needOf(session.head) };
    for (const post of batch.consume ?? []) session.mailbox.delete(post);
    if (batch.dropPartial !== undefined && session.partial?.attempt === batch.dropPartial) session.partial = undefined;
    this.#watchers.notify(session.id, "records");
  }

  async read(id: string, { after = 0, limit }: { after?: number; limit?: number } = {}): Promise<LogRecord[]> {
    this.#open();
    return slice(this.#session(id), after + 1, Number.MAX_SAFE_INTEGER, pageLimit(limit));
  }

  async readTail(id: string, { before, limit }: { before?: number; limit?: number } = {}): Promise<LogRecord[]> {
    this.#open();
    const session = this.#session(id);
    const last = Math.min(headSeq(session), (before ?? Number.POSITIVE_INFINITY) - 1);
    return slice(session, last + 1 - pageLimit(limit), last, pageLimit(limit));
  }

  async get(id: string): Promise<SessionSummary | undefined> {
    this.#open();
    const session = this.#sessions.get(id);
    return session && this.#summary(session);
  }

  async list(
    options: { limit?: number; cursor?: { updatedAt: number; session: string } } = {},
  ): Promise<SessionSummary[]> {
    this.#open();
    const { cursor } = options;
    return [...this.#sessions.values()]
      .map((session) => this.#summary(session))
      .sort(recentFirst)
      .filter((entry) => !cursor || recentFirst(entry, cursor) > 0)
      .slice(0, pageLimit(options.limit));
  }

  async delete(id: string, unchanged?: Unchanged): Promise<void> {
    this.#open();
    const session = this.#session(id);
    if (unchanged) {
      const { epoch, expectedSeq } = unchanged;
      if (session.lease?.epoch !== epoch) throw fenced(id, epoch, session.epoch);
      if (expectedSeq !== headSeq(session)) throw conflict(id, expectedSeq, headSeq(session));
      if (session.mailbox.size > 0) throw postsWait(id, session.mailbox.size);
    }
    this.#sessions.delete(id);
    this.#deleted.add(id);
    for (const [name, session] of this.#names) if (session === id) this.#names.delete(name);
    this.#watchers.notify(id, "any");
  }

  async setName(name: string, session: string | null, expected?: string | null): Promise<boolean> {
    this.#open();
    admitName(name);
    if (session !== null) this.#session(session);
    if (expected !== undefined && expected !== (this.#names.get(name) ?? null)) return false;
    if (session === null) this.#names.delete(name);
    else this.#names.set(name, session);
    return true;
  }

  async resolveName(name: string): Promise<string | undefined> {
    this.#open();
    return this.#names.get(name);
  }

  async post(id: string, post: Post): Promise<"accepted" | "duplicate"> {
    this.#open();
    const body = JSON.parse(admitPost(id, post)) as Json;
    const session = this.#session(id);
    if (session.posts.has(post.id)) return "duplicate";
    this.#posted += 1;
    session.posts.add(post.id);
    const entry: MailboxEntry = {
      id: post.id,
      kind: post.kind,
      body,
      order: this.#posted,
      postedAt: this.#clock.now(),
    };
    session.mailbox.set(post.id, entry);
    this.#watchers.notify(id, "posts");
    return "accepted";
  }

  async mailbox(id: string): Promise<MailboxEntry[]> {
    this.#open();
    return copied([...this.#session(id).mailbox.values()]);
  }

  watch(session: string, notify: (news: News) => void): () => void {
    this.#open();
    return this.#watchers.add(session, notify);
  }

  async acquireLease(id: string, holder: Holder, ttlMs: number): Promise<LeaseAnswer> {
    this.#open();
    admitLease(holder, ttlMs);
    const session = this.#session(id);
    const now = this.#clock.now();
    if (session.lease) session.lease.expiresAt = Math.min(session.lease.expiresAt, now + session.lease.ttlMs);
    const held = this.#liveLease(session);
    if (held) return { granted: false, held };
    session.epoch += 1;
    session.lease = { epoch: session.epoch, holder: { ...holder }, expiresAt: now + ttlMs, ttlMs };
    return { granted: true, epoch: session.epoch, seq: headSeq(session) };
  }

  async renewLease(id: string, epoch: number, ttlMs: number): Promise<boolean> {
    this.#open();
    admitTtl(ttlMs);
    const session = this.#session(id);
    if (session.lease?.epoch !== epoch) return false;
    session.lease = { ...session.lease, expiresAt: this.#clock.now() + ttlMs, ttlMs };
    return true;
  }

  async releaseLease(id: string, epoch: number): Promise<void> {
    this.#open();
    const session = this.#session(id);
    if (session.lease?.epoch === epoch) session.lease = undefined;
  }

  async writePartial(id: string, epoch: number, attempt: string, chunk: string): Promise<void> {
    this.#open();
    const session = this.#session(id);
    if (session.lease?.epoch !== epoch) return;
    const { partial } = session;
    if (partial?.attempt === attempt && partial.epoch === epoch) partial.chunks.push(chunk);
    else session.partial = { attempt, epoch, chunks: [chunk] };
  }

  async readPartial(id: string): Promise<Partial | undefined> {
    this.#open();
    return copied(this.#session(id).partial);
  }

  async saveSnapshot(id: string, snapshot: Snapshot): Promise<void> {
    this.#open();
    this.#session(id).snapshots.set(snapshot.reducer, copyOfSnapshot(snapshot));
  }

  async loadSnapshot(id: string, reducer: string): Promise<Snapshot | undefined> {
    this.#open();
    const snapshot = this.#session(id).snapshots.get(reducer);
    return snapshot && copyOfSnapshot(snapshot);
  }

  async putBlob(bytes: Uint8Array): Promise<string> {
    this.#open();
    const name = hash("sha256", bytes, "hex");
    const known = this.#blobs.get(name)?.bytes;
    this.#blobs.set(name, { bytes: known ?? bytes.slice(), putAt: this.#clock.now() });
    return name;
  }

  async getBlob(name: string): Promise<Uint8Array | undefined> {
    this.#open();
    return this.#blobs.get(name)?.bytes.slice();
  }

  async oldBlobs({ before, after = "", limit }: { before: number; after?: string; limit?: number }): Promise<string[]> {
    this.#open();
    const old = [...this.#blobs].filter(([name, { putAt }]) => name > after && putAt < before);
    return old
      .map(([name]) => name)
      .sort()
      .slice(0, pageLimit(limit));
  }

  async dropBlobs(names: readonly string[], before: number): Promise<number> {
    this.#open();
    const old = names.filter((name) => (this.#blobs.get(name)?.putAt ?? before) < before);
    for (const name of old) this.#blobs.delete(name);
    return old.length;
  }

  async claimWork(holder: Holder, options: ClaimOptions): Promise<{ session: string; epoch: number }[]> {
    this.#open();
    admitClaim(holder, options);
    const { workspaces = [] } = options;
    const claims: { session: string; epoch: number }[] = [];
    for (const session of inTurn(this.#sessions.values(), this.#clock.now())) {
      if (claims.length >= options.limit) break;
      const { workspace } = session.head;
      if (session.id.startsWith(taskPrefix)) continue;
      if (workspace !== undefined && workspaces !== "any" && !workspaces.includes(workspace)) continue;
      const answer = await this.acquireLease(session.id, holder, options.ttlMs);
      if (answer.granted) claims.push({ session: session.id, epoch: answer.epoch });
    }
    return claims;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watchers.notifyAll();
  }

  #open(): void {
    if (this.#closed) throw storeClosed();
  }

  #session(id: string): Session {
    const session = this.#sessions.get(id);
    if (!session) throw noSession(id);
    return session;
  }

  #liveLease({ lease }: Session): LeaseInfo | undefined {
    if (!lease || lease.expiresAt <= this.#clock.now() || this.#isAlive(lease.holder) === false) return undefined;
    const { epoch, holder, expiresAt } = lease;
    return { epoch, holder: { ...holder }, expiresAt };
  }

  #summary(session: Session): SessionSummary {
    const lease = this.#liveLease(session);
    const { id, epoch, createdAt, updatedAt, parent, cut, mailbox } = session;
    const [oldest] = mailbox.values();
    const names = [...this.#names].flatMap(([name, of]) => (of === id ? name : [])).sort();
    return {
      session: id,
      seq: headSeq(session),
      epoch,
      createdAt,
      updatedAt,
      head: { ...session.head },
      ...(names.length > 0 && { names }),
      ...(parent && { parent: { session: parent.id, seq: cut } }),
      ...(oldest && { waitingSince: oldest.postedAt }),
      ...(lease && { lease }),
    };
  }
}

/** It is said once: no later head takes it away. */
function needOf({ workspace }: Head): Pick<Head, "workspace"> {
  return workspace === undefined ? {} : { workspace };
}

function copyOfSnapshot(snapshot: Snapshot): Snapshot {
  return { ...snapshot, bytes: new Uint8Array(snapshot.bytes) };
}

/** Latest update first; at the same moment the greater id, which is the later one where ids are time-ordered. */
function recentFirst(a: { updatedAt: number; session: string }, b: { updatedAt: number; session: string }): number {
  if (a.updatedAt !== b.updatedAt) return b.updatedAt - a.updatedAt;
  return a.session === b.session ? 0 : a.session < b.session ? 1 : -1;
}
