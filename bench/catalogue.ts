/**
 * The fixture of the rows about many sessions: a store of 10,000 and one of 100,000, each session with a few events;
 * beside each an equal table of what a list shows, with the index that the list needs.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSession, type Runtime } from "@pawl/core";

export const counts = { ten: 10_000, hundred: 100_000 } as const;
export type Count = keyof typeof counts;

export const storeIn = (fixture: string, count: Count): string => join(fixture, count);
export const tableIn = (fixture: string, count: Count): string => join(fixture, `${count}.db`);

/** Made at once: they share a flush. */
const together = 1_000;

export async function make(dir: string): Promise<void> {
  const { withRuntime } = await import("./durable.ts");
  for (const count of Object.keys(counts) as Count[]) {
    mkdirSync(storeIn(dir, count));
    await withRuntime(storeIn(dir, count), (runtime) => fill(runtime, counts[count]));
    makeTable(tableIn(dir, count), counts[count]);
  }
}

async function fill(runtime: Runtime, count: number): Promise<void> {
  for (let at = 0; at < count; at += together) {
    const titles = Array.from({ length: together }, (_, n) => titleOf(at + n));
    await Promise.all(titles.map((title) => createSession(runtime, undefined, { title, cwd: "/work" })));
  }
}

const titleOf = (n: number): string => `What was asked first in session ${n}`;

function makeTable(path: string, count: number): void {
  const db = new DatabaseSync(path);
  db.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
     CREATE TABLE session (id TEXT PRIMARY KEY, updated INTEGER NOT NULL, title TEXT NOT NULL, cwd TEXT NOT NULL);
     CREATE INDEX recent ON session (updated, id); BEGIN`,
  );
  const insert = db.prepare("INSERT INTO session (id, updated, title, cwd) VALUES (?, ?, ?, ?)");
  for (let n = 0; n < count; n += 1) insert.run(`s_${n.toString().padStart(21, "0")}`, n, titleOf(n), "/work");
  db.exec("COMMIT");
  db.close();
}
