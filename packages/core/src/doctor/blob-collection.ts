/**
 * Removing blobs that nobody names any more, beside workers that go on.
 *
 * Owns: reading every log for names. Does not own: when a blob was last put, removing it (stores). Invariants:
 * 1. Only what nobody has put for a day is looked at: a blob is put before the record or the post that names it.
 * 2. A mailbox is read before its log: a post that moves from one to the other is seen in one of them.
 * 3. Whoever is updated moves to the front of the list, past whoever walks it: the walk begins again until a whole one
 *    finds nobody new. Where a log cannot be read, nothing is removed.
 */

import { isPawlError } from "../error.ts";
import type { LogRecord } from "../log/envelope.ts";
import { recordPages } from "../store/pages.ts";
import type { Store } from "../store/store.ts";
import type { Runtime } from "../turn/session.ts";

export interface CollectOptions {
  /** `report` counts what `delete` (the default) would remove. */
  mode?: "delete" | "report";
  /** How long a blob may lie unnamed, ms; default a day. Longer than anybody takes from a blob to the record that names it. */
  restMs?: number;
}

export interface Collected {
  /** Blobs that were old enough to be looked at. */
  old: number;
  removed: number;
}

const dayMs = 24 * 3_600_000;
/** Removed at once. */
const slice = 500;

/** Reads every log of the store, from end to end; holds about 100 bytes a blob. Delete no sessions by other means meanwhile. */
export async function collectBlobs({ store, effects }: Runtime, options: CollectOptions = {}): Promise<Collected> {
  const { mode = "delete", restMs = dayMs } = options;
  const before = effects.clock.now() - restMs;
  const unnamed = await oldBlobs(store, before);
  const old = unnamed.size;
  const walked = new Set<string>();
  while (unnamed.size > 0 && (await strikeNamed(store, unnamed, walked)) > 0);
  if (mode === "report") return { old, removed: unnamed.size };
  let removed = 0;
  const names = [...unnamed];
  for (let at = 0; at < names.length; at += slice)
    removed += await store.dropBlobs(names.slice(at, at + slice), before);
  return { old, removed };
}

async function oldBlobs(store: Store, before: number): Promise<Set<string>> {
  const all = new Set<string>();
  for (let after: string | undefined = ""; after !== undefined; ) {
    const page: string[] = await store.oldBlobs({ before, after });
    for (const name of page) all.add(name);
    after = page.at(-1);
  }
  return all;
}

/** Returns how many sessions it met that no walk before had. */
async function strikeNamed(store: Store, unnamed: Set<string>, walked: Set<string>): Promise<number> {
  const before = walked.size;
  for (let page = await store.list(); page.length > 0; ) {
    for (const { session } of page) {
      if (walked.has(session)) continue;
      walked.add(session);
      await strikeNamedBy(store, session, unnamed);
    }
    const last = page.at(-1);
    page = last ? await store.list({ cursor: { updatedAt: last.updatedAt, session: last.session } }) : [];
  }
  return walked.size - before;
}

async function strikeNamedBy(store: Store, session: string, unnamed: Set<string>): Promise<void> {
  try {
    for (const { body } of await store.mailbox(session)) strike(JSON.stringify(body), unnamed);
    for await (const records of recordPages(store, session))
      for (const record of records) strike(textOf(record), unnamed);
  } catch (error) {
    if (!isPawlError(error, "SESSION_NOT_FOUND")) throw error;
  }
}

/** What is 64 hex characters may name a blob, wherever it stands, also inside of more of them. */
function strike(text: string, unnamed: Set<string>): void {
  for (const [, name = ""] of text.matchAll(/(?=([0-9a-f]{64}))/g)) unnamed.delete(name);
}

function textOf({ payload }: LogRecord): string {
  return Buffer.from(payload instanceof Uint8Array ? payload : payload.left).toString("latin1");
}
