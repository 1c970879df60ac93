/**
 * `pawl copy`: sessions into another store, unchanged; with `--all` a whole store, as somebody does it who moves to a server.
 *
 * Owns: what goes along (records, blobs, names, what waits in the mailbox, what stands beside the log), in which order.
 * Invariants:
 * 1. The source is only read. What is there on the other side already is compared, never overwritten.
 * 2. Every record is compared after it was copied, by its checksum; what is not the same is said and is an error.
 * 3. Tasks go along with their session, and before it.
 * 4. Begun again it goes on: sessions, names and posts that are there count as done.
 */
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import {
  exportSession,
  importSession,
  isPawlError,
  isTaskSession,
  PawlError,
  parentOfTask,
  type Runtime,
  type SessionSummary,
} from "@pawl/core";
import { addressOf } from "./address.ts";
import { type Comparison, compared } from "./comparison.ts";
import { holderWords } from "./driver-watch.ts";
import { exitOfError } from "./exit.ts";
import { openStore } from "./open-store.ts";
import { storeFolder, storePlaces, storeWords } from "./place.ts";
import { everySession } from "./session-pages.ts";
import { StatusLine } from "./status-line.ts";
import { counted, grouped, toned, wrapped } from "./style.ts";
import { isThere } from "./visit.ts";

export interface CopyOptions {
  store?: string;
  json?: boolean;
  to: string;
  all?: boolean;
}

export interface Tally {
  copied: number;
  there: number;
  records: number;
  problems: PawlError[];
}

/** 0: everything is there and compared; otherwise the code of the first thing that was not. */
export async function copySessions(address: string | undefined, options: CopyOptions): Promise<number> {
  const { store, to, all = false } = options;
  if (all === (address !== undefined))
    throw new PawlError(
      "INVALID_INPUT",
      `${all ? "a session and --all" : "no session"}: name one session, or say --all`,
    );
  if (storeFolder(store) === storeFolder(to))
    throw new PawlError("INVALID_INPUT", `--to ${storeWords(to)} is the store itself; name another`);
  if (!isThere(store)) throw new PawlError("SESSION_NOT_FOUND", `there is no store in ${storeWords(store)} to copy`);
  const source = await openStore(store);
  try {
    const wanted =
      address === undefined ? await allOf(source) : await familyOf(source, await addressOf(source, address));
    const target = await openStore(to);
    try {
      const tally = await copyAll(source, target, wanted, options);
      if (all) copyBeside(store, to);
      return report(tally, options);
    } finally {
      await target.store.close();
    }
  } finally {
    await source.store.close();
  }
}

/** The oldest first: lists show them in the order that they had. */
async function allOf({ store }: Runtime): Promise<string[]> {
  const sessions: string[] = [];
  for await (const { session } of everySession(store)) sessions.push(session);
  return tasksFirst(sessions.reverse());
}

/** A session with the tasks that it gave, and those that they gave: over there they would be done anew. */
export async function familyOf(source: Runtime, session: string): Promise<string[]> {
  const { store } = source;
  const given = new Map<string, string[]>();
  await oneOf(source, session);
  for await (const { session: id } of everySession(store)) {
    const parent = await parentOfTask(store, id);
    if (parent !== undefined) given.set(parent, [...(given.get(parent) ?? []), id]);
  }
  const family = [session];
  for (const each of family) family.push(...(given.get(each) ?? []));
  return tasksFirst(family);
}

/** Nobody claims a task: whoever claims a session over there, in this very moment, finds what its tasks have done. */
function tasksFirst(sessions: readonly string[]): string[] {
  return [...sessions.filter(isTaskSession), ...sessions.filter((session) => !isTaskSession(session))];
}

async function oneOf({ store }: Runtime, id: string): Promise<SessionSummary> {
  const summary = await store.get(id);
  if (!summary) throw new PawlError("SESSION_NOT_FOUND", `session ${id} was deleted in this moment`);
  return summary;
}

async function copyAll(
  source: Runtime,
  target: Runtime,
  wanted: readonly string[],
  { json }: CopyOptions,
): Promise<Tally> {
  const tally: Tally = { copied: 0, there: 0, records: 0, problems: [] };
  const status = new StatusLine(process.stderr);
  let at = 0;
  status.show(() => `copying session ${grouped(at)} of ${grouped(wanted.length)}`);
  for (const session of wanted) {
    at += 1;
    try {
      await copyOne(source, target, session, tally);
    } catch (error) {
      // One session keeps nobody from copying the others; a store that is away does.
      if (!isPawlError(error) || exitOfError(error) === storeGone) throw error;
      tally.problems.push(error);
      status.hide();
      if (!json) process.stderr.write(`${toned("warn", `! ${error.message}`, process.stderr)}\n`);
      status.show(() => `copying session ${grouped(at)} of ${grouped(wanted.length)}`);
    }
  }
  status.hide();
  return tally;
}

const storeGone = exitOfError({ name: "PawlError", code: "STORE_UNAVAILABLE" });

/** Fails with SESSION_BUSY or CONFLICT where somebody drives it: of what a turn has in hand a copy would have half, or all of it twice. */
export async function copyOne(source: Runtime, target: Runtime, session: string, tally: Tally): Promise<void> {
  const { seq, names = [] } = await idle(source, session);
  const isNew = !(await target.store.get(session));
  if (isNew)
    await importSession(target.store, exportSession(source.store, session), { now: target.effects.clock.now() });
  const same = await compared(source.store, target.store, session);
  assertSame(session, same, isNew);
  for (const name of names) await copyName(target, name, session);
  await copyMail(source, target, session);
  // A post that a turn took up in between would be neither in the records that were copied nor in the mailbox.
  const lacking = (await idle(source, session)).seq - seq;
  assertSame(session, { ...same, lacking }, isNew);
  if (isNew) tally.copied += 1;
  else tally.there += 1;
  tally.records += same.equal;
}

async function idle(source: Runtime, session: string): Promise<SessionSummary> {
  const summary = await oneOf(source, session);
  if (!summary.lease) return summary;
  throw new PawlError(
    "SESSION_BUSY",
    `session ${session} is being driven by ${holderWords(summary.lease.holder)}; copy it when that has ended`,
  );
}

function assertSame(session: string, { differing, lacking, damaged }: Comparison, isNew: boolean): void {
  if (differing !== undefined)
    throw new PawlError(
      "CONFLICT",
      `session ${session} is another one on the other side, from record ${differing} on; delete one of them, or pawl export and import it under another id`,
    );
  if (lacking > 0)
    throw new PawlError(
      "CONFLICT",
      isNew
        ? `session ${session} has gone on while it was copied, by ${counted(lacking, "record")}; delete the copy and copy it again`
        : `session ${session} is there, without its last ${counted(lacking, "record")}; delete it there, then copy it again`,
    );
  if (damaged > 0)
    throw new PawlError(
      "CORRUPT",
      `session ${session} is copied but for ${counted(damaged, "record")} that cannot be read; pawl doctor ${session} mends it, on either side`,
    );
}

async function copyName({ store }: Runtime, name: string, session: string): Promise<void> {
  const held = await store.resolveName(name);
  if (held === session || (held === undefined && (await store.setName(name, session, null)))) return;
  throw new PawlError(
    "CONFLICT",
    `session ${session} is copied, but its name ${JSON.stringify(name)} belongs to ${held ?? "another session"} there`,
  );
}

/** A post is known by its id: one that a turn has had there meanwhile is not given again. */
async function copyMail(source: Runtime, target: Runtime, session: string): Promise<void> {
  for (const { id, kind, body } of await source.store.mailbox(session)) {
    for (const [, blob] of JSON.stringify(body).matchAll(/"blob":"([0-9a-f]{64})"/g)) {
      const bytes = blob === undefined ? undefined : await source.store.getBlob(blob);
      if (bytes) await target.store.putBlob(bytes);
    }
    await target.store.post(session, { id, kind, body });
  }
}

/** Long outputs, commands, the states of folders that undo brings back. What is there stays. */
function copyBeside(from: string | undefined, to: string): void {
  const [here, there] = [storePlaces(from), storePlaces(to)];
  for (const name of ["spill", "commands", "snapshots"] as const) {
    if (!existsSync(here[name])) continue;
    cpSync(here[name], there[name], {
      recursive: true,
      force: false,
      // Since when none is missing is said of a place, not of what lies in it.
      filter: (path) => !path.startsWith(join(here.commands, "since-")),
    });
  }
}

function report({ copied, there, records, problems }: Tally, { json, store, to }: CopyOptions): number {
  const [first] = problems;
  if (json) {
    const errors = problems.map(({ code, message }) => ({ code, message }));
    process.stdout.write(`${JSON.stringify({ ok: !first, copied, there, records, errors })}\n`);
  } else {
    const already = there === 0 ? "" : `, ${grouped(there)} were there`;
    const words = `${counted(copied, "session")} copied${already}; ${counted(records, "record")} compared, the same in ${storeWords(store)} and ${storeWords(to)}`;
    const line = first ? `${words}; ${counted(problems.length, "session")} not, see above` : words;
    process.stdout.write(`${toned(first ? "warn" : "good", wrapped(line, process.stdout), process.stdout)}\n`);
  }
  return first ? exitOfError(first) : 0;
}
