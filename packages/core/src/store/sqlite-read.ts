/**
 * The operations that read: never inside a write transaction, so they see what is committed and nothing else.
 *
 * Owns: lineage, lists, mailbox, marks in SQL. Does not own: how records are fetched (sqlite-page).
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { maxSeq } from "./admission.ts";
import { noSession } from "./refusal.ts";
import { Pages, type Segment } from "./sqlite-page.ts";
import { leaseOf, type SummaryRow, summaryColumns } from "./sqlite-summary.ts";
import type { Candidate, Operations, Page } from "./sqlite-wire.ts";
import type { MailboxEntry, Partial, Snapshot } from "./store.ts";

type In<K extends keyof Operations> = Operations[K]["in"];

type MailRow = [order: number | null, id: string, kind: MailboxEntry["kind"], body: string, postedAt: number];

export class Reader {
  readonly #sql: ReturnType<typeof prepareReads>;
  readonly #pages: Pages;

  constructor(db: DatabaseSync) {
    this.#pages = new Pages(db);
    this.#sql = prepareReads(db);
  }

  read({ session, after, limit }: In<"read">): Page {
    return this.#pages.page(this.#lineage(session), after + 1, maxSeq, limit);
  }

  readTail({ session, before, limit }: In<"readTail">): Page {
    const lineage = this.#lineage(session);
    const last = Math.min(lineage[0]?.last ?? 0, before - 1);
    return this.#pages.page(lineage, Math.max(1, last + 1 - limit), last, limit);
  }

  /** The session's own segment first, then its ancestors', each up to the lowest cut below it. */
  #lineage(session: string): Segment[] {
    const segments: Segment[] = [];
    let row = this.#sql.segmentById.get(session);
    if (!row) throw noSession(session);
    for (let to = Number(row["seq"]); row; ) {
      const cut = Number(row["cut"]);
      const key = Number(row["key"]);
      let session = String(row["id"]);
      // Of a restored session, what was written to another one before it was taken in.
      for (const origin of this.#sql.origins.iterate(key, cut)) {
        const last = Number(origin["last"]);
        if (last < to) segments.push({ key, session, first: last + 1, last: to });
        to = Math.min(to, last);
        session = String(origin["id"]);
      }
      segments.push({ key, session, first: cut + 1, last: to });
      to = Math.min(to, cut);
      row = row["parent"] === null ? undefined : this.#sql.segmentByKey.get(row["parent"] ?? null);
    }
    return segments;
  }

  get({ session }: In<"get">): SummaryRow | undefined {
    return this.#sql.summary.get(session) as unknown as SummaryRow | undefined;
  }

  list({ limit, cursor }: In<"list">): SummaryRow[] {
    const { list, listAfter } = this.#sql;
    const rows = cursor ? listAfter.all(cursor.updatedAt, cursor.session, limit) : list.all(limit);
    return rows as unknown as SummaryRow[];
  }

  resolveName({ name }: In<"resolveName">): string | undefined {
    const id = this.#sql.named.get(name)?.["id"];
    return id === undefined ? undefined : String(id);
  }

  mailbox({ session }: In<"mailbox">): MailboxEntry[] {
    const rows = this.#sql.mailbox.all(session) as unknown as MailRow[];
    // A session without a post is one row of nothing.
    if (rows.length === 0) throw noSession(session);
    return rows.flatMap(([order, id, kind, body, postedAt]) =>
      order === null ? [] : { id, kind, body: JSON.parse(body), order, postedAt },
    );
  }

  readPartial({ session }: In<"readPartial">): Partial | undefined {
    const rows = this.#sql.partial.all(this.#key(session));
    const [first] = rows;
    if (!first) return undefined;
    const chunks = rows.map((row) => String(row["chunk"]));
    return { attempt: String(first["attempt"]), epoch: Number(first["epoch"]), chunks };
  }

  loadSnapshot({ session, reducer }: In<"loadSnapshot">): Snapshot | undefined {
    const row = this.#sql.snapshot.get(this.#key(session), reducer);
    if (!row) return undefined;
    return {
      reducer,
      version: Number(row["version"]),
      seq: Number(row["seq"]),
      checksum: String(row["checksum"]),
      bytes: row["bytes"] as Uint8Array,
    };
  }

  work({ from, limit, wanted, now }: In<"work">): Candidate[] {
    const { work, workFor } = this.#sql;
    const rows = wanted === null ? work.all(from, limit, now) : workFor.all(from, limit, now, wanted);
    return rows.map((row) => {
      const lease = leaseOf(row["lease_epoch"], row["holder"], row["expires_at"]);
      return { session: String(row["id"]), ...(lease && { lease }) };
    });
  }

  /** One word per session that differs once something arrived; none if no other process has committed since. */
  marks({ version, sessions }: In<"marks">): Operations["marks"]["out"] {
    const now = Number(this.#sql.dataVersion.get()?.["data_version"]);
    if (now === version) return { version, marks: [] };
    return {
      version: now,
      marks: sessions.map((session) => {
        const row = this.#sql.mark.get(session);
        return row ? `${row["seq"]} ${row["place"]}` : "gone";
      }),
    };
  }

  #key(session: string): number {
    const row = this.#sql.segmentById.get(session);
    if (!row) throw noSession(session);
    return Number(row["key"]);
  }
}

/**
 * Sessions with an open turn or a post, behind the first ?1, ?2 at most: in the order in which they were last written to, since
 * sessions take turns, but before all of them open turns. What was written in a future that is none (?3 is now) counts as long past. A session that
 * named its workspace after a post came has posts that say none: what the session says counts.
 */
function workOf(isWanted: (row: string) => string): string {
  return `SELECT s.id, l.epoch AS lease_epoch, l.holder, l.expires_at FROM
    (SELECT o.key FROM session o WHERE o.open_turn = 1 AND o.deleted = 0 AND ${isWanted("o")}
     UNION SELECT m.session FROM mail m WHERE ${isWanted("m")}) w
    JOIN session s ON s.key = w.key AND ${isWanted("s")} LEFT JOIN lease l ON l.session = s.key
    ORDER BY s.open_turn DESC, CASE WHEN s.updated_at > ?3 THEN 0 ELSE s.updated_at END, s.key LIMIT ?2 + 0 OFFSET ?1 + 0`;
}

/** `LIMIT ? + 0`: with a bare `LIMIT ?` the plan depends on the value, and SQLite prepares the statement anew each time. */
function prepareReads(db: DatabaseSync) {
  const sql = (text: string): StatementSync => db.prepare(text);
  const arrays = (text: string): StatementSync => {
    const statement = sql(text);
    statement.setReturnArrays(true);
    return statement;
  };
  return {
    segmentById: sql("SELECT key, id, seq, cut, parent FROM session WHERE id = ? AND deleted = 0"),
    segmentByKey: sql("SELECT key, id, seq, cut, parent FROM session WHERE key = ?"),
    origins: sql("SELECT last, id FROM origin WHERE session = ? AND last > ? ORDER BY last DESC"),
    summary: arrays(`SELECT ${summaryColumns} WHERE s.id = ? AND s.deleted = 0`),
    list: arrays(`SELECT ${summaryColumns} WHERE s.deleted = 0 ORDER BY s.updated_at DESC, s.id DESC LIMIT ? + 0`),
    listAfter: arrays(
      `SELECT ${summaryColumns} WHERE s.deleted = 0 AND (s.updated_at, s.id) < (?, ?)
       ORDER BY s.updated_at DESC, s.id DESC LIMIT ? + 0`,
    ),
    named: sql("SELECT s.id FROM name n JOIN session s ON s.key = n.session WHERE n.name = ?"),
    // Asked for at each step of each session: one statement, not two.
    mailbox: arrays(
      `SELECT m.place, m.id, m.kind, m.body, m.posted_at FROM session s LEFT JOIN mail m ON m.session = s.key
       WHERE s.id = ? AND s.deleted = 0 ORDER BY m.place`,
    ),
    partial: sql("SELECT epoch, attempt, chunk FROM partial WHERE session = ? ORDER BY n"),
    snapshot: sql("SELECT version, seq, checksum, bytes FROM snapshot WHERE session = ? AND reducer = ?"),
    work: sql(workOf(() => "TRUE")),
    workFor: sql(workOf((row) => `${row}.workspace IN (SELECT value FROM json_each(?4))`)),
    mark: sql(
      `SELECT s.seq, (SELECT MAX(place) FROM mail m WHERE m.session = s.key) AS place
       FROM session s WHERE s.id = ? AND s.deleted = 0`,
    ),
    dataVersion: sql("PRAGMA data_version"),
  };
}
