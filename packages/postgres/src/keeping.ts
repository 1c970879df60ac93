/**
 * What is kept beside the logs: partial journals, snapshots, blobs, names.
 *
 * A partial journal lies in an unlogged table: it survives every process that drives, not a crash of the server.
 */
import { hash } from "node:crypto";
import { noSession, type Partial, type Snapshot } from "@pawl/core/store";
import type { Query } from "./database.ts";
import type { Link } from "./link.ts";
import { stampOf } from "./moment.ts";
import { plainBytes } from "./record.ts";

const writePartial = `
WITH there AS (SELECT key, leased FROM pawl.session WHERE id = $1 AND state = 0),
s AS (SELECT key FROM there WHERE leased <> 0 AND leased = $2::bigint),
gone AS (
  DELETE FROM pawl.partial p USING s WHERE p.session = s.key AND (p.epoch <> $2::bigint OR p.attempt <> $3::text)
),
added AS (
  INSERT INTO pawl.partial (session, epoch, attempt, chunk) SELECT key, $2::bigint, $3::text, $4::bytea FROM s
)
SELECT count(*)::int AS there FROM there`;

/** Of the newest epoch, and there of the last attempt: what a fenced driver still wrote is passed over. */
const readPartial = `
WITH s AS (SELECT key FROM pawl.session WHERE id = $1 AND state = 0),
last AS (
  SELECT p.epoch, p.attempt FROM pawl.partial p JOIN s ON s.key = p.session ORDER BY p.epoch DESC, p.place DESC LIMIT 1
)
SELECT p.epoch, p.attempt, p.chunk FROM s LEFT JOIN last ON true
LEFT JOIN pawl.partial p ON p.session = s.key AND p.epoch = last.epoch AND p.attempt = last.attempt ORDER BY p.place`;

const saveSnapshot = `
INSERT INTO pawl.snapshot (session, reducer, version, seq, checksum, bytes)
SELECT key, $2::text, $3::bigint, $4::bigint, $5::text, $6::bytea FROM pawl.session WHERE id = $1 AND state = 0
ON CONFLICT (session, reducer) DO UPDATE SET version = excluded.version, seq = excluded.seq,
  checksum = excluded.checksum, bytes = excluded.bytes
RETURNING 1`;

const loadSnapshot = `
SELECT n.version, n.seq, n.checksum, n.bytes FROM pawl.session s
LEFT JOIN pawl.snapshot n ON n.session = s.key AND n.reducer = $2 WHERE s.id = $1 AND s.state = 0`;

/** The row's lock is what tells a put from a drop that comes at the same moment: whoever is second sees the other's work. */
const touchBlob = `UPDATE pawl.blob SET put_at = ${stampOf("$2")} WHERE hash = $1 RETURNING 1`;
const putBlob = `INSERT INTO pawl.blob (hash, bytes, put_at) VALUES ($1, $2, ${stampOf("$3")})
  ON CONFLICT (hash) DO UPDATE SET put_at = excluded.put_at`;
const oldBlobs = `SELECT encode(hash, 'hex') AS name FROM pawl.blob
  WHERE hash > $2::bytea AND COALESCE(put_at, 0) < $1::float8 ORDER BY hash LIMIT $3::bigint`;
const dropBlobs = `DELETE FROM pawl.blob WHERE COALESCE(put_at, 0) < $1::float8
  AND hash IN (SELECT decode(n, 'hex') FROM json_array_elements_text($2::text::json) AS n) RETURNING 1`;

export class Keeping {
  readonly #link: Link;
  readonly #now: () => number | null;

  constructor(link: Link, now: () => number | null) {
    this.#link = link;
    this.#now = now;
  }

  async writePartial(session: string, epoch: number, attempt: string, chunk: string): Promise<void> {
    const [row] = await this.#link.query(writePartial, [session, epoch, attempt, Buffer.from(chunk)]);
    if (row?.["there"] !== 1) throw noSession(session);
  }

  async readPartial(session: string): Promise<Partial | undefined> {
    const rows = await this.#link.query(readPartial, [session]);
    const [first] = rows;
    if (!first) throw noSession(session);
    if (first["attempt"] === null) return undefined;
    const chunks = rows.map((row) => Buffer.from(row["chunk"] as Uint8Array).toString());
    return { attempt: String(first["attempt"]), epoch: Number(first["epoch"]), chunks };
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    const { reducer, version, seq, checksum, bytes } = snapshot;
    const rows = await this.#link.query(saveSnapshot, [session, reducer, version, seq, checksum, bytes]);
    if (rows.length === 0) throw noSession(session);
  }

  async loadSnapshot(session: string, reducer: string): Promise<Snapshot | undefined> {
    const [row] = await this.#link.query(loadSnapshot, [session, reducer]);
    if (!row) throw noSession(session);
    if (row["bytes"] === null) return undefined;
    const [version, seq] = [Number(row["version"]), Number(row["seq"])];
    return { reducer, version, seq, checksum: String(row["checksum"]), bytes: plainBytes(row["bytes"]) };
  }

  async putBlob(bytes: Uint8Array): Promise<string> {
    const name = hash("sha256", bytes, "hex");
    const [key, now] = [Buffer.from(name, "hex"), this.#now()];
    // Most blobs are there already when they are put again: then their bytes need not travel.
    if ((await this.#link.query(touchBlob, [key, now])).length === 0)
      await this.#link.query(putBlob, [key, bytes, now]);
    return name;
  }

  async oldBlobs(before: number, after: string, limit: number): Promise<string[]> {
    const values = [before, Buffer.from(after, "hex"), limit];
    return (await this.#link.query(oldBlobs, values)).map((row) => String(row["name"]));
  }

  async dropBlobs(names: readonly string[], before: number): Promise<number> {
    return (await this.#link.query(dropBlobs, [before, JSON.stringify(names)])).length;
  }

  async getBlob(name: string): Promise<Uint8Array | undefined> {
    if (!/^[0-9a-f]{64}$/.test(name)) return undefined;
    const row = await this.#blob("SELECT bytes FROM pawl.blob WHERE hash = $1", name);
    return row && plainBytes(row["bytes"]);
  }

  async #blob(sql: string, name: string) {
    const [row] = await this.#link.query(sql, [Buffer.from(name, "hex")]);
    return row;
  }

  /** `uncertain`: what stands there may be what an earlier try has set. */
  setName(name: string, session: string | null, expected: string | null | undefined, uncertain: boolean) {
    return this.#link.transaction(async (query) => {
      await query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`pawl name ${JSON.stringify(name)}`]);
      const key = session === null ? undefined : await keyOf(query, session);
      const current = await namedBy(query, name);
      if (expected !== undefined && expected !== (current ?? null)) return uncertain && (current ?? null) === session;
      const bytes = Buffer.from(name);
      if (key === undefined) await query("DELETE FROM pawl.name WHERE name = $1", [bytes]);
      else {
        const sql = `INSERT INTO pawl.name (name, session) VALUES ($1, $2::bigint)
          ON CONFLICT (name) DO UPDATE SET session = excluded.session`;
        await query(sql, [bytes, key]);
      }
      return true;
    });
  }

  resolveName(name: string): Promise<string | undefined> {
    return namedBy(this.#link.query, name);
  }
}

async function namedBy(query: Query, name: string): Promise<string | undefined> {
  const sql = "SELECT s.id FROM pawl.name n JOIN pawl.session s ON s.key = n.session WHERE n.name = $1 AND s.state = 0";
  const [row] = await query(sql, [Buffer.from(name)]);
  return row && String(row["id"]);
}

/** Locked, so that the session is not deleted before what hangs on it is written. */
async function keyOf(query: Query, session: string): Promise<string> {
  const [row] = await query("SELECT key FROM pawl.session WHERE id = $1 AND state = 0 FOR SHARE", [session]);
  if (!row) throw noSession(session);
  return String(row["key"]);
}
