/**
 * Writing to a log: creation, append.
 *
 * Owns: the fenced statement. Invariants:
 * 1. An append is one statement: the session's row is changed only where epoch and head are what the writer says, and
 *    everything else of the batch hangs on that row (L3, L8). A batch that is too large for one statement is one
 *    transaction that begins with it.
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
import type { Query, Value } from "./database.ts";
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

/** What a batch asks for beside its records: what it does not ask for, its statement does not even plan. */
type Needs = Record<"consume" | "posts" | "partial", boolean>;

const waiting = (ids: string) => `m.id IN (SELECT json_array_elements_text(${ids}::text::json))`;

/** The values of what is needed follow behind the tenth, in the order of `Needs`. */
function appendText(needs: Needs): string {
  let count = 10;
  const consume = needs.consume && `$${++count}`;
  const posts = needs.posts && `$${++count}`;
  const partial = needs.partial && `$${++count}`;
  const mail = "(SELECT count(*) FROM pawl.mail m WHERE m.session = t.key";
  return `
WITH s AS (
  UPDATE pawl.session AS t SET seq = t.seq + $4::bigint, updated_at = ${stampOf("$5")},
    head = COALESCE($6::text, t.head), open_turn = CASE WHEN $6::text IS NULL THEN t.open_turn ELSE $7::boolean END,
    workspace = CASE WHEN t.workspace = '' THEN $8::bytea ELSE t.workspace END
  WHERE t.id = $1 AND t.state = 0 AND t.leased <> 0 AND t.leased = $2::bigint AND t.seq = $3::bigint
    ${consume ? `AND ${mail} AND ${waiting(consume)}) = json_array_length(${consume}::text::json)` : ""}
    ${posts ? `AND ${mail}) = ${posts}::bigint` : ""}
  RETURNING t.key
),
${consume ? `m AS (DELETE FROM pawl.mail m USING s WHERE m.session = s.key AND ${waiting(consume)}),` : ""}
${partial ? `p AS (DELETE FROM pawl.partial p USING s WHERE p.session = s.key AND p.attempt = ${partial}::text),` : ""}
r AS (${insertRecords("s", "$9", "$10")})
SELECT key FROM s`;
}

/** One text each, so that each is prepared once. */
const appends = new Map<string, string>();

function appendOf({ consume = [], expectedPosts, dropPartial }: AppendBatch): { sql: string; values: Value[] } {
  const needs = { consume: consume.length > 0, posts: expectedPosts !== undefined, partial: dropPartial !== undefined };
  const name = Object.values(needs).join();
  const sql = appends.get(name) ?? appendText(needs);
  appends.set(name, sql);
  return {
    sql,
    values: [...(needs.consume ? [JSON.stringify(consume)] : []), expectedPosts, dropPartial].flatMap(
      (value) => value ?? [],
    ),
  };
}

const more = insertRecords("(SELECT $3::bigint AS key)", "$1", "$2");

/** As a column holds what a session needs: any characters, none for nothing. */
export function bytesOf(workspace = ""): Uint8Array {
  return Buffer.from(workspace);
}

export class Appender {
  readonly #link: Link;
  readonly #now: () => number | null;

  constructor(link: Link, now: () => number | null) {
    this.#link = link;
    this.#now = now;
  }

  async create(batch: CreateSession, uncertain: boolean): Promise<void> {
    const { session, records, head, parent } = batch;
    const [first = noRecords, ...rest] = packRecords(session, records);
    const cut = parent?.seq ?? 0;
    const values = [
      ...[session, cut + records.length, this.#now(), JSON.stringify(head), parent?.session ?? null, cut, first.rows],
      ...[head.openTurn !== undefined, first.bytes, bytesOf(head.workspace)],
    ];
    if (await this.#write(create, values, rest)) return;
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
    const { session, epoch, expectedSeq, records, head } = batch;
    const [first = noRecords, ...rest] = packRecords(session, records);
    const { sql, values: asked } = appendOf(batch);
    const values = [
      ...[session, epoch, expectedSeq, records.length, this.#now(), head ? JSON.stringify(head) : null],
      ...[head?.openTurn !== undefined, bytesOf(head?.workspace), first.rows, first.bytes, ...asked],
    ];
    while (!(await this.#write(sql, values, rest))) {
      const refusal = await this.#refusedAppend(batch);
      if (!refusal) continue;
      // The records of an earlier try, whose answer was lost, are what stands in the way.
      const mayBeOurs = uncertain && records.length > 0 && !isPawlError(refusal, "SESSION_NOT_FOUND");
      if (mayBeOurs && (await this.#stands(session, records))) return;
      throw refusal;
    }
  }

  async #write(sql: string, values: Value[], rest: readonly { rows: string; bytes: Uint8Array }[]): Promise<boolean> {
    if (rest.length === 0) return (await this.#link.query(sql, values)).length > 0;
    return this.#link.transaction(async (query: Query) => {
      const [row] = await query(sql, values);
      if (!row) return false;
      for (const { rows, bytes } of rest) await query(more, [rows, bytes, String(row["key"])]);
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
