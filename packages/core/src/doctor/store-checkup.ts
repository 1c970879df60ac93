/**
 * A store's folder under the doctor: the file, the disk it lies on, what lies beside it, and every session in it.
 *
 * Owns: the order of looking, from the outside in. Invariants:
 * 1. Without `repair` nothing is written, not even a newer format.
 * 2. A file that SQLite finds broken is rescued before anything else is looked at.
 */
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { LogRecord } from "../log/envelope.ts";
import { isAlive } from "../node/holder.ts";
import { checkBlobs } from "../store/blob-checkup.ts";
import { sharedFileSystem, sharedWarning } from "../store/file-system.ts";
import { type Finding, good, note, wrong } from "../store/finding.ts";
import { recordPages } from "../store/pages.ts";
import type { SqliteStore } from "../store/sqlite.ts";
import { checkDatabase, sizeWords } from "../store/sqlite-checkup.ts";
import { rescueDatabase } from "../store/sqlite-rescue.ts";
import type { Store } from "../store/store.ts";
import type { Runtime } from "../turn/session.ts";

/** Below this a busy day fills the disk: a session of a day has some ten sizeWords, its checkpoint needs as much again. */
const scarceBytes = 100_000_000;

export interface FolderCheckup {
  findings: Finding[];
  /** The sessions can be looked at: the file is whole and of this build's format, or has been rescued. */
  usable: boolean;
}

/** The folder and the file, without opening the store. Nothing is there: one note. */
export async function checkFolder(
  dir: string,
  { now, repair }: { now: number; repair: boolean },
): Promise<FolderCheckup> {
  const path = join(dir, "pawl.db");
  if (!existsSync(path)) return { usable: false, findings: [note(`there is no store in ${dir}`)] };
  const disk = await checkDisk(dir);
  const { findings, damaged, old } = checkDatabase(path, { now, isAlive, repair });
  if (!damaged) return { usable: !old, findings: [...disk, ...findings] };
  const remedy = "move it aside, and read into a fresh file what can still be read";
  const found = findings.map((finding) => ({ ...finding, remedy, ...(repair && { done: true }) }));
  if (!repair) return { usable: false, findings: [...disk, ...found] };
  return { usable: true, findings: [...disk, ...found, ...rescued(path)] };
}

async function checkDisk(dir: string): Promise<Finding[]> {
  const { type, bavail, bsize } = await statfs(dir);
  const shared = sharedFileSystem(type);
  const free = bavail * bsize;
  const words = `${sizeWords(free)} free on the disk`;
  return [
    ...(shared ? [note(sharedWarning(dir, shared))] : []),
    free < scarceBytes ? wrong(`${words}: a full disk stops every session; make room`) : good(words),
  ];
}

function rescued(path: string): Finding[] {
  const { aside, rows, lostSessions, lostRecords } = rescueDatabase(path, isAlive);
  const got = `${rows["session"]} sessions and ${rows["record"]} records were read; the damaged file is ${aside}`;
  return [
    { ...note(got), done: true },
    ...(lostRecords > 0 ? [wrong(`${lostRecords} records could not be read: holes in their sessions, see below`)] : []),
    ...lostSessions.map((id) => wrong(`session ${id} is lost: its row could not be read`)),
  ];
}

/** Every id, the most recently updated first. */
export async function* sessionIds(store: Store): AsyncGenerator<string, void> {
  for (let page = await store.list(); page.length > 0; ) {
    for (const { session } of page) yield session;
    const last = page.at(-1);
    page = last ? await store.list({ cursor: { updatedAt: last.updatedAt, session: last.session } }) : [];
  }
}

/** The blobs of a store. `whole`: every session could be read, so that an unnamed blob is really nobody's. */
export async function checkStoreBlobs(
  runtime: Runtime & { dir: string },
  { repair, whole }: { repair: boolean; whole: boolean },
): Promise<Finding[]> {
  const { store, effects, dir } = runtime;
  const named = new Set<string>();
  const needed = new Set<string>();
  for await (const session of sessionIds(store)) {
    for await (const records of recordPages(store, session))
      for (const record of records) collect(record, named, needed);
    for (const post of await store.mailbox(session))
      for (const name of hexes(JSON.stringify(post.body))) named.add(name);
  }
  const now = effects.clock.now();
  return checkBlobs(join(dir, "blobs"), { now, named: whole ? named : undefined, needed, repair });
}

/** What is 64 hex characters may name a blob, wherever it stands; what stands in a file part surely does. */
function collect({ payload }: LogRecord, named: Set<string>, needed: Set<string>): void {
  const text = Buffer.from(payload instanceof Uint8Array ? payload : payload.left).toString("latin1");
  for (const name of hexes(text)) named.add(name);
  for (const [, name] of text.matchAll(/"blob":"([0-9a-f]{64})"/g)) if (name !== undefined) needed.add(name);
}

function hexes(text: string): string[] {
  return text.match(/[0-9a-f]{64}/g) ?? [];
}

/** What was marked for erasure is erased. */
export async function sweep(store: Store): Promise<void> {
  await (store as Partial<SqliteStore>).sweep?.();
}
