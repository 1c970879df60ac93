/**
 * The right to drive, in the session's own row: acquiring, renewing, giving back, claiming work.
 *
 * Owns: who gets the next epoch. Invariants:
 * 1. A grant is one statement on one row: of many who ask at once one changes it, the others see what it became (L8).
 * 2. A grant whose answer was lost is found again by its ticket, so nobody waits for a lease that nobody knows of.
 * 3. Work is claimed in order of the last claim, so that sessions take turns; before all of it open turns that nobody
 *    drives, whose person has been waiting for longest.
 */
import { randomUUID } from "node:crypto";
import { isPawlError } from "@pawl/core";
import {
  type ClaimOptions,
  type Holder,
  type LeaseAnswer,
  noSession,
  taskPrefix,
  type Workspaces,
} from "@pawl/core/store";
import type { Row } from "./database.ts";
import type { Link } from "./link.ts";
import { momentOf, stampOf } from "./moment.ts";
import { beaconIsOut, type Presence } from "./presence.ts";
import { type IsAlive, isGone, leaseOf, type Reader } from "./read.ts";

/**
 * `$1` now, `$2` ttl, `$3` holder, `$4` host, `$5` ticket, `$6` our beacon, `$7` the number we would shine with, null where we
 * do not judge others by theirs. Granted again to the same ticket it is the same lease: a first try that went astray and
 * arrives late must not fence the second.
 */
const nextEpoch = "CASE WHEN t.leased <> 0 AND t.ticket = $5::text THEN t.leased ELSE t.epoch + 1 END";
const grant = `epoch = ${nextEpoch}, leased = ${nextEpoch}, holder = $3::text, host = $4::text, ticket = $5::text,
  beacon = $6::bigint, expires_at = ceil(${momentOf("$1")} + $2::float8)::bigint, ttl_ms = ceil($2::float8)::bigint`;

/** Processes of this host are looked at themselves. Where `$7` is null nobody is judged by its beacon. */
const isFree = `(t.leased = 0 OR t.expires_at <= ${momentOf("$1")} OR t.ticket = $5::text
  OR (t.host IS DISTINCT FROM $4::text AND t.beacon <> $7::bigint AND ${beaconIsOut("t")}))`;

const acquire = `
UPDATE pawl.session t SET ${grant}
WHERE t.id = $8 AND t.state = 0 AND (${isFree} OR t.leased = $9::bigint) RETURNING t.epoch, t.seq`;

/** One that seems to last longer than it was given for is the work of a clock that went back: it is counted anew. */
const clamp = `
UPDATE pawl.session t SET expires_at = ceil(${momentOf("$1")} + t.ttl_ms)::bigint
WHERE t.id = $2 AND t.state = 0 AND t.leased <> 0 AND t.expires_at > ceil(${momentOf("$1")} + t.ttl_ms)`;

const held = `
SELECT t.leased, t.holder, t.expires_at, t.leased <> 0 AND t.expires_at > ${momentOf("$1")} AS live,
  ${beaconIsOut("t")} AS out
FROM pawl.session t WHERE t.id = $2 AND t.state = 0`;

/**
 * Sessions with something to do. Both lists are short and indexed; the sessions that only lie there, or wait for a workspace that is
 * not wanted, are not looked at.
 */
const hasWork = (
  isWanted: IsWanted,
) => `t.state = 0 AND NOT starts_with(t.id, '${taskPrefix}') AND ${isWanted("t")} AND t.key = ANY (ARRAY(
  SELECT o.key FROM pawl.session o WHERE o.open_turn AND o.state = 0 AND ${isWanted("o")}
  UNION SELECT m.session FROM pawl.mail m WHERE ${isWanted("m")}))`;

type IsWanted = (row: string) => string;

/** `parameter`: an array as PostgreSQL writes one, or null for any. */
const wantedIn =
  (parameter: string, workspaces: Workspaces): IsWanted =>
  (row) =>
    workspaces === "any" ? `${parameter}::text IS NULL` : `${row}.workspace = ANY(${parameter}::text::bytea[])`;

function wantedValue(workspaces: Workspaces): string | null {
  if (workspaces === "any") return null;
  const bytes = ["", ...workspaces].map((workspace) => `"\\\\x${Buffer.from(workspace).toString("hex")}"`);
  return `{${bytes.join(",")}}`;
}

/**
 * What a first try, whose answer was lost, has claimed comes before all else. A claim from a future that is none, since the
 * clock went back, counts as long past: it would wait for that future.
 */
const claim = (workspaces: Workspaces) => `
WITH picked AS (
  SELECT t.key FROM pawl.session t WHERE ${hasWork(wantedIn("$9", workspaces))} AND ${isFree}
  ORDER BY (t.ticket IS NOT DISTINCT FROM $5::text) DESC, t.open_turn DESC,
    CASE WHEN t.claimed_at > ${momentOf("$1")} THEN 0 ELSE t.claimed_at END, t.key LIMIT $8::bigint FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE pawl.session t SET ${grant}, claimed_at = ${stampOf("$1")} FROM picked WHERE t.key = picked.key
RETURNING t.id, t.epoch`;

/** Held by this host's processes, which can be looked at, or by a clock that went back. */
const doubtful = (workspaces: Workspaces) => `
SELECT t.id, t.leased, t.holder, t.expires_at, t.expires_at > ceil(${momentOf("$1")} + t.ttl_ms) AS late,
  ${beaconIsOut("t")} AS out
FROM pawl.session t WHERE ${hasWork(wantedIn("$3", workspaces))} AND t.leased <> 0
  AND (t.host = $2 OR t.expires_at > ceil(${momentOf("$1")} + t.ttl_ms)) ORDER BY t.claimed_at, t.key LIMIT 1000`;

export interface Granter {
  link: Link;
  reader: Reader;
  presence: Presence;
  now(): number | null;
  isAlive: IsAlive;
}

export class Leases {
  readonly #with: Granter;

  constructor(granter: Granter) {
    this.#with = granter;
  }

  #grantValues(holder: Holder, ttlMs: number, ticket: string): (string | number | null)[] {
    const { now, presence } = this.#with;
    return [now(), ttlMs, JSON.stringify(holder), holder.host, ticket, presence.beacon, presence.own];
  }

  async acquire(session: string, holder: Holder, ttlMs: number): Promise<LeaseAnswer> {
    const { link } = this.#with;
    const ticket = randomUUID();
    return link.run(async () => {
      for (let dead = 0; ; ) {
        const values = [...this.#grantValues(holder, ttlMs, ticket), session, dead];
        const [row] = await link.query(acquire, values);
        if (row) return { granted: true, epoch: Number(row["epoch"]), seq: Number(row["seq"]) };
        const found = await this.#held(session);
        if (!found) continue;
        const lease = leaseOf(found);
        if (!this.#isGone(found)) return { granted: false, held: lease };
        // Only that very lease: who took it over in between is not dead.
        dead = lease.epoch;
      }
    });
  }

  #isGone(row: Row): boolean {
    const { presence, isAlive } = this.#with;
    return isGone({ ...row, out: row["out"] === true && presence.own !== null }, isAlive);
  }

  async #held(session: string): Promise<Row | undefined> {
    const { link, now } = this.#with;
    await link.query(clamp, [now(), session]);
    const [row] = await link.query(held, [now(), session]);
    if (!row) throw noSession(session);
    return row["live"] === true ? row : undefined;
  }

  renew(session: string, epoch: number, ttlMs: number): Promise<boolean> {
    const sql = `UPDATE pawl.session t SET expires_at = ceil(${momentOf("$1")} + $2::float8)::bigint,
      ttl_ms = ceil($2::float8)::bigint, beacon = $5::bigint
      WHERE t.id = $3 AND t.state = 0 AND t.leased <> 0 AND t.leased = $4::bigint RETURNING 1`;
    const { link, now, presence } = this.#with;
    return link.run(() => this.#change(session, sql, [now(), ttlMs, session, epoch, presence.beacon]));
  }

  release(session: string, epoch: number): Promise<boolean> {
    const sql = `UPDATE pawl.session t SET leased = 0, holder = NULL, host = NULL, ticket = NULL, beacon = NULL
      WHERE t.id = $1 AND t.state = 0 AND t.leased <> 0 AND t.leased = $2::bigint RETURNING 1`;
    return this.#with.link.run(() => this.#change(session, sql, [session, epoch]));
  }

  /** False where the lease is not that one. */
  async #change(session: string, sql: string, values: (string | number | null)[]): Promise<boolean> {
    const { link, reader } = this.#with;
    if ((await link.query(sql, values)).length > 0) return true;
    await reader.assertThere(session);
    return false;
  }

  async claim(
    holder: Holder,
    { limit, ttlMs, workspaces = [] }: ClaimOptions,
  ): Promise<{ session: string; epoch: number }[]> {
    const { link, now } = this.#with;
    const ticket = randomUUID();
    const wanted = wantedValue(workspaces);
    const claims = await link.run(async () => {
      const rows = await link.query(claim(workspaces), [...this.#grantValues(holder, ttlMs, ticket), limit, wanted]);
      return rows.map((row) => ({ session: String(row["id"]), epoch: Number(row["epoch"]) }));
    });
    if (claims.length >= limit) return claims;
    try {
      const rows = await link.run(() => link.query(doubtful(workspaces), [now(), holder.host, wanted]));
      for (const row of rows) {
        if (claims.length >= limit) break;
        if (row["late"] !== true && !this.#isGone(row)) continue;
        const session = String(row["id"]);
        const epoch = await this.#takeOver(session, holder, ttlMs);
        if (epoch !== undefined) claims.push({ session, epoch });
      }
    } catch (error) {
      // What has been granted is driven: unheard of, it would lie there for as long as its lease.
      if (claims.length === 0) throw error;
    }
    return claims;
  }

  /** Undefined where somebody was faster, or it has been deleted. */
  async #takeOver(session: string, holder: Holder, ttlMs: number): Promise<number | undefined> {
    try {
      const answer = await this.acquire(session, holder, ttlMs);
      return answer.granted ? answer.epoch : undefined;
    } catch (error) {
      if (isPawlError(error, "SESSION_NOT_FOUND")) return undefined;
      throw error;
    }
  }
}
