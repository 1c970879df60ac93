/** Making a schema and bringing it up to date by hand, apart from the processes that use it. */
import { limit } from "@pawl/core";
import { storeFault } from "./fault.ts";
import type { Link } from "./link.ts";
import { linkTo, type ServerOptions } from "./opening.ts";
import { formatIn, grantUse, migrate, type SchemaFormat, schemaName } from "./schema.ts";

/** What the schema has, 0 where it is not there, and what this build needs. Changes nothing. Fails with STORE_UNAVAILABLE. */
export function schemaFormat(options: ServerOptions): Promise<SchemaFormat> {
  return linked(options, formatIn);
}

export interface MigrateOptions extends ServerOptions {
  /** A role that gets what driving sessions needs, and no right to change tables. */
  grant?: string;
}

/**
 * Makes the schema or brings it up to date, all or nothing; `found` is what it had before. Fails with STORE_UNAVAILABLE, also
 * for one that is newer than this build.
 */
export function migrateSchema(options: MigrateOptions): Promise<SchemaFormat> {
  // An index on a large table takes as long as it takes: to begin anew would make it longer.
  return linked({ answerMs: limit.timerMs, ...options }, async (link, name) => {
    const migrated = await migrate(link, name);
    if (options.grant !== undefined) await grantUse(link, name, options.grant);
    return migrated;
  });
}

async function linked<T>(options: ServerOptions, work: (link: Link, name: string) => Promise<T>): Promise<T> {
  const link = linkTo({ connections: 1, ...options });
  try {
    return await link.run(() => work(link, schemaName(options.schema ?? "pawl")));
  } catch (error) {
    throw storeFault(error);
  } finally {
    await link.close(async () => {}).catch(() => {});
  }
}
