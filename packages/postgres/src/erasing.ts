/**
 * Taking away: the payload of one record, a whole session.
 *
 * Invariants:
 * 1. A delete hides at once, in one transaction with everything that hangs on the session. What nobody reads any more is
 *    erased afterwards, in slices, by whoever sweeps; a crash in between leaves work for the next sweep.
 * 2. What a living session reads through its lineage stays, also through deleted ones.
 */
import {
  conflict,
  type Erasure,
  fenced,
  noSession,
  notOwn,
  otherPayload,
  postsWait,
  type Unchanged,
} from "@pawl/core/store";
import type { Query } from "./database.ts";
import type { Link } from "./link.ts";
import { marksOf } from "./record.ts";

/** Records erased in one transaction: a few milliseconds, and no long locks. */
const slice = 2_000;

const belongings = ["post", "mail", "name", "partial", "snapshot"];

/** Ancestors that were deleted before may now hold records that nobody reads any more. */
const reviveAncestors = `
WITH RECURSIVE up AS (
  SELECT parent FROM pawl.session WHERE key = $1::bigint
  UNION ALL SELECT p.parent FROM up JOIN pawl.session p ON p.key = up.parent
)
UPDATE pawl.session SET state = 1 WHERE state = 2 AND key IN (SELECT parent FROM up)`;

/** The last seq of a hidden session that a living one reads, through deleted ones too. */
const neededUpTo = `
WITH RECURSIVE down AS (
  SELECT key, cut, state FROM pawl.session WHERE parent = $1::bigint
  UNION ALL SELECT c.key, LEAST(c.cut, d.cut), c.state FROM down d JOIN pawl.session c ON c.parent = d.key WHERE d.state <> 0
)
SELECT COALESCE(max(cut), 0) AS seq FROM down WHERE state = 0`;

const eraseSlice = `
DELETE FROM pawl.record WHERE (session, seq) IN
  (SELECT session, seq FROM pawl.record WHERE session = $1::bigint AND seq > $2::bigint LIMIT ${slice}) RETURNING 1`;

const dropSnapshots = `
WITH RECURSIVE reader AS (
  SELECT $1::bigint AS key UNION ALL SELECT s.key FROM pawl.session s JOIN reader r ON s.parent = r.key
)
DELETE FROM pawl.snapshot WHERE session IN (SELECT key FROM reader)`;

export class Erasing {
  readonly #link: Link;

  constructor(link: Link) {
    this.#link = link;
  }

  erase({ session, epoch, seq, payload }: Erasure): Promise<void> {
    return this.#link.transaction(async (query) => {
      const sql = "SELECT key, leased, epoch, cut FROM pawl.session WHERE id = $1 AND state = 0 FOR UPDATE";
      const [row] = await query(sql, [session]);
      if (!row) throw noSession(session);
      if (epoch === 0 || Number(row["leased"]) !== epoch) throw fenced(session, epoch, Number(row["epoch"]));
      const key = String(row["key"]);
      const hash = `CASE WHEN erased IS NULL THEN encode(sha256(payload), 'hex') ELSE left(encode(erased, 'hex'), 64) END`;
      const found = await query(
        `SELECT erased IS NULL AS whole, ${hash} AS hash FROM pawl.record WHERE session = $1::bigint AND seq = $2::bigint`,
        [key, seq],
      );
      const [record] = found;
      if (!record) throw notOwn(session, seq, Number(row["cut"]));
      if (record["hash"] !== payload.erased) throw otherPayload(session, seq, payload.erased);
      if (record["whole"] === true) {
        const marks = Buffer.from(marksOf(payload), "hex");
        const change =
          "UPDATE pawl.record SET erased = $3, payload = $4 WHERE session = $1::bigint AND seq = $2::bigint";
        await query(change, [key, seq, marks, payload.left]);
      }
      await query(dropSnapshots, [key]);
    });
  }

  delete(session: string, unchanged?: Unchanged): Promise<void> {
    return this.#link.transaction(async (query) => {
      await lockToDelete(query, session, unchanged);
      const hide = `UPDATE pawl.session SET state = 1, head = '{}', open_turn = false, leased = 0, holder = NULL, host = NULL,
        ticket = NULL, beacon = NULL WHERE id = $1 AND state = 0 RETURNING key`;
      const [row] = await query(hide, [session]);
      if (!row) throw noSession(session);
      const key = String(row["key"]);
      await query(reviveAncestors, [key]);
      for (const table of belongings) await query(`DELETE FROM pawl.${table} WHERE session = $1::bigint`, [key]);
    });
  }

  /** True while there may be more to do. What another process sweeps is left to it. */
  sweep(): Promise<boolean> {
    return this.#link.transaction(async (query) => {
      const [row] = await query("SELECT key FROM pawl.session WHERE state = 1 LIMIT 1 FOR UPDATE SKIP LOCKED");
      if (!row) return false;
      const key = String(row["key"]);
      if ((await eraseSome(query, key)) === 0)
        await query("UPDATE pawl.session SET state = 2 WHERE key = $1::bigint", [key]);
      return true;
    });
  }
}

/** A post that comes at the same moment waits for this lock, or this for it: then what it has brought is seen here. */
async function lockToDelete(query: Query, session: string, unchanged: Unchanged | undefined): Promise<void> {
  const sql = "SELECT key, seq, leased, epoch FROM pawl.session WHERE id = $1 AND state = 0 FOR UPDATE";
  const [row] = await query(sql, [session]);
  if (!row) throw noSession(session);
  if (!unchanged) return;
  const { epoch, expectedSeq } = unchanged;
  if (epoch === 0 || Number(row["leased"]) !== epoch) throw fenced(session, epoch, Number(row["epoch"]));
  if (Number(row["seq"]) !== expectedSeq) throw conflict(session, expectedSeq, Number(row["seq"]));
  const [mail] = await query("SELECT count(*)::int AS waiting FROM pawl.mail WHERE session = $1::bigint", [
    String(row["key"]),
  ]);
  if (mail?.["waiting"] !== 0) throw postsWait(session, Number(mail?.["waiting"]));
}

async function eraseSome(query: Query, key: string): Promise<number> {
  const [row] = await query(neededUpTo, [key]);
  return (await query(eraseSlice, [key, String(row?.["seq"] ?? 0)])).length;
}
