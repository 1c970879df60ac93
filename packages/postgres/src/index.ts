/** `@pawl/postgres`: sessions in PostgreSQL, which any machine's process may drive. */

export type { PoolClient } from "./client.ts";
export type { Pool } from "./pool-database.ts";
export { type PostgresStore, type PostgresStoreOptions, postgresStore } from "./store.ts";
