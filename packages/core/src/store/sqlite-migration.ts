/**
 * From the format of a file to the format of this build.
 *
 * Owns: the steps, the copy that is made before the first of them. Does not own: the first format (sqlite-schema).
 * Invariants:
 * 1. A step is one transaction and moves `user_version` by one: a crash leaves a format that the next opening goes on
 *    from. Two processes that migrate at once wait for each other, and each step is taken once.
 * 2. A file that holds sessions is copied before it is changed. The copy stays until somebody removes it.
 * 3. A new file takes the same steps as an old one: there is no second schema that could differ.
 * 4. A step only adds: a process of the version before, which has the file open, goes on working.
 */
import { renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { threadId } from "node:worker_threads";
import { PawlError } from "../error.ts";

interface Step {
  /** For whoever reads what the file has been through. */
  title: string;
  sql: string;
}

/** Step n leads from format n + 1 to n + 2: the first format had none before it. */
const steps: readonly Step[] = [
  {
    title: "sessions taken in from other stores; leases that a clock cannot prolong",
    sql: `
      CREATE TABLE origin (session INTEGER NOT NULL, last INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (session, last))
        STRICT, WITHOUT ROWID;
      ALTER TABLE lease ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 15000;
      CREATE INDEX session_draft ON session (key) WHERE deleted = 3;`,
  },
  {
    // Empty: none. Beside a post the workspace of its session, so that work for others is not even looked at.
    title: "sessions that only a worker with their workspace may drive",
    sql: `
      ALTER TABLE session ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
      ALTER TABLE mail ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
      CREATE INDEX session_need ON session (workspace, key) WHERE open_turn = 1 AND deleted = 0;
      CREATE INDEX mail_need ON mail (workspace, session);`,
  },
];

/** The format this build reads and writes, in `PRAGMA user_version`. */
export const format = steps.length + 1;

export function formatOf(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
}

/** Inside a transaction of the caller: one step, from the format that the file has now. */
function takeStep(db: DatabaseSync): void {
  const from = formatOf(db);
  db.exec(steps[from - 1]?.sql ?? "");
  db.exec(`PRAGMA user_version = ${from + 1}`);
}

/** All steps inside a transaction of the caller, which has just made the first format. */
export function completeNew(db: DatabaseSync): void {
  while (formatOf(db) < format) takeStep(db);
}

/** Brings an old file to this build's format. Returns where the copy of the old one lies, if there was need of one. */
export function migrate(db: DatabaseSync, path: string): string | undefined {
  const from = formatOf(db);
  if (from >= format) return undefined;
  const copy = copyOf(db, path, from);
  while (formatOf(db) < format) {
    db.exec("BEGIN IMMEDIATE");
    try {
      // Whoever had the lock before may have taken this step.
      if (formatOf(db) < format) takeStep(db);
      db.exec("COMMIT");
    } catch (cause) {
      if (db.isTransaction) db.exec("ROLLBACK");
      const at = formatOf(db);
      throw new PawlError(
        "STORE_UNAVAILABLE",
        `${path} could not be brought from format ${at} to ${at + 1} (${steps[at - 1]?.title}); it is as it was, a copy is ${copy}`,
        { cause },
      );
    }
  }
  return copy;
}

function copyOf(db: DatabaseSync, path: string, from: number): string {
  const copy = `${path}.format-${from}`;
  // Two threads of one process may be at it at once.
  const draft = `${copy}.${process.pid}-${threadId}.draft`;
  try {
    rmSync(draft, { force: true });
    db.prepare("VACUUM INTO ?").run(draft);
    // Another process may have been quicker: then its copy is the old format, and ours is not.
    if (fileFormat(draft) === from) renameSync(draft, copy);
  } finally {
    rmSync(draft, { force: true });
  }
  return copy;
}

function fileFormat(path: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return formatOf(db);
  } finally {
    db.close();
  }
}
