/**
 * The tables in a PostgreSQL schema of their own, and bringing them up to date.
 *
 * Owns: DDL, the format's number, the steps between formats. Does not own: what is written when. Invariants:
 * 1. A new schema takes the same steps as an old one: there is no second definition that could differ.
 * 2. All steps are one transaction: PostgreSQL's DDL rolls back, so a crash leaves the old format. Of two that come at
 *    once one waits, and finds the work done.
 * 3. A newer format is refused before anything changes.
 * 4. A step takes away nothing but indexes: a process of the version before, which is connected, goes on working.
 */
import { PawlError } from "@pawl/core";
import type { Query } from "./database.ts";
import type { Link } from "./link.ts";

interface Step {
  /** For whoever reads what a database has been through. */
  title: string;
  sql: string;
}

/**
 * Step n leads from format n to n + 1. `session.state`: 0 lives, 1 hidden, 2 erased as far as no living child reads it.
 * `session.leased` is the epoch of the lease that is out, 0 for none: one row decides who may append. `record.origin` is
 * the session a record was written to where it is another (of a restored one); `record.erased` holds hash and seal of an
 * erased payload. Texts that may hold any character are bytes.
 */
export const steps: readonly Step[] = [
  {
    title: "the first format",
    sql: `
CREATE TABLE pawl.session (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  state smallint NOT NULL DEFAULT 0,
  seq bigint NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  head text NOT NULL,
  open_turn boolean NOT NULL,
  parent bigint,
  cut bigint NOT NULL DEFAULT 0,
  leased bigint NOT NULL DEFAULT 0,
  holder text,
  host text,
  ticket text,
  beacon bigint,
  expires_at bigint NOT NULL DEFAULT 0,
  ttl_ms bigint NOT NULL DEFAULT 0,
  claimed_at bigint NOT NULL DEFAULT 0
);
CREATE INDEX session_recent ON pawl.session (updated_at, id) WHERE state = 0;
CREATE INDEX session_open ON pawl.session (key) WHERE open_turn AND state = 0;
CREATE INDEX session_child ON pawl.session (parent) WHERE parent IS NOT NULL;
CREATE INDEX session_hidden ON pawl.session (key) WHERE state = 1;
CREATE TABLE pawl.record (
  session bigint NOT NULL,
  seq bigint NOT NULL,
  epoch bigint NOT NULL,
  time bigint NOT NULL,
  version bigint NOT NULL,
  ignorable boolean NOT NULL,
  type text NOT NULL,
  origin text,
  checksum bytea NOT NULL,
  erased bytea,
  payload bytea NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE TABLE pawl.post (session bigint NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (session, id));
CREATE TABLE pawl.mail (
  session bigint NOT NULL,
  place bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  body text NOT NULL,
  posted_at bigint NOT NULL,
  PRIMARY KEY (session, place)
);
CREATE TABLE pawl.name (name bytea PRIMARY KEY, session bigint NOT NULL);
CREATE INDEX name_session ON pawl.name (session);
CREATE UNLOGGED TABLE pawl.partial (
  session bigint NOT NULL,
  place bigint GENERATED ALWAYS AS IDENTITY,
  epoch bigint NOT NULL,
  attempt text NOT NULL,
  chunk bytea NOT NULL,
  PRIMARY KEY (session, place)
);
CREATE TABLE pawl.snapshot (
  session bigint NOT NULL,
  reducer text NOT NULL,
  version bigint NOT NULL,
  seq bigint NOT NULL,
  checksum text NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (session, reducer)
);
CREATE TABLE pawl.blob (hash bytea PRIMARY KEY, bytes bytea NOT NULL);`,
  },
  {
    // Empty: none. Beside a post the workspace of its session, so that work for others is not even looked at.
    title: "sessions that only a worker with their workspace may drive",
    sql: `
ALTER TABLE pawl.session ADD COLUMN workspace bytea NOT NULL DEFAULT '';
ALTER TABLE pawl.mail ADD COLUMN workspace bytea NOT NULL DEFAULT '';
CREATE INDEX session_need ON pawl.session (workspace, key) WHERE open_turn AND state = 0;
CREATE INDEX mail_need ON pawl.mail (workspace, session);`,
  },
  {
    // Null: put before this step. A process of the format before goes on writing blobs; the default dates them.
    title: "when a blob was last put",
    sql: `
ALTER TABLE pawl.blob ADD COLUMN put_at bigint;
ALTER TABLE pawl.blob ALTER COLUMN put_at SET DEFAULT floor(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint;`,
  },
  {
    // A row whose indexed columns stay is rewritten in its page, and no index hears of it: the moment of an append changes each
    // time, its minute seldom. The room in each page is for that, and comes first: the new column rewrites the pages.
    title: "appends that touch no index",
    sql: `
ALTER TABLE pawl.session SET (fillfactor = 70);
ALTER TABLE pawl.session ADD COLUMN updated_minute bigint NOT NULL GENERATED ALWAYS AS (updated_at / 60000) STORED;
CREATE INDEX session_minute ON pawl.session (updated_minute) WHERE state = 0;
DROP INDEX pawl.session_recent;`,
  },
];

/** The format this build reads and writes, in `pawl.format`. */
export const format = steps.length;

/** Any number that others do not use: who changes a schema waits for whoever else does. "pawl" in ASCII. */
const migrationLock = 0x7061776c;

/** What a schema has, 0 where there is none, and what this build reads and writes. */
export interface SchemaFormat {
  found: number;
  needed: number;
}

/** Changes nothing. */
export async function formatIn(link: Link, schema: string): Promise<SchemaFormat> {
  return { found: await formatOf(link.query, schema), needed: format };
}

/** For whoever may not change it: a role without the right to, or a program that leaves that to its operator. */
export async function demandFormat(link: Link, schema: string): Promise<void> {
  const { found } = await formatIn(link, schema);
  if (found > format) throw tooNew(schema, found);
  if (found === format) return;
  const what =
    found === 0
      ? `the database has no schema ${schema} with Pawl's tables`
      : `schema ${schema} has format ${found}, this build needs ${format}`;
  throw new PawlError("STORE_UNAVAILABLE", `${what}; \`pawl migrate\`, by a role that may, brings it there`);
}

/** Returns what the schema had before. */
export async function migrate(link: Link, schema: string): Promise<SchemaFormat> {
  let first: number | undefined;
  for (;;) {
    // The ordinary case takes no lock.
    const from = await formatOf(link.query, schema);
    first ??= from;
    if (from === format) return { found: first, needed: format };
    if (from > format) throw tooNew(schema, from);
    await link.transaction((query) => takeSteps(query, schema, from), "slow");
  }
}

/** What a process needs that drives sessions and changes no tables: to be said again after each migration. */
export async function grantUse(link: Link, schema: string, role: string): Promise<void> {
  const name = `"${role.replaceAll('"', '""')}"`;
  await link.transaction(async (query) => {
    await query(`GRANT USAGE ON SCHEMA ${schema} TO ${name}`);
    await query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${name}`);
    // Who may write it could make every other process refuse the schema.
    await query(`REVOKE INSERT, UPDATE, DELETE ON pawl.format FROM ${name}`);
  });
}

/** Does nothing where somebody else has taken a step since `from` was read: a new transaction sees what there is now. */
async function takeSteps(query: Query, schema: string, from: number): Promise<void> {
  // A large schema takes its time, and whoever comes second waits for it.
  await query("SET LOCAL lock_timeout = 0");
  await query("SELECT pg_advisory_xact_lock($1::bigint)", [migrationLock]);
  const there = await isThere(query, schema);
  if (from === 0) {
    // Our connection may remember that the schema is not there, and would not find its tables: so nothing else is asked.
    if (there) return;
    await query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await query("CREATE TABLE pawl.format (format integer NOT NULL)");
    await query("INSERT INTO pawl.format (format) VALUES (0)");
  } else if ((await formatOf(query, schema)) !== from) return;
  for (const { sql } of steps.slice(from)) {
    for (const statement of sql.split(/;\s*\n|;$/)) if (statement.trim() !== "") await query(statement);
  }
  await query("UPDATE pawl.format SET format = $1::int", [format]);
}

/** 0 where there is no schema of ours yet. */
async function formatOf(query: Query, schema: string): Promise<number> {
  if (!(await isThere(query, schema))) return 0;
  const [row] = await query("SELECT format FROM pawl.format");
  return Number(row?.["format"] ?? 0);
}

async function isThere(query: Query, schema: string): Promise<boolean> {
  const sql = `SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = 'format' AND n.nspname = $1`;
  return (await query(sql, [schema.replaceAll('"', "")])).length > 0;
}

function tooNew(schema: string, seen: number): PawlError {
  return new PawlError(
    "STORE_UNAVAILABLE",
    `schema ${schema} has format ${seen}, this build reads up to ${format}: a newer Pawl wrote it; update Pawl`,
  );
}

/** As an identifier in SQL. Refused where it is none that needs no thought. */
export function schemaName(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) return `"${schema}"`;
  throw new PawlError(
    "INVALID_INPUT",
    `a schema is 1 to 51 characters a-z 0-9 _, not beginning with a digit, is ${JSON.stringify(schema)}`,
  );
}
