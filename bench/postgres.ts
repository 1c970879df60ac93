/**
 * What the rows about PostgreSQL share. Each case has a schema of its own on the run's server. Imported by a case, never by
 * a row's module.
 */
import { createHash } from "node:crypto";
import type { Runtime } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import { type PostgresStore, postgresStore } from "@pawl/postgres";
import pg from "pg";

/** Of a case, which has a folder of its own. */
export function schemaOf(dir: string): string {
  return `bench_${createHash("sha256").update(dir).digest("hex").slice(0, 16)}`;
}

export interface PostgresRuntime extends Runtime {
  store: PostgresStore;
}

export async function postgresRuntime(url: string, schema: string): Promise<PostgresRuntime> {
  return { store: await postgresStore({ url, schema }), effects: nodeEffects(), holder: thisHolder() };
}

/** Runs `work` on a new schema, and closes its store. */
export async function withPostgres<T>(
  url: string,
  dir: string,
  work: (runtime: PostgresRuntime) => Promise<T>,
): Promise<T> {
  const runtime = await postgresRuntime(url, schemaOf(dir));
  try {
    return await work(runtime);
  } finally {
    await runtime.store.close();
  }
}

/** The baselines': the same client, and a schema with a table that is no more than what is asked of it. */
export async function withPlain<T>(url: string, dir: string, work: (sql: Plain) => Promise<T>): Promise<T> {
  const schema = schemaOf(dir);
  const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` });
  const names = new Map<string, string>();
  try {
    await pool.query(`CREATE SCHEMA ${schema}`);
    return await work(async (text, values = []) => {
      const name = names.get(text) ?? `s${names.size}`;
      names.set(text, name);
      return (await pool.query({ name, text, values: [...values] })).rows;
    });
  } finally {
    await pool.end();
  }
}

export type Plain = (text: string, values?: readonly unknown[]) => Promise<readonly { [column: string]: unknown }[]>;
