/** The format of a folder's file, without opening the store: who opens it brings it up to date. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isPawlError } from "../error.ts";
import { storeFault } from "./sqlite-fault.ts";
import { format } from "./sqlite-migration.ts";
import { checkFormat } from "./sqlite-schema.ts";

/**
 * What the store in `dir` has, 0 where there is none, and what this build needs. Changes nothing. Fails with STORE_UNAVAILABLE
 * for a file of another program, of a newer Pawl, or that cannot be read.
 */
export function folderFormat(dir: string): { found: number; needed: number } {
  const path = join(dir, "pawl.db");
  if (!existsSync(path)) return { found: 0, needed: format };
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true });
    return { found: checkFormat(db, path), needed: format };
  } catch (error) {
    throw isPawlError(error) ? error : storeFault(error, path);
  } finally {
    db?.close();
  }
}
