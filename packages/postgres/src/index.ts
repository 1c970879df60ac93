/** `@pawl/postgres`: sessions in PostgreSQL, which any machine's process may drive. */

export type { PoolClient } from "./client.ts";
export { type MigrateOptions, migrateSchema, schemaFormat } from "./migration.ts";
export type { ServerOptions } from "./opening.ts";
export type { Pool } from "./pool-database.ts";
export type { SchemaFormat } from "./schema.ts";
export { type PostgresStore, type PostgresStoreOptions, postgresStore } from "./store.ts";
