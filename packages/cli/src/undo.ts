/** `pawl undo` and `pawl redo`: files and conversation go back together, and come back together. */
import { hostname } from "node:os";
import { type LogEntry, PawlError, type Runtime, type SessionFacts } from "@pawl/core";
import { addressOf } from "./address.ts";
import { type ConsentOptions, consented, demandConsent } from "./consent.ts";
import { exitOfOutcome } from "./exit.ts";
import { demandIdle } from "./idle-session.ts";
import { latestHere } from "./latest.ts";
import { leftJobWords } from "./left-jobs.ts";
import { storeFolder, storeLocation, storePlaces } from "./place.ts";
import { readable } from "./readable.ts";
import { type Move, type Moved, moveTo, openMove, perform } from "./snapshot/move.ts";
import { planFor } from "./snapshot/restore.ts";
import type { RestorePlan } from "./snapshot/restore-plan.ts";
import { Shadow } from "./snapshot/shadow.ts";
import { parseSnapshotId } from "./snapshot/snapshot-id.ts";
import { type UndoPoint, undoPoint } from "./snapshot/undo-point.ts";
import { describeMove, tellMoved, warn } from "./undo-words.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

export type UndoOptions = VisitOptions & ConsentOptions;

/** A move as it is asked for: what the files become and what they are now is worked out when it is shown. */
export interface Plan {
  shadow: Shadow;
  move: Omit<Move, "state" | "back" | "head">;
  /** Where a redo leads, besides what the files are now. */
  back: "here" | Move["back"];
  /** `turn 3`, `step 2 of turn 3`. */
  what: string;
  later: number;
}

export function undo(address: string | undefined, step: string | undefined, options: UndoOptions): Promise<number> {
  return moving("undo", address, options, async (runtime, session, entries) => {
    const point = undoPoint(session, entries, step);
    const summary = await runtime.store.get(session);
    const { title, cwd } = summary?.head ?? {};
    const facts: SessionFacts = { ...(title === undefined ? {} : { title }), ...(cwd === undefined ? {} : { cwd }) };
    const { shadow, commit } = await filesOf(options, point, cwd);
    const names = summary?.names ?? [];
    const name = address !== undefined && names.includes(address) ? address : names.length === 1 ? names[0] : undefined;
    const move: Plan["move"] = {
      kind: "undo",
      from: session,
      to: runtime.effects.id("s"),
      cut: { session, seq: point.seq },
      ...(name === undefined ? {} : { name }),
      facts,
      ...(commit === undefined ? {} : { commit }),
    };
    const what = point.step === 1 ? `turn ${point.turn}` : `turn ${point.turn} from its step ${point.step} on`;
    return { shadow, move, back: "here", what, later: point.later };
  });
}

export function redo(address: string | undefined, options: UndoOptions): Promise<number> {
  return moving("redo", address, options, async (runtime, session, entries) => {
    const last = await moveTo(storePlaces(options.store).snapshots, session);
    const back = last?.move.back;
    if (!last || !back)
      throw new PawlError(
        "INVALID_INPUT",
        `session ${session} is not the outcome of an undo${whereUndone(options.store)}: there is nothing to redo`,
      );
    const { store } = runtime;
    const origin = await store.get(back.session);
    if (!origin)
      throw new PawlError("SESSION_NOT_FOUND", `session ${back.session}, which was undone, has been deleted`);
    const names = (await store.get(session))?.names ?? [];
    const [name] = last.move.name !== undefined && names.includes(last.move.name) ? [last.move.name] : names;
    const before = await moveTo(storePlaces(options.store).snapshots, back.session);
    const move: Plan["move"] = {
      kind: "redo",
      from: session,
      to: runtime.effects.id("s"),
      cut: { session: back.session, seq: origin.seq },
      ...(name === undefined ? {} : { name }),
      facts: last.move.facts,
      commit: back.commit,
    };
    const own = entries.filter(({ session: of, event }) => of === session && event.type === "turn.started").length;
    // What was undone before that can be redone from there, too.
    return {
      shadow: last.shadow,
      move,
      back: before?.move.back,
      what: `what was undone of session ${back.session}`,
      later: own,
    };
  });
}

async function moving(
  kind: Move["kind"],
  address: string | undefined,
  options: UndoOptions,
  planOf: (runtime: Runtime, session: string, entries: LogEntry[]) => Promise<Plan>,
): Promise<number> {
  demandConsent(`${kind} changes files and conversation`, options);
  return visitStore(options, async (runtime) => {
    const session = address === undefined ? await latestHere(runtime) : await addressOf(runtime, address);
    const open = await openMove(runtime, storePlaces(options.store).snapshots, session);
    if (open) return finish(runtime, open, options);
    const { entries, damage } = await readable(runtime, session);
    if (damage) throw damage;
    const plan = await planOf(runtime, session, entries);
    const { shadow, move } = plan;
    await demandIdle(runtime, session, shadow.folder);
    const files = await filesPlan(shadow, move.commit);
    for (const words of await leftJobWords(storeFolder(options.store), shadow.folder)) warn(words);
    if (!options.json) describeMove(plan, files);
    if (!(await consented(kind === "undo" ? "Undo it?" : "Redo it?", options))) return declined();
    // Again: while a person thinks, files may change. This is what a redo brings back.
    const now = await shadow.commit(await shadow.keep(), `${session}/${kind}-${move.to}`);
    const back = plan.back === "here" ? { session, commit: now } : plan.back;
    const head = (await runtime.store.get(session))?.seq ?? 0;
    const whole: Move = { ...move, head, state: "begun", ...(back ? { back } : {}) };
    return told(await perform(runtime, shadow, whole), shadow, whole, options);
  });
}

/** A move that was cut short is finished before anything else: half of it is no state that anybody wants. */
async function finish(
  runtime: Runtime,
  { shadow, move }: { shadow: Shadow; move: Move },
  options: UndoOptions,
): Promise<number> {
  if (!options.json) {
    process.stderr.write(`the ${move.kind} of session ${move.from} was cut short; this finishes it\n`);
    describeMove({ shadow, move, back: move.back, what: "", later: 0 }, await filesPlan(shadow, move.commit));
  }
  if (!(await consented("Finish it?", options))) return declined();
  // Nobody says when it was cut short, and what has been done to the files since.
  await shadow.commit(await shadow.keep(), `${move.from}/finish-${move.to}`);
  return told(await perform(runtime, shadow, move), shadow, move, options);
}

function declined(): number {
  process.stderr.write("nothing was changed\n");
  return exitOfOutcome("aborted");
}

function told(moved: Moved, shadow: Shadow, move: Move, options: UndoOptions): number {
  tellMoved(moved, shadow, move, options);
  return moved.problems.length > 0 ? exitOfOutcome("failed") : 0;
}

async function filesPlan(shadow: Shadow, commit: string | undefined): Promise<RestorePlan> {
  if (commit === undefined) return { remove: [], write: [], spared: [] };
  return planFor(shadow, await shadow.keep(), await shadow.read(commit));
}

/** The shadow that a snapshot is in; of a point without one, that of the session's folder. */
export async function filesOf(
  options: VisitOptions,
  { snapshot, host }: Pick<UndoPoint, "snapshot" | "host">,
  cwd: string | undefined,
): Promise<{ shadow: Shadow; commit?: string }> {
  const base = storePlaces(options.store).snapshots;
  if (snapshot === undefined) {
    if (cwd !== undefined) return { shadow: await Shadow.of(base, cwd) };
    throw new PawlError(
      "INVALID_INPUT",
      "no file has changed since that step; `pawl rewind` takes back the conversation",
    );
  }
  const id = parseSnapshotId(snapshot);
  const shadow = id && (await Shadow.at(base, id.key));
  if (host !== undefined && host !== hostname() && !(id && (await shadow?.has(id.commit)))) throw elsewhere(host);
  if (!id || !shadow)
    throw new PawlError(
      "NOT_SUPPORTED",
      `what the folder held before that step was not kept in ${base}: it is where it was taken, on another machine or under another data folder; pawl rewind takes back the conversation alone`,
    );
  return { shadow, commit: id.commit };
}

/** What an undo led to is remembered where the files are. */
function whereUndone(store: string | undefined): string {
  return storeLocation(store).kind === "folder" ? "" : " that was done on this machine";
}

/** Files and what they were are on one machine; the conversation is wherever the store is. */
function elsewhere(host: string): PawlError {
  const what = `the files of this step are on ${host}, and so is what they were; this is ${hostname()}`;
  return new PawlError(
    "NOT_SUPPORTED",
    `${what}. Do it there, or take back the conversation alone with \`pawl rewind\``,
  );
}
