/** `pawl migrate`: the tables of the named store, made or brought to the format of this program; `--check` only tells. */
import { PawlError } from "@pawl/core";
import { folderFormat, openRuntime } from "@pawl/core/node";
import { migrationDue } from "./exit.ts";
import { serverOptions, waited } from "./open-store.ts";
import { type StoreLocation, storeLocation, storeWords } from "./place.ts";
import { toned, wrapped } from "./style.ts";

export interface MigrateOptions {
  store?: string;
  json?: boolean;
  check?: boolean;
  /** A role of PostgreSQL's. */
  grant?: string;
}

interface Formats {
  found: number;
  needed: number;
}

/** Fails with STORE_UNAVAILABLE: the store cannot be reached, is newer than this program, or may not be changed by this role. */
export async function migrateStore(options: MigrateOptions): Promise<number> {
  const { store, check = false, grant } = options;
  const location = storeLocation(store);
  if (grant !== undefined) {
    const why = check ? "--check changes nothing" : `${storeWords(store)} is a folder, which has no roles`;
    if (check || location.kind === "folder")
      throw new PawlError("INVALID_INPUT", `--grant ${grant}: ${why}; leave it out`);
  }
  const place = location.kind === "folder" ? location.dir : `${storeWords(store)}, schema ${location.schema}`;
  const { found, needed, warnings } = await (location.kind === "folder"
    ? folder(location.dir, check)
    : server(location, check, grant));
  if (found > needed)
    throw new PawlError(
      "STORE_UNAVAILABLE",
      `${place} has format ${found}, this pawl knows ${needed}: a newer one made it; update this one`,
    );
  const due = check && found < needed;
  if (options.json) {
    const is = check ? found : needed;
    process.stdout.write(`${JSON.stringify({ ok: !due, store: place, was: found, is, needed })}\n`);
  } else {
    const { stdout } = process;
    stdout.write(
      `${toned(due ? "warn" : "good", wrapped(`${place}: ${words({ found, needed }, check)}`, stdout), stdout)}\n`,
    );
    if (grant !== undefined) stdout.write(`role ${grant} may drive sessions in it, and change no table\n`);
  }
  for (const warning of warnings) process.stderr.write(`pawl: ${warning}\n`);
  return due ? migrationDue : 0;
}

async function folder(dir: string, check: boolean): Promise<Formats & { warnings: readonly string[] }> {
  const formats = folderFormat(dir);
  if (check || formats.found >= formats.needed) return { ...formats, warnings: [] };
  const { store, warnings } = await openRuntime({ dir });
  await store.close();
  return { ...formats, warnings };
}

async function server(
  location: Extract<StoreLocation, { kind: "postgres" }>,
  check: boolean,
  grant: string | undefined,
): Promise<Formats & { warnings: readonly string[] }> {
  const { migrateSchema, schemaFormat } = await import("@pawl/postgres");
  const options = serverOptions(location);
  const asked = check
    ? schemaFormat(options)
    : migrateSchema({ ...options, ...(grant === undefined ? {} : { grant }) });
  return { ...(await waited(location, asked)), warnings: [] };
}

function words({ found, needed }: Formats, check: boolean): string {
  if (found === needed) return `format ${found}, nothing to do`;
  if (check)
    return found === 0
      ? `no tables yet; pawl migrate makes them (format ${needed})`
      : `format ${found}, this pawl needs ${needed}; pawl migrate brings it there`;
  return found === 0 ? `made, format ${needed}` : `format ${needed}, it was ${found}`;
}
