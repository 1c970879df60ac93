/**
 * The operations that write, each inside a transaction that somebody else began (sqlite-group).
 *
 * Owns: fences, heads, leases, mailbox, names in SQL. Invariants:
 * 1. Everything that can be refused is refused before the first write of the operation: a refusal needs no rollback.
 *    What fails later is the disk's fault and takes the whole transaction with it.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { holderOf } from "./json-column.ts";
import { conflict, fenced, noParent, noPost, postsWait, sessionExists, unread } from "./refusal.ts";
import { type SessionRow, SessionRows } from "./sqlite-session.ts";
import { prepareWrites, type WriteStatements } from "./sqlite-statement.ts";
import {
  type AcquireCall,
  type AppendCall,
  checksumBytes,
  columns,
  type Operations,
  type PackedRecords,
} from "./sqlite-wire.ts";
import type { Head, LeaseAnswer, LeaseInfo, Unchanged } from "./store.ts";

type In<K extends keyof Operations> = Operations[K]["in"];

/** Larger payloads fill pages of their own, wherever they lie: gathering them would only write them twice. */
const freshBytes = 2_000;

export class Writer {
  readonly sessions: SessionRows;
  /** Whether records of this transaction are gathered in `fresh`. */
  gathers = false;
  /** Records that this process has put into `fresh` and nobody has settled. */
  unsettled = 0;
  readonly #sql: WriteStatements;
  readonly #countMail: StatementSync;
  readonly #kinds = new Map<string, number>();

  constructor(db: DatabaseSync) {
    this.sessions = new SessionRows(db);
    this.#sql = prepareWrites(db);
    this.#countMail = db.prepare("SELECT COUNT(*) AS n FROM mail WHERE session = ?");
  }

  /** After a rollback nothing that was learned inside the transaction holds. */
  forget(): void {
    this.sessions.forget();
    this.#kinds.clear();
  }

  create({ session, records, head, parent, now }: In<"create">): undefined {
    if (this.#sql.sessionById.get(session)) throw sessionExists(session);
    const from = parent && this.sessions.find(parent.session);
    if (parent && from && parent.seq > from.seq) throw noParent(parent, from.seq);
    const cut = parent?.seq ?? 0;
    const seq = cut + records.numbers.length / columns;
    const { lastInsertRowid } = this.#sql.insertSession.run(
      session,
      seq,
      now,
      now,
      JSON.stringify(head),
      openTurn(head),
      from?.key ?? null,
      cut,
      head.workspace ?? "",
    );
    this.insertRecords(Number(lastInsertRowid), records);
  }

  append(call: AppendCall): undefined {
    const { session, epoch, expectedSeq, records, head, consume = [], expectedPosts, dropPartial, now } = call;
    const row = this.sessions.find(session);
    if (!holds(row, epoch)) throw fenced(session, epoch, row.epoch);
    if (row.seq !== expectedSeq) throw conflict(session, expectedSeq, row.seq);
    if (expectedPosts !== undefined) this.#demandRead(row, session, expectedPosts);
    const places = consume.map((post) => this.#placeOf(row, session, post));

    this.insertRecords(row.key, records);
    const seq = expectedSeq + records.numbers.length / columns;
    if (head) this.#sql.updateHead.run(seq, now, JSON.stringify(head), openTurn(head), row.key);
    else this.#sql.updateSeq.run(seq, now, row.key);
    row.seq = seq;
    this.#nameWorkspace(row, head);
    for (const place of places) this.#sql.deleteMail.run(place);
    if (dropPartial !== undefined && this.#partial(row).attempt === dropPartial) this.#dropPartial(row);
  }

  /** Once: no later head changes what a session needs. */
  #nameWorkspace(row: SessionRow, { workspace = "" }: Head = {}): void {
    if (workspace === "" || row.workspace !== "") return;
    this.#sql.nameWorkspace.run(workspace, row.key);
    row.workspace = workspace;
  }

  #placeOf(row: SessionRow, session: string, post: string): number {
    const found = this.#sql.waitingPost.get(row.key, post);
    if (!found) throw noPost(session, post);
    return Number(found["place"]);
  }

  insertRecords(key: number, { kinds, numbers, bytes }: PackedRecords): void {
    const keys = kinds.map(({ type, version, ignorable }) => this.#kind(type, version, ignorable ? 1 : 0));
    let at = 0;
    for (let i = 0; i < numbers.length; i += columns) {
      const kind = keys[numbers[i + 1] ?? 0] ?? 0;
      const start = at + checksumBytes;
      const length = numbers[i + 5] ?? 0;
      const fresh = this.gathers && length <= freshBytes;
      if (fresh) this.unsettled += 1;
      const insert = fresh ? this.#sql.insertFresh : this.#sql.insertRecord;
      const checksum = bytes.subarray(at, start);
      at = start + length;
      const payload = bytes.subarray(start, at);
      const [seq, signed, epoch, time] = [
        numbers[i + 2] ?? 0,
        numbers[i + 6] ? -kind : kind,
        numbers[i + 3] ?? 0,
        numbers[i + 4] ?? 0,
      ];
      insert.run(key, seq, signed, epoch, time, checksum, payload);
    }
  }

  /** Moves gathered records to their sessions. */
  settle(): void {
    this.#sql.settleFresh.run();
    this.#sql.clearFresh.run();
    this.unsettled = 0;
  }

  anyFresh(): boolean {
    return this.#sql.anyFresh.get() !== undefined;
  }

  #kind(type: string, version: number, ignorable: number): number {
    const name = `${type} ${version} ${ignorable}`;
    const known = this.#kinds.get(name);
    if (known !== undefined) return known;
    this.#sql.insertKind.run(type, version, ignorable);
    const key = Number(this.#sql.selectKind.get(type, version, ignorable)?.["key"]);
    this.#kinds.set(name, key);
    return key;
  }

  delete({ session, unchanged }: In<"delete">): undefined {
    const row = this.sessions.find(session);
    const { key } = row;
    if (unchanged) this.#demandUnchanged(row, session, unchanged);
    this.#sql.hideSession.run(key);
    // Ancestors that were deleted before may now hold records that nobody reads any more.
    for (
      let at = this.#sql.parentOf.get(key)?.["parent"];
      typeof at === "number";
      at = this.#sql.parentOf.get(at)?.["parent"]
    ) {
      this.#sql.reviveErasure.run(at);
    }
    for (const statement of this.#sql.dropBelongings) statement.run(key);
    this.sessions.drop(session);
  }

  #demandUnchanged(row: SessionRow, session: string, { epoch, expectedSeq }: Unchanged): void {
    if (!holds(row, epoch)) throw fenced(session, epoch, row.epoch);
    if (row.seq !== expectedSeq) throw conflict(session, expectedSeq, row.seq);
    const waiting = this.#waiting(row);
    if (waiting > 0) throw postsWait(session, waiting);
  }

  #demandRead(row: SessionRow, session: string, expected: number): void {
    const waiting = this.#waiting(row);
    if (waiting !== expected) throw unread(session, expected, waiting);
  }

  #waiting({ key }: SessionRow): number {
    return Number(this.#countMail.get(key)?.["n"]);
  }

  /** One slice of erasure, bounded so that no other session's commit waits long behind a large delete. */
  erase(): boolean {
    const hidden = this.#sql.hiddenSession.get();
    if (!hidden) return false;
    const key = Number(hidden["key"]);
    const needed = this.#neededUpTo(key);
    const { changes } = this.#sql.eraseRecords.run(key, needed, key);
    if (Number(changes) > 0) return true;
    this.#sql.eraseFresh.run(key, needed, key);
    this.#sql.markErased.run(key);
    return true;
  }

  /** The last seq of a deleted session that a living child, or a living child of a deleted one, reads. */
  #neededUpTo(key: number): number {
    let needed = 0;
    for (const child of this.#sql.childrenOf.all(key)) {
      const cut = Number(child["cut"]);
      if (cut <= needed) continue;
      needed = Math.max(needed, child["deleted"] === 0 ? cut : Math.min(cut, this.#neededUpTo(Number(child["key"]))));
    }
    return needed;
  }

  setName({ name, session, expected }: In<"setName">): boolean {
    const key = session === null ? null : this.sessions.find(session).key;
    if (expected !== undefined && expected !== (this.#sql.named.get(name)?.["id"] ?? null)) return false;
    if (key === null) this.#sql.deleteName.run(name);
    else this.#sql.upsertName.run(name, key);
    return true;
  }

  post({ session, id, kind, body, now }: In<"post">): "accepted" | "duplicate" {
    const { key, workspace } = this.sessions.find(session);
    if (this.#sql.postById.get(key, id)) return "duplicate";
    const { lastInsertRowid } = this.#sql.insertMail.run(key, id, kind, body, now, workspace);
    this.#sql.insertPost.run(key, id, lastInsertRowid);
    return "accepted";
  }

  acquire({ session, holder, ttlMs, now, dead }: AcquireCall): LeaseAnswer {
    const row = this.sessions.find(session);
    const held = this.#liveLease(row, now);
    if (held && held.epoch !== dead) return { granted: false, held };
    const epoch = row.epoch + 1;
    this.#sql.updateEpoch.run(epoch, row.key);
    this.#sql.upsertLease.run(row.key, epoch, holder, Math.ceil(now + ttlMs), Math.ceil(ttlMs));
    row.epoch = epoch;
    row.leased = epoch;
    return { granted: true, epoch, seq: row.seq };
  }

  /** One that seems to last longer than it was given for is the work of a clock that went back: it is counted anew. */
  #liveLease(row: SessionRow, now: number): LeaseInfo | undefined {
    const lease = row.leased === 0 ? undefined : this.#sql.leaseOf.get(row.key);
    if (!lease) return undefined;
    const ttlMs = Number(lease["ttl_ms"]);
    let expiresAt = Number(lease["expires_at"]);
    if (expiresAt > Math.ceil(now + ttlMs)) {
      expiresAt = Math.ceil(now + ttlMs);
      this.#sql.renewLease.run(expiresAt, ttlMs, row.key);
    }
    if (expiresAt <= now) return undefined;
    return { epoch: row.leased, holder: holderOf(String(lease["holder"])), expiresAt };
  }

  renew({ session, epoch, ttlMs, now }: In<"renew">): boolean {
    const row = this.sessions.find(session);
    if (!holds(row, epoch)) return false;
    this.#sql.renewLease.run(Math.ceil(now + ttlMs), Math.ceil(ttlMs), row.key);
    return true;
  }

  release({ session, epoch }: In<"release">): undefined {
    const row = this.sessions.find(session);
    if (!holds(row, epoch)) return;
    this.#sql.deleteLease.run(row.key);
    row.leased = 0;
  }

  writePartial({ session, epoch, attempt, chunk }: In<"writePartial">): undefined {
    const row = this.sessions.find(session);
    if (!holds(row, epoch)) return;
    const partial = this.#partial(row);
    if (partial.n > 0 && (partial.attempt !== attempt || partial.epoch !== epoch)) this.#dropPartial(row);
    const n = this.#partial(row).n + 1;
    this.#sql.insertPartial.run(row.key, n, epoch, attempt, chunk);
    row.partial = { attempt, epoch, n };
  }

  #partial(row: SessionRow): { attempt: string; epoch: number; n: number } {
    if (row.partial) return row.partial;
    const last = this.#sql.lastPartial.get(row.key);
    row.partial = last
      ? { attempt: String(last["attempt"]), epoch: Number(last["epoch"]), n: Number(last["n"]) }
      : { attempt: "", epoch: 0, n: 0 };
    return row.partial;
  }

  #dropPartial(row: SessionRow): void {
    this.#sql.deletePartial.run(row.key);
    row.partial = { attempt: "", epoch: 0, n: 0 };
  }

  saveSnapshot({ session, snapshot }: In<"saveSnapshot">): undefined {
    const { key } = this.sessions.find(session);
    const { reducer, version, seq, checksum, bytes } = snapshot;
    this.#sql.upsertSnapshot.run(key, reducer, version, seq, checksum, bytes);
  }
}

/** Epoch 0 is nobody's: it is the creation's, and stands for no lease. */
export function holds(row: SessionRow, epoch: number): boolean {
  return row.leased !== 0 && row.leased === epoch;
}

export function openTurn(head: Head): number {
  return head.openTurn === undefined ? 0 : 1;
}
