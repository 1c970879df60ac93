/**
 * The fenced statement of an append: its text and its values.
 *
 * Owns: what is asked of the server in one append. Does not own: asking, and what a refusal means (append). Invariants:
 * 1. The session's row is changed only where epoch and head are what the writer says, and everything else of the batch hangs
 *    on that row (L3, L8).
 * 2. It writes, or finds, a row exactly where it was not refused.
 */
import type { AppendBatch } from "@pawl/core/store";
import type { Value } from "./database.ts";
import { stampOf } from "./moment.ts";
import { areFew, fewValues, insertFew, insertRecords, type Packed, packRecords } from "./record.ts";

export interface AppendStatement {
  sql: string;
  values: Value[];
  /** Records that one statement cannot hold: it writes none, and tells the session's key to those behind it. */
  behind: readonly Packed[];
}

/** What a batch asks for: what it does not ask for, its statement does not even plan. */
interface Needs {
  consume: boolean;
  posts: "none" | "some" | false;
  partial: boolean;
  /** So many as parameters, one packet of any number, or none with this statement. */
  records: number | "packed" | "none";
}

/** As a column holds what a session needs: any characters, none for nothing. */
export function bytesOf(workspace = ""): Uint8Array {
  return Buffer.from(workspace);
}

export function appendStatement(batch: AppendBatch, now: number | null): AppendStatement {
  const { session, epoch, expectedSeq, records, head, consume = [], expectedPosts, dropPartial } = batch;
  const few = areFew(records);
  const packed = few ? [] : packRecords(session, records);
  const [only, ...others] = packed;
  const fits = only && others.length === 0;
  const sql = textOf({
    consume: consume.length > 0,
    posts: expectedPosts !== undefined && (expectedPosts === 0 ? "none" : "some"),
    partial: dropPartial !== undefined,
    records: few ? records.length : fits ? "packed" : "none",
  });
  const values: Value[] = [
    ...[session, epoch, expectedSeq, records.length, now, head ? JSON.stringify(head) : null],
    ...[head?.openTurn !== undefined, bytesOf(head?.workspace)],
  ];
  if (consume.length > 0) values.push(JSON.stringify(consume));
  if (expectedPosts) values.push(expectedPosts);
  if (dropPartial !== undefined) values.push(dropPartial);
  if (few) values.push(...fewValues(records));
  else if (fits) values.push(only.rows, only.bytes);
  return { sql, values, behind: fits ? [] : packed };
}

/** One text each, so that each is prepared once. */
const texts = new Map<string, string>();

function textOf(needs: Needs): string {
  const name = `${needs.consume} ${needs.posts} ${needs.partial} ${needs.records}`;
  const text = texts.get(name) ?? appendText(needs);
  texts.set(name, text);
  return text;
}

/** The values of what is needed follow behind the eighth, in the order of `Needs`. */
function appendText(needs: Needs): string {
  let count = 8;
  const next = () => `$${++count}`;
  const consume = needs.consume && next();
  const posts = needs.posts === "some" && next();
  const partial = needs.partial && next();
  const parts = [
    `s AS (
  UPDATE pawl.session AS t SET seq = t.seq + $4::bigint, updated_at = ${stampOf("$5")},
    head = COALESCE($6::text, t.head), open_turn = CASE WHEN $6::text IS NULL THEN t.open_turn ELSE $7::boolean END,
    workspace = CASE WHEN t.workspace = '' THEN $8::bytea ELSE t.workspace END
  WHERE t.id = $1 AND t.state = 0 AND t.leased <> 0 AND t.leased = $2::bigint AND t.seq = $3::bigint
    ${consume ? `AND ${mail} AND ${waiting(consume)}) = json_array_length(${consume}::text::json)` : ""}
    ${posts ? `AND ${mail}) = ${posts}::bigint` : ""}
    ${needs.posts === "none" ? `AND ${noMail}` : ""}
  RETURNING t.key
)`,
    ...(consume ? [`m AS (DELETE FROM pawl.mail m USING s WHERE m.session = s.key AND ${waiting(consume)})`] : []),
    ...(partial
      ? [`p AS (DELETE FROM pawl.partial p USING s WHERE p.session = s.key AND p.attempt = ${partial}::text)`]
      : []),
  ];
  return `WITH ${parts.join(",\n")}\n${recordsText(needs.records, count + 1)}`;
}

const mail = "(SELECT count(*) FROM pawl.mail m WHERE m.session = t.key";
/** One look at an index: a count begins with a bitmap. */
const noMail = "(SELECT m.place FROM pawl.mail m WHERE m.session = t.key ORDER BY m.place LIMIT 1) IS NULL";
const waiting = (ids: string) => `m.id IN (SELECT json_array_elements_text(${ids}::text::json))`;

function recordsText(records: Needs["records"], from: number): string {
  if (records === "none") return "SELECT key FROM s";
  if (records === "packed") return insertRecords("s", `$${from}`, `$${from + 1}`);
  return insertFew("s", { count: records, epoch: "$2::bigint", behind: "$3::bigint", from });
}
