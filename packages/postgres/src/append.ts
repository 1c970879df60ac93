/**
 * Writing to a log: creation, append.
 *
 * Owns: how a batch reaches the log. Does not own: the fenced statement (append-statement). Invariants:
 * 1. An append is one statement. A batch that is too large for one is one transaction that begins with it.
 * 2. Why a batch was refused is asked afterwards; where nothing seems wrong any more, it is tried again.
 * 3. An append that got no answer is not guessed: it is asked again, and where the log has moved on, the records that
 *    stand in its place say whether it was done.
 */
import { isPawlError, type PawlError } from "@pawl/core";
import {
  type AppendBatch,
  type CreateSession,
  conflict,
  fenced,
  type LogRecord,
  noParent,
  noPost,
  noSession,
  sessionExists,
  unread,
} from "@pawl/core/store";
import { type AppendStatement, appendStatement, bytesOf } from "./append-statement.ts";
import type { Query } from "./database.ts";
import type { Link } from "./link.ts";
import { stampOf } from "./moment.ts";
import { insertRecords, noRecords, packRecords } from "./record.ts";

const create = `
WITH p AS (SELECT key, seq FROM pawl.session WHERE id = $5 AND state = 0 FOR SHARE),
s AS (
  INSERT INTO pawl.session (id, seq, created_at, updated_at, head, open_turn, parent, cut, workspace)
  SELECT $1::text, $2::bigint, ${stampOf("$3")}, ${stampOf("$3")}, $4::text, $8::boolean, (SELECT key FROM p), $6::bigint,
    $10::bytea
  WHERE $5::text IS NULL OR EXISTS (SELECT 1 FROM p WHERE p.seq >= $6::bigint)
  ON CONFLICT (id) DO NOTHING RETURNING key
),
r AS (${insertRecords("s", "$7", "$9")})
SELECT key FROM s`;

const more = insertRecords("(SELECT $3::bigint AS key)", "$1", "$2");

export class Appender {
  readonly #link: Link;
  readonly #now: () => number | null;

  constructor(link: Link, now: () => number | null) {
    this.#link = link;
    this.#now = now;
  }

  async create(batch: CreateSession, uncertain: boolean): Promise<void> {
    const { session, records, head, parent } = batch;
    const [first = noRecords, ...behind] = packRecords(session, records);
    const cut = parent?.seq ?? 0;
    const values = [
      ...[session, cut + records.length, this.#now(), JSON.stringify(head), parent?.session ?? null, cut, first.rows],
      ...[head.openTurn !== undefined, first.bytes, bytesOf(head.workspace)],
    ];
    if (await this.#write({ sql: create, values, behind })) return;
    if (uncertain && (await this.#stands(session, records))) return;
    throw await this.#refusedCreation(batch);
  }

  async #refusedCreation({ session, parent }: CreateSession): Promise<PawlError> {
    const sql = `SELECT (SELECT count(*) FROM pawl.session WHERE id = $1)::int AS taken,
      (SELECT seq FROM pawl.session WHERE id = $2 AND state = 0) AS seq`;
    const [row] = await this.#link.query(sql, [session, parent?.session ?? null]);
    if (row?.["taken"] !== 0 || !parent) return sessionExists(session);
    return row["seq"] === null ? noSession(parent.session) : noParent(parent, Number(row["seq"]));
  }

  async append(batch: AppendBatch, uncertain: boolean): Promise<void> {
    const { session, records } = batch;
    const statement = appendStatement(batch, this.#now());
    while (!(await this.#write(statement))) {
      const refusal = await this.#refusedAppend(batch);
      if (!refusal) continue;
      // The records of an earlier try, whose answer was lost, are what stands in the way.
      const mayBeOurs = uncertain && records.length > 0 && !isPawlError(refusal, "SESSION_NOT_FOUND");
      if (mayBeOurs && (await this.#stands(session, records))) return;
      throw refusal;
    }
  }

  async #write({ sql, values, behind }: AppendStatement): Promise<boolean> {
    if (behind.length === 0) return (await this.#link.ask(sql, values)).count > 0;
    return this.#link.transaction(async (query: Query) => {
      const [row] = await query(sql, values);
      if (!row) return false;
      for (const { rows, bytes } of behind) await query(more, [rows, bytes, String(row["key"])]);
      return true;
    });
  }

  async #refusedAppend(batch: AppendBatch): Promise<PawlError | undefined> {
    const { session, epoch, expectedSeq, consume = [], expectedPosts } = batch;
    const sql = `SELECT t.seq, t.epoch, t.leased,
      (SELECT count(*) FROM pawl.mail m WHERE m.session = t.key) AS posts, (SELECT json_agg(m.id) FROM pawl.mail m WHERE m.session = t.key
      AND m.id IN (SELECT json_array_elements_text($2::text::json)))::text AS waiting
      FROM pawl.session t WHERE t.id = $1 AND t.state = 0`;
    const [row] = await this.#link.query(sql, [session, JSON.stringify(consume)]);
    if (!row) return noSession(session);
    if (epoch === 0 || Number(row["leased"]) !== epoch) return fenced(session, epoch, Number(row["epoch"]));
    if (Number(row["seq"]) !== expectedSeq) return conflict(session, expectedSeq, Number(row["seq"]));
    const posts = Number(row["posts"]);
    if (expectedPosts !== undefined && expectedPosts !== posts) return unread(session, expectedPosts, posts);
    const waiting = new Set<string>(JSON.parse(String(row["waiting"] ?? "[]")) as string[]);
    const unknown = consume.find((post) => !waiting.has(post));
    return unknown === undefined ? undefined : noPost(session, unknown);
  }

  /** Whether exactly these records stand in the session: a checksum covers session, seq, epoch and payload. */
  async #stands(session: string, records: readonly LogRecord[]): Promise<boolean> {
    const sql = `SELECT r.seq, encode(r.checksum, 'hex') AS checksum FROM pawl.record r JOIN pawl.session t ON t.key = r.session
      WHERE t.id = $1 AND t.state = 0 AND r.seq BETWEEN $2::bigint AND $3::bigint ORDER BY r.seq`;
    const rows = await this.#link.query(sql, [session, records[0]?.seq ?? 0, records.at(-1)?.seq ?? 0]);
    return rows.length === records.length && rows.every((row, at) => row["checksum"] === records[at]?.checksum);
  }
}
