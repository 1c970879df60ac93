/**
 * Deleting sessions that have had their time, beside workers that go on.
 *
 * Owns: the walk, and that nothing is deleted that changed under it. Does not own: which sessions (retention), what of a
 * deleted one a fork still reads (the store). Invariants:
 * 1. Each session by itself, held by us while it goes: a driver keeps us out, and a post that comes meanwhile keeps it.
 * 2. Nothing is remembered between calls: whoever is killed in the middle calls again.
 * 3. The walk begins where sessions are old enough, and reads a page at a time: young ones cost nothing.
 */
import { isPawlError } from "../error.ts";
import type { SessionSummary } from "../store/store.ts";
import { DriverLease } from "../turn/lease.ts";
import type { Runtime } from "../turn/session.ts";
import { parentOfTask } from "../turn/task.ts";
import { checkRetention, type Kept, type RetentionPolicy, retentionOf } from "./retention.ts";

export interface PruneOptions extends RetentionPolicy {
  /** `report` says what `delete` (the default) would do, and writes nothing. */
  mode?: "delete" | "report";
  /** At most so many in this call; default 1,000. */
  most?: number;
  signal?: AbortSignal;
  /**
   * Called before a session goes, while nobody may drive it: for what is kept of it elsewhere. What it resolves with is called
   * when the session has gone. A throw keeps the session and ends the call.
   */
  leaving?(session: SessionSummary): Promise<() => Promise<void>>;
}

export interface Pruned {
  /** Ids, oldest last. */
  deleted: string[];
  /** Old enough, and kept all the same. */
  kept: { [why in Exclude<Kept, "young">]: number };
  /** Stopped by `most` or the signal before the end. */
  more: boolean;
}

const pageSessions = 200;
const defaultMost = 1_000;

export async function prune(runtime: Runtime, options: PruneOptions): Promise<Pruned> {
  checkRetention(options);
  const { mode = "delete", most = defaultMost, signal } = options;
  const pruned: Pruned = { deleted: [], kept: { driven: 0, waiting: 0, interrupted: 0, named: 0 }, more: false };
  for await (const summary of oldSessions(runtime, options)) {
    if (signal?.aborted || pruned.deleted.length >= most) return { ...pruned, more: true };
    const seen = await verdictOn(runtime, summary, options);
    const verdict = seen === "delete" && mode === "delete" ? await remove(runtime, summary.session, options) : seen;
    if (verdict === "delete") pruned.deleted.push(summary.session);
    else if (verdict !== "young") pruned.kept[verdict] += 1;
  }
  return pruned;
}

/** The first page begins behind everything that is too young. */
async function* oldSessions(
  { store, effects }: Runtime,
  { olderThanMs }: RetentionPolicy,
): AsyncGenerator<SessionSummary> {
  let cursor: { updatedAt: number; session: string } | undefined = {
    updatedAt: effects.clock.now() - olderThanMs,
    session: "",
  };
  while (cursor) {
    const page: SessionSummary[] = await store.list({ limit: pageSessions, cursor });
    yield* page;
    const last = page.at(-1);
    cursor = last && page.length === pageSessions ? { updatedAt: last.updatedAt, session: last.session } : undefined;
  }
}

/** Gone meanwhile counts as not ours to judge. */
async function verdictOn(runtime: Runtime, summary: SessionSummary, policy: RetentionPolicy): Promise<"delete" | Kept> {
  const { store, effects } = runtime;
  const now = effects.clock.now();
  // Most that stay do so by what the list says of them: only for the others the mailbox is read.
  const listed = retentionOf(summary, 0, policy, now);
  if (listed !== "delete") return listed;
  try {
    const posts = await store.mailbox(summary.session);
    const verdict = retentionOf(summary, posts.length, policy, now);
    return verdict === "delete" ? await verdictOnTask(runtime, summary.session, policy) : verdict;
  } catch (error) {
    if (isPawlError(error, "SESSION_NOT_FOUND")) return "young";
    throw error;
  }
}

/** What a task came to may not be in its parent's log yet: it stays as long as the turn that gave it may go on. */
async function verdictOnTask(
  { store, effects }: Runtime,
  session: string,
  policy: RetentionPolicy,
): Promise<"delete" | Kept> {
  const id = await parentOfTask(store, session);
  const parent = id === undefined ? undefined : await store.get(id);
  if (parent?.head.openTurn === undefined) return "delete";
  if (parent.lease) return "driven";
  return retentionOf(parent, 0, policy, effects.clock.now()) === "delete" ? "delete" : "interrupted";
}

async function remove(runtime: Runtime, session: string, options: PruneOptions): Promise<"delete" | Kept> {
  let lease: DriverLease | undefined;
  try {
    lease = await DriverLease.acquire(runtime.store, session, runtime.holder, runtime.effects);
    return await removeHeld(runtime, session, lease.epoch, options);
  } catch (error) {
    if (isPawlError(error, "SESSION_BUSY") || isPawlError(error, "FENCED")) return "driven";
    // Something was posted, or written, since we looked.
    if (isPawlError(error, "CONFLICT")) return "waiting";
    if (isPawlError(error, "SESSION_NOT_FOUND")) return "young";
    throw error;
  } finally {
    // Of one that was deleted there is none any more.
    await lease?.release().catch(() => {});
  }
}

/** What was seen before nobody else could drive may be old: it is looked at again. */
async function removeHeld(
  runtime: Runtime,
  session: string,
  epoch: number,
  options: PruneOptions,
): Promise<"delete" | Kept> {
  const found = await runtime.store.get(session);
  if (!found) return "young";
  // The lease is ours.
  const { lease: _, ...summary } = found;
  const verdict = await verdictOn(runtime, summary, options);
  if (verdict !== "delete") return verdict;
  const gone = await options.leaving?.(summary);
  await runtime.store.delete(session, { epoch, expectedSeq: summary.seq });
  await gone?.();
  return "delete";
}
