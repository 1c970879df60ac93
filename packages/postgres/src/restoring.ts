/**
 * Taking in a session that another store has kept: one transaction, so nobody sees it before it is whole, and a crash
 * leaves nothing behind. Its lines are read once, so it is not tried again; whether its end went through is found out.
 */
import { randomUUID } from "node:crypto";
import { admitPostIds, admitRestored, type RestoreSession, sessionExists } from "@pawl/core/store";
import { bytesOf } from "./append-statement.ts";
import type { Query } from "./database.ts";
import { prospectOf } from "./fault.ts";
import type { Link } from "./link.ts";
import { stampOf } from "./moment.ts";
import { insertRecords, packRecords } from "./record.ts";

/** Under a name that no session can have: whoever makes one of the same id meanwhile does not wait for our last batch. */
const taking = `
INSERT INTO pawl.session (id, seq, created_at, updated_at, head, open_turn)
VALUES ($1, 0, ${stampOf("$2")}, ${stampOf("$2")}, '{}', false)`;
const begin = `${taking} RETURNING key`;

const add = insertRecords("(SELECT $3::bigint AS key)", "$1", "$2");

const end = `
UPDATE pawl.session SET id = $2, seq = $3::bigint, epoch = $4::bigint, head = $5, open_turn = $6::boolean, workspace = $8::bytea,
  created_at = ${stampOf("$7")}, updated_at = ${stampOf("$7")} WHERE key = $1::bigint`;

/** The ids as JSON: one value, however many there are. */
const know = `
INSERT INTO pawl.post (session, id) SELECT $1::bigint, json_array_elements_text($2::text::json) ON CONFLICT DO NOTHING`;

export async function restore(link: Link, restored: RestoreSession, now: number | null): Promise<void> {
  const { session, batches } = restored;
  await refuseExisting(link.query, session);
  let key = "";
  const taken = link.transaction(async (query) => {
    const [row] = await query(begin, [`~${randomUUID()}`, now]);
    key = String(row?.["key"]);
    let [seq, epoch] = [0, 0];
    for await (const records of batches) {
      admitRestored(session, seq, records);
      for (const { rows, bytes } of packRecords(session, records)) await query(add, [rows, bytes, key]);
      seq = records.at(-1)?.seq ?? seq;
      for (const record of records) if (record.session === session) epoch = Math.max(epoch, record.epoch);
    }
    // What the head says may depend on what the batches held.
    const { head, posts = [] } = restored;
    admitPostIds(session, posts);
    await refuseExisting(query, session);
    try {
      const said = [JSON.stringify(head), head.openTurn !== undefined, now, bytesOf(head.workspace)];
      await query(end, [key, session, seq, epoch, ...said]);
    } catch (error) {
      // Made by somebody else in this very moment.
      if ((error as { code?: unknown }).code === "23505") throw sessionExists(session);
      throw error;
    }
    if (posts.length > 0) await query(know, [key, JSON.stringify(posts)]);
  });
  await taken.catch(async (error) => {
    if (prospectOf(error) !== "lost" || key === "") throw error;
    if (!(await link.run(() => isThere(link, key, [session, now])))) throw error;
  });
}

/** Whether a transaction that may still be under way has ended well: who wants the same id waits for it. */
async function isThere(link: Link, key: string, values: readonly [session: string, now: number | null]) {
  const free = new Error("it was rolled back");
  const wait = link.transaction(async (query) => {
    // What we make is not to stay.
    if ((await query(`${taking} ON CONFLICT (id) DO NOTHING RETURNING key`, values)).length > 0) throw free;
  });
  await wait.catch((error) => {
    if (error !== free) throw error;
  });
  const sql = "SELECT 1 FROM pawl.session WHERE key = $1::bigint AND id = $2";
  return (await link.query(sql, [key, values[0]])).length > 0;
}

async function refuseExisting(query: Query, session: string): Promise<void> {
  if ((await query("SELECT 1 FROM pawl.session WHERE id = $1", [session])).length > 0) throw sessionExists(session);
}
