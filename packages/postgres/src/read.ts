/**
 * Reading logs, summaries and lists. Each answer is one statement, so it is one moment's.
 *
 * Owns: lineage in SQL. Does not own: whether a lease counts (presence, the store).
 */

import type { LogRecord } from "@pawl/core/store";
import {
  type Holder,
  headOf,
  holderOf,
  type LeaseInfo,
  maxSeq,
  noSession,
  type SessionSummary,
} from "@pawl/core/store";
import type { Row } from "./database.ts";
import type { Link } from "./link.ts";
import { momentOf } from "./moment.ts";
import { beaconIsOut } from "./presence.ts";
import { recordOf } from "./record.ts";

/**
 * The session's own stretch first, then its ancestors', each up to the lowest cut below it. `$2` and `$3` bound the seq,
 * `$4` the count; where `$5`, the count is taken from the end.
 */
const page = `
WITH RECURSIVE line AS (
  SELECT key, id, parent, cut, LEAST(seq, $3::bigint) AS last,
    CASE WHEN $5::boolean THEN GREATEST(1, LEAST(seq, $3::bigint) + 1 - $4::bigint) ELSE $2::bigint END AS first
  FROM pawl.session WHERE id = $1 AND state = 0
  UNION ALL
  SELECT p.key, p.id, p.parent, p.cut, LEAST(l.cut, l.last), l.first
  FROM line l JOIN pawl.session p ON p.key = l.parent WHERE l.first <= LEAST(l.cut, l.last)
)
SELECT COALESCE(r.origin, l.id) AS session, r.seq, r.epoch, r.type, r.version, r.ignorable, r.time, r.checksum, r.erased,
  r.payload
FROM line l CROSS JOIN LATERAL (
  SELECT * FROM pawl.record o WHERE o.session = l.key AND o.seq BETWEEN l.first AND l.last ORDER BY o.seq LIMIT $4::bigint
) r ORDER BY r.seq LIMIT $4::bigint`;

const summary = (where: string, now: string) => `
SELECT t.id, t.seq, t.epoch, t.created_at, t.updated_at, t.head, p.id AS parent, t.cut, t.leased, t.holder, t.expires_at,
  t.leased <> 0 AND t.expires_at > ${momentOf(now)} AS live, ${beaconIsOut("t")} AS out,
  (SELECT json_agg(encode(n.name, 'hex') ORDER BY n.name) FROM pawl.name n WHERE n.session = t.key)::text AS names,
  t.workspace, (SELECT m.posted_at FROM pawl.mail m WHERE m.session = t.key ORDER BY m.place LIMIT 1) AS waiting_since
FROM pawl.session t LEFT JOIN pawl.session p ON p.key = t.parent WHERE t.state = 0 AND ${where}`;

const one = summary("t.id = $2", "$1");
const list = summary(
  `($2::bigint IS NULL
     OR (t.updated_minute <= $2::bigint / 60000 AND (t.updated_at, t.id) < ($2::bigint, $3::text COLLATE "C")))
   ORDER BY t.updated_minute DESC, t.updated_at DESC, t.id DESC LIMIT $4::bigint`,
  "$1",
);

export type IsAlive = (holder: Holder) => boolean | undefined;

export class Reader {
  readonly #link: Link;
  readonly #now: () => number | null;
  readonly #isAlive: IsAlive;

  constructor(link: Link, now: () => number | null, isAlive: IsAlive) {
    this.#link = link;
    this.#now = now;
    this.#isAlive = isAlive;
  }

  read(session: string, after: number, limit: number): Promise<LogRecord[]> {
    return this.#page(session, after + 1, maxSeq, limit, false);
  }

  tail(session: string, before: number, limit: number): Promise<LogRecord[]> {
    return this.#page(session, 1, before - 1, limit, true);
  }

  async #page(session: string, first: number, last: number, limit: number, tail: boolean): Promise<LogRecord[]> {
    const rows = await this.#link.query(page, [session, first, last, limit, tail]);
    if (rows.length === 0) await this.assertThere(session);
    return rows.map(recordOf);
  }

  async assertThere(session: string): Promise<void> {
    const rows = await this.#link.query("SELECT 1 FROM pawl.session WHERE id = $1 AND state = 0", [session]);
    if (rows.length === 0) throw noSession(session);
  }

  async get(session: string): Promise<SessionSummary | undefined> {
    const [row] = await this.#link.query(one, [this.#now(), session]);
    return row && summaryOf(row, this.#isAlive);
  }

  async list(limit: number, cursor?: { updatedAt: number; session: string }): Promise<SessionSummary[]> {
    const values = [this.#now(), cursor?.updatedAt ?? null, cursor?.session ?? null, limit];
    return (await this.#link.query(list, values)).map((row) => summaryOf(row, this.#isAlive));
  }
}

function summaryOf(row: Row, isAlive: IsAlive): SessionSummary {
  const names = JSON.parse(String(row["names"] ?? "[]")) as string[];
  return {
    session: String(row["id"]),
    seq: Number(row["seq"]),
    epoch: Number(row["epoch"]),
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
    head: headOf(String(row["head"]), Buffer.from(row["workspace"] as Uint8Array).toString()),
    ...(names.length > 0 && { names: names.map((name) => Buffer.from(name, "hex").toString()) }),
    ...(row["parent"] !== null && { parent: { session: String(row["parent"]), seq: Number(row["cut"]) } }),
    ...(row["waiting_since"] !== null && { waitingSince: Number(row["waiting_since"]) }),
    ...(row["live"] === true && !isGone(row, isAlive) && { lease: leaseOf(row) }),
  };
}

/** Of a row whose `leased` is not 0. */
export function leaseOf(row: Row): LeaseInfo {
  return {
    epoch: Number(row["leased"]),
    holder: holderOf(String(row["holder"])),
    expiresAt: Number(row["expires_at"]),
  };
}

/** Whether the holder of a lease that has not expired is known, or to be taken, for dead. */
export function isGone(row: Row, isAlive: IsAlive): boolean {
  const alive = isAlive(leaseOf(row).holder);
  return alive === false || (alive === undefined && row["out"] === true);
}
