/** Which session a run is about, and the folder that it works in. */
import { existsSync } from "node:fs";
import {
  createSession,
  forkSession,
  isPawlError,
  openSession,
  PawlError,
  type Runtime,
  type Session,
  type SessionFacts,
} from "@pawl/core";
import { addressOf, addressOrNew } from "./address.ts";
import { forkPoint, type Place } from "./fork-point.ts";
import { workspaceFolder } from "./place.ts";
import { line } from "./style.ts";

export type RunTarget =
  | { kind: "known"; id: string }
  | { kind: "new"; id?: string }
  | { kind: "fork"; from: Place; id?: string };

export interface TargetOptions {
  cwd?: string;
  session?: string;
  forkFrom?: string;
}

/** `mustExist`: a turn is gone on with. Fails with SESSION_NOT_FOUND, INVALID_INPUT. */
export async function targetOf(
  runtime: Runtime,
  { session, forkFrom }: TargetOptions,
  mustExist: "must exist" | "may be new",
): Promise<RunTarget> {
  const given = session === undefined ? {} : { id: session };
  if (forkFrom !== undefined) return { kind: "fork", from: await forkPoint(runtime, forkFrom), ...given };
  if (session === undefined) return { kind: "new" };
  if (mustExist === "must exist") return { kind: "known", id: await addressOf(runtime, session) };
  const { id, warning } = await addressOrNew(runtime, session);
  if (warning !== undefined) process.stderr.write(`pawl: ${warning}\n`);
  return id === undefined ? { kind: "new", ...given } : { kind: "known", id };
}

/** `facts` are those of a new one. Fails with INVALID_INPUT where a session is there that needs another workspace. */
export async function sessionOf(
  runtime: Runtime,
  target: RunTarget,
  facts: SessionFacts,
): Promise<{ session: Session; isNew: boolean }> {
  const held = await madeOrOpened(runtime, target, facts);
  if (!held.isNew) await refuseOther(held.session, facts.workspace);
  return held;
}

/** What a session needs stands in its first record: a word that changes nothing must not look as if it did. */
export async function refuseOther(session: Session, workspace: string | undefined): Promise<void> {
  const needed = (await session.summary())?.head.workspace;
  if (workspace === undefined || workspace === needed) return;
  const has = needed === undefined ? "needs no workspace" : `needs workspace ${line(needed, 72)}`;
  throw new PawlError(
    "INVALID_INPUT",
    `--workspace ${line(workspace, 72)}: session ${session.id} ${has}, for good; a fork may need another: pawl fork ${session.id} --workspace NAME`,
  );
}

async function madeOrOpened(
  runtime: Runtime,
  target: RunTarget,
  facts: SessionFacts,
): Promise<{ session: Session; isNew: boolean }> {
  if (target.kind === "known") return { session: await openSession(runtime, target.id), isNew: false };
  if (target.kind === "fork")
    return { session: await forkSession(runtime, target.from, target.id, facts), isNew: true };
  const { id } = target;
  try {
    return { session: await createSession(runtime, id, facts), isNew: true };
  } catch (error) {
    // Another process has just made it. One that was deleted is not there, and its id stays taken.
    if (id === undefined || !isPawlError(error, "SESSION_EXISTS") || !(await runtime.store.get(id))) throw error;
    return { session: await openSession(runtime, id), isNew: false };
  }
}

/** A session goes on in its own folder, wherever it is called from: edits in another would be a bad surprise. */
export async function folderOf({ store }: Runtime, target: RunTarget, cwd: string | undefined): Promise<string> {
  const id = target.kind === "known" ? target.id : target.kind === "fork" ? target.from.session : undefined;
  const known = id === undefined ? undefined : (await store.get(id))?.head.cwd;
  if (cwd === undefined && known !== undefined) {
    if (existsSync(known)) return known;
    throw new PawlError("INVALID_INPUT", `the folder of session ${id} is gone: ${known}; name one with --cwd`);
  }
  const folder = workspaceFolder(cwd);
  if (known !== undefined && known !== folder)
    process.stderr.write(`pawl: session ${id} belongs to ${known}; this run works in ${folder}\n`);
  return folder;
}
