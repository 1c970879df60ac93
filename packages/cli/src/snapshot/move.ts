/**
 * An undo or a redo under way: files go to another state, and the conversation to another session.
 *
 * Invariants:
 * 1. What the files were is kept, and what is to be done is written down, before anything is changed.
 * 2. Files first, then the conversation. Each part may be done again: whoever finds a move that was cut short finishes it.
 * 3. Meanwhile nobody drives the session that is left.
 */
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { forkSession, type Runtime, rewindSession, type SessionFacts } from "@pawl/core";
import { holdIdle } from "../idle-session.ts";
import { type Problem, planFor, restore } from "./restore.ts";
import type { RestorePlan } from "./restore-plan.ts";
import { Shadow, writeWhole } from "./shadow.ts";

/** A place to come back to: a session, and what the files were when it was left. */
export interface Departure {
  session: string;
  commit: string;
}

export interface Move {
  kind: "undo" | "redo";
  state: "begun" | "done";
  /** The session that is left. */
  from: string;
  /** Its last record when the move began. */
  head: number;
  /** The session that goes on. */
  to: string;
  /** What `to` begins with. */
  cut: { session: string; seq: number };
  /** Moves from `from` to `to`. */
  name?: string;
  facts: SessionFacts;
  /** What the files become; absent: they stay. */
  commit?: string;
  /** Where a redo in `to` leads; absent: nowhere. */
  back?: Departure;
}

function movesFolder(shadow: Shadow): string {
  return join(shadow.dir, "moves");
}

export interface Known {
  shadow: Shadow;
  move: Move;
}

/** The move that led to a session. */
export async function moveTo(base: string, session: string): Promise<Known | undefined> {
  return (await movesIn(base)).find(({ move }) => move.to === session);
}

/** The move from or to a session that was cut short. */
export async function openMove(runtime: Runtime, base: string, session: string): Promise<Known | undefined> {
  for (const known of await movesIn(base))
    if ([known.move.from, known.move.to].includes(session) && (await isOpen(runtime, known.move))) return known;
  return undefined;
}

async function movesIn(base: string): Promise<Known[]> {
  const moves: Known[] = [];
  for (const key of await readdir(base).catch(() => [])) {
    const shadow = await Shadow.at(base, key);
    if (!shadow) continue;
    for (const file of await readdir(movesFolder(shadow)).catch(() => [])) {
      if (!file.endsWith(".json")) continue;
      moves.push({ shadow, move: JSON.parse(await readFile(join(movesFolder(shadow), file), "utf8")) as Move });
    }
  }
  return moves;
}

/** One that was begun counts as long as the session it leaves has not gone on: then it is no longer what anybody meant. */
async function isOpen({ store }: Runtime, { state, from, to, head }: Move): Promise<boolean> {
  if (state !== "begun") return false;
  return (await store.get(to)) !== undefined || (await store.get(from))?.seq === head;
}

export interface Moved {
  plan: RestorePlan;
  problems: Problem[];
}

/** Does it, or finishes it. With problems the conversation stays where it is, and the move open. Fails with SESSION_BUSY. */
export async function perform(runtime: Runtime, shadow: Shadow, move: Move): Promise<Moved> {
  await write(shadow, move);
  const release = await holdIdle(runtime, move.from);
  let moved: Moved;
  try {
    moved = await restoreFiles(shadow, move);
  } finally {
    await release();
  }
  if (moved.problems.length > 0) return moved;
  await branch(runtime, move);
  await write(shadow, { ...move, state: "done" });
  return moved;
}

async function restoreFiles(shadow: Shadow, { commit }: Move): Promise<Moved> {
  if (commit === undefined) return { plan: { remove: [], write: [], spared: [] }, problems: [] };
  const plan = await planFor(shadow, await shadow.keep(), await shadow.read(commit));
  return { plan, problems: await restore(shadow, plan) };
}

async function branch(runtime: Runtime, { kind, from, to, cut, name, facts }: Move): Promise<void> {
  const { store } = runtime;
  const isThere = (await store.get(to)) !== undefined;
  const named = name !== undefined && (await store.resolveName(name)) === from ? name : undefined;
  if (!isThere && kind === "undo") {
    await rewindSession(runtime, cut, { id: to, facts, ...(named === undefined ? {} : { name: named }) });
    return;
  }
  if (!isThere) await forkSession(runtime, cut, to, facts);
  if (named !== undefined) await store.setName(named, to, from);
}

async function write(shadow: Shadow, move: Move): Promise<void> {
  await mkdir(movesFolder(shadow), { recursive: true });
  await writeWhole(join(movesFolder(shadow), `${move.to}.json`), JSON.stringify(move));
}
