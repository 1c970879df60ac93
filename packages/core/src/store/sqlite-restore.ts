/**
 * Taking in a session that another store has kept, and replacing the payload of a record.
 *
 * Owns: drafts (sessions that nobody sees yet), the origins of records. Invariants:
 * 1. As sqlite-write: what can be refused is refused before the first write.
 * 2. A draft has a name that no session can have and is marked as such. What a crash leaves of one is found by `doctor`.
 */
import { payloadHash } from "../log/envelope.ts";
import { fenced, noDraft, notOwn, otherPayload, sessionExists } from "./refusal.ts";
import type { RestoreStatements } from "./sqlite-statement.ts";
import { columns, type Operations, type PackedRecords, unpackErased } from "./sqlite-wire.ts";
import { holds, openTurn, type Writer } from "./sqlite-write.ts";

type In<K extends keyof Operations> = Operations[K]["in"];

export class Restorer {
  readonly #writer: Writer;
  readonly #sql: RestoreStatements;

  constructor(writer: Writer, sql: RestoreStatements) {
    this.#writer = writer;
    this.#sql = sql;
  }

  begin({ session, now }: In<"restoreBegin">): number {
    this.#refuseExisting(session);
    return Number(this.#sql.beginRestore.run(session, now).lastInsertRowid);
  }

  add({ key, records }: In<"restoreAdd">): undefined {
    const before = this.#draft(key);
    this.#writer.insertRecords(key, records);
    this.#addOrigins(key, records);
    this.#sql.growDraft.run(lastSeq(records) ?? before, key);
  }

  /** One row for each stretch of records that were written to one session, at its last seq. */
  #addOrigins(key: number, { origins, numbers }: PackedRecords): void {
    const known = this.#sql.lastOrigin.get(key);
    let open = known && { last: Number(known["last"]), id: String(known["id"]) };
    if (open) this.#sql.deleteOrigin.run(key, open.last);
    for (let i = 0; i < numbers.length; i += columns) {
      const id = origins[numbers[i] ?? 0] ?? "";
      if (open && open.id !== id) this.#sql.insertOrigin.run(key, open.last, open.id);
      open = { last: numbers[i + 2] ?? 0, id };
    }
    if (open) this.#sql.insertOrigin.run(key, open.last, open.id);
  }

  end({ key, session, seq, epoch, head, posts, now }: In<"restoreEnd">): undefined {
    this.#draft(key);
    this.#refuseExisting(session);
    // What is written from now on is the session's own, as is what it has written last.
    const last = this.#sql.lastOrigin.get(key);
    if (last && last["id"] === session) this.#sql.deleteOrigin.run(key, last["last"] ?? 0);
    this.#sql.endRestore.run(
      session,
      seq,
      epoch,
      now,
      now,
      JSON.stringify(head),
      openTurn(head),
      head.workspace ?? "",
      key,
    );
    for (const id of posts) this.#sql.knowPost.run(key, id);
  }

  drop({ key }: In<"restoreDrop">): undefined {
    this.#sql.dropRestore.run(key);
  }

  /** The seq up to which it is written. */
  #draft(key: number): number {
    const row = this.#sql.draftOf.get(key);
    if (!row) throw noDraft();
    return Number(row["seq"]);
  }

  #refuseExisting(session: string): void {
    if (this.#sql.sessionById.get(session)) throw sessionExists(session);
  }

  redact({ session, epoch, seq, erased, payload }: In<"redact">): undefined {
    const row = this.#writer.sessions.find(session);
    if (!holds(row, epoch)) throw fenced(session, epoch, row.epoch);
    const record = this.#sql.payloadOf.get(row.key, seq);
    if (!record) throw notOwn(session, seq, Number(this.#sql.cutOf.get(row.key)?.["cut"]));
    const bytes = record["payload"] as Uint8Array;
    const before = Number(record["kind"]) < 0 ? unpackErased(bytes) : bytes;
    if (payloadHash(before) !== erased) throw otherPayload(session, seq, erased);
    if (before instanceof Uint8Array) for (const statement of this.#sql.redact) statement.run(row.key, seq, payload);
    this.#sql.dropSnapshots.run(row.key);
  }
}

function lastSeq({ numbers }: PackedRecords): number | undefined {
  return numbers.length === 0 ? undefined : numbers[numbers.length - columns + 2];
}
