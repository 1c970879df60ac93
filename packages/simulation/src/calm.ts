/**
 * The faults have stopped: what rare things have left behind comes to an end, too. Workers finish what waits and go home, holes
 * are refused, read around and mended, watchers have seen everything.
 */
import { checkSession, exportSession, forkSession, isPawlError, isTaskSession, Session, type Store } from "@pawl/core";
import type { Fate } from "./fate.ts";
import type { People } from "./people.ts";
import type { Referee } from "./referee.ts";
import type { World } from "./world.ts";

export interface Stage {
  world: World;
  town: People;
  referee: Referee;
  store: Store;
  fate: Fate;
  /** Lets the world turn until `done`, or as long as that may take. */
  until(done: () => boolean): Promise<void>;
}

/** Longer than a lease that nobody gives back. */
export const patienceMs = 20_000;
/** A worker asks this often at least; a lease and a question may have to run out before. */
const looks = 60;

/** Time passes. */
export async function pass({ world, until }: Pick<Stage, "world" | "until">, ms: number): Promise<void> {
  let passed = false;
  world.after(ms, "patience", () => {
    passed = true;
  });
  await until(() => passed);
}

/** Something that is done in some process; undefined: it has no end. */
async function ended<T>({ until }: Stage, doing: Promise<T>): Promise<{ value: T } | { error: unknown } | undefined> {
  let end: { value: T } | { error: unknown } | undefined;
  doing.then(
    (value) => {
      end = { value };
    },
    (error: unknown) => {
      end = { error };
    },
  );
  await until(() => end !== undefined);
  return end;
}

/** Without anybody else, workers end what is open and drive what waits; then they are drained. */
export async function workersFinish(stage: Stage): Promise<void> {
  const { town, referee, fate } = stage;
  const { crew } = fate;
  if (!crew) return;
  if (crew.isEmpty) town.newProcess();
  let busy: string[] = [];
  for (let look = 0; look < looks; look += 1) {
    busy = await withWork(stage);
    if (busy.length === 0) break;
    await pass(stage, patienceMs / 4);
  }
  for (const session of busy) referee.breach("L6", session, "workers leave something open, or waiting");
  town.onProcess = () => {};
  const drained = await ended(stage, crew.drainAll());
  if (!drained) referee.breach("L6", "", "workers are drained without an end");
}

async function withWork({ referee, store, town }: Stage): Promise<string[]> {
  const busy: string[] = [];
  const [process] = town.processes;
  if (!process) return busy;
  for (const session of referee.sessions) {
    // A task is driven from inside its call; where that is over, it stands still until somebody drives it by its id.
    if (referee.witness.isHoled(session) || isTaskSession(session)) continue;
    const open = (await store.get(session))?.head.openTurn !== undefined;
    // As anybody sees it, and without a call that takes time.
    const queue = await new Session({ ...process.runtime, store }, session).queue();
    // A steer alone waits for a turn to steer.
    if (open || queue.some(({ kind }) => kind === "prompt")) busy.push(session);
  }
  return busy;
}

/** A session with a hole is not driven; it is read, carried elsewhere, forked before the hole; and then mended. */
export async function mended(
  stage: Stage,
  session: string,
  takesInput: (session: string) => Promise<void>,
): Promise<void> {
  const { town, referee, store } = stage;
  const { witness } = referee;
  // A call of a dead process may still delete it.
  const isGone = () => !referee.sessions.includes(session);
  if (!witness.isHoled(session) || isGone()) return;
  const process = town.newProcess();
  const drive = town.drive(process, session, "run", "into the hole");
  await stage.until(() => drive.over);
  if (isGone()) return process.crash();
  // Somebody who was under way may have mended it meanwhile.
  if (drive.completed && witness.isHoled(session)) referee.breach("L3", session, "a turn completes behind a hole");
  const good = referee.entries(session).filter((entry) => !witness.damage?.isRotten(entry)).length;
  let lines = 0;
  for await (const line of exportSession(store, session)) lines += "checksum" in JSON.parse(line) ? 1 : 0;
  if (lines !== good) referee.breach("L3", session, `of ${good} good records an export has ${lines}`);
  const seq = witness.beforeHoles(session);
  if (seq > 0) {
    const forked = await ended(stage, forkSession(process.runtime, { session, seq }));
    if (forked && "value" in forked) await takesInput(forked.value.id);
    else if (!isGone()) referee.breach("L3", session, `it cannot be forked before its hole: ${String(forked?.error)}`);
  }
  for (let left = 8; left > 0 && witness.isHoled(session) && !isGone(); left -= 1) {
    const checked = await ended(stage, checkSession(process.runtime, session, { repair: true }));
    if (checked && "error" in checked && !isPawlError(checked.error, "SESSION_BUSY") && !isGone()) {
      referee.breach("error", session, `the doctor: ${String((checked.error as Error).stack ?? checked.error)}`);
      break;
    }
    if (witness.isHoled(session)) await pass(stage, patienceMs);
  }
  if (witness.isHoled(session) && !isGone()) referee.breach("L3", session, "the doctor leaves a hole");
  process.crash();
}

/** Every watcher has been told everything. */
export async function watchersSee(stage: Stage): Promise<void> {
  const { referee, fate, until } = stage;
  for (const watcher of fate.watchers) {
    const { session } = watcher;
    const last = () => referee.entries(session).at(-1)?.seq ?? 0;
    const excused = () => referee.witness.wasHoled(session) || !referee.sessions.includes(session);
    await until(() => excused() || watcher.failed !== undefined || watcher.seq >= last());
    if (watcher.failed !== undefined && !excused())
      referee.breach("error", session, `a watcher met ${String(watcher.failed)}`);
    else if (!excused() && watcher.seq < last())
      referee.breach("L3", session, `a watcher is told ${watcher.seq} of ${last()} records`);
    watcher.stop();
  }
}
