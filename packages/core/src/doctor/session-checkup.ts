/**
 * One session under the doctor: what its log lacks, which laws it breaks, and the repair that lets it be driven again.
 *
 * Owns: findings about a session, `log.repaired`, closing what a hole has left open. Does not own: reading past damage
 * (log/salvage), closing (turn/close). Invariants:
 * 1. Looking writes nothing. A repair holds the lease, and is one batch: what it says and what it closes belong together.
 * 2. No tool runs. A call without a result before a hole is TOOL_OUTCOME_UNKNOWN: its entry or its result may be lost.
 * 3. What a newer version wrote is no damage and is never mended.
 */
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { encode } from "../log/codec.ts";
import type { LogEntry } from "../log/envelope.ts";
import type { LogEvent } from "../log/event.ts";
import { type Hole, markHoles } from "../log/salvage.ts";
import type { Verdict } from "../log/verify.ts";
import { type Finding, good, note, wrong } from "../store/finding.ts";
import { noSession } from "../store/refusal.ts";
import { surveyLog } from "../store/survey.ts";
import { unsettled } from "../tool/pending.ts";
import { closeTurn } from "../turn/close.ts";
import { readJournal } from "../turn/journal.ts";
import { headOf } from "../turn/ledger.ts";
import { lostId } from "../turn/lost-start.ts";
import type { Runtime } from "../turn/session.ts";
import { type TurnState, turnFold } from "../turn/state.ts";
import { verify } from "../turn/verify.ts";

export interface SessionCheckup {
  session: string;
  findings: Finding[];
  holes: Hole[];
  verdicts: Verdict[];
}

/** What is wrong with a session; with `repair`, what was done about it. SESSION_NOT_FOUND, SESSION_BUSY on repair. */
export async function checkSession(
  runtime: Runtime,
  session: string,
  { repair = false } = {},
): Promise<SessionCheckup> {
  const { entries, holes } = await readAll(runtime, session);
  const verdicts = verify(entries);
  const findings = holes.map(holeFinding);
  for (const { law, title, violations } of verdicts) {
    const [first] = violations;
    const more = violations.length > 1 ? ` and ${violations.length - 1} more` : "";
    if (first)
      findings.push(wrong(`session ${session} breaks ${law} (${title}), at ${first.seq}: ${first.message}${more}`));
  }
  const open = holes.filter((hole) => hole.kind === "damaged" && !hole.mended);
  if (repair && open.length > 0) {
    findings.push(...(await repairSession(runtime, session)));
    for (const finding of findings) if (finding.remedy !== undefined) finding.done = true;
  }
  if (findings.length === 0)
    findings.push(good(`session ${session}: ${entries.length} events, all as they were written`));
  return { session, findings, holes, verdicts };
}

function holeFinding(hole: Hole): Finding {
  if (hole.kind === "newer") return note(`${hole.reason}, needs a newer Pawl; update to drive it`);
  if (hole.mended) return note(`${hole.reason}; mended before`);
  const doubt = hole.mayHoldTools ? "calls or results may be lost" : "no call and no result is lost";
  return { ...wrong(`${hole.reason}; ${doubt}`), remedy: "record the repair, and close what was open" };
}

/** The readable entries with a mark in the place of each hole. */
async function readAll(
  { store }: Runtime,
  session: string,
): Promise<{ entries: LogEntry[]; holes: Hole[]; openTurn: string | undefined }> {
  const summary = await store.get(session);
  if (!summary) throw noSession(session);
  const entries: LogEntry[] = [];
  const holes = await surveyLog(store, session, summary.seq, (entry) => entries.push(entry));
  return { entries: markHoles({ entries, holes }), holes, openTurn: summary.head.openTurn };
}

async function repairSession(runtime: Runtime, session: string): Promise<Finding[]> {
  const { store, effects, holder } = runtime;
  const lease = await store.acquireLease(session, holder, limit.leaseMs);
  if (!lease.granted) {
    const { pid, host } = lease.held.holder;
    throw new PawlError(
      "SESSION_BUSY",
      `session ${session} is driven by process ${pid} on ${host}; end it, then repair`,
    );
  }
  const { epoch } = lease;
  try {
    // Read again, now that nobody else writes.
    const { entries, holes, openTurn } = await readAll(runtime, session);
    if (holes.some(({ kind }) => kind === "newer")) {
      throw new PawlError("SESSION_READ_ONLY", `session ${session} holds records of a newer Pawl; update, then repair`);
    }
    const state = foldOverHoles(entries);
    if (state.turn?.id === lostId) state.turn.id = openTurn ?? lostId;
    const doubtful = state.turn?.step ? unsettled(state.turn.step.calls).length : 0;
    const closed = state.turn?.id;
    const events = [...repairs(holes), ...(await closing(runtime, session, state))];
    const at = { session, epoch, expectedSeq: lease.seq };
    const records = encode(events, { ...at, time: effects.clock.now() });
    const head = headOf(events.reduce((now, event, index) => turnFold.step(now, entryOf(event, at, index)), state));
    await store.append({ ...at, records, head });
    const what = closed === lostId ? "a turn whose id is lost" : `turn ${closed}`;
    const done = closed === undefined ? [] : [note(`closed ${what}, ${doubtful} calls without a result`)];
    return done.map((finding) => ({ ...finding, done: true }));
  } finally {
    await store.releaseLease(session, epoch);
  }
}

function repairs(holes: readonly Hole[]): LogEvent[] {
  return holes
    .filter((hole) => !hole.mended)
    .map(({ reason, from, to }) => ({ type: "log.repaired", reason, from, to }));
}

async function closing({ store }: Runtime, session: string, state: TurnState): Promise<LogEvent[]> {
  const attempt = state.turn?.step?.attempt?.attempt;
  const proven = attempt === undefined ? {} : { fragment: readJournal(await store.readPartial(session), attempt) };
  return closeTurn(state, { outcome: { type: "interrupted" }, ...proven });
}

/**
 * As the driver folds it. Fails with SESSION_READ_ONLY for what no hole explains: such a log was not written by a driver, and
 * what it means is not ours to guess.
 */
function foldOverHoles(entries: readonly LogEntry[]): TurnState {
  let state = turnFold.init();
  for (const entry of entries) {
    if (entry.event.type === "turn.started" && state.turn && !state.holed)
      throw unordered(entry.session, entry.seq, state.turn.id);
    state = turnFold.step(state, entry);
  }
  return state;
}

function unordered(session: string, seq: number, open: string): PawlError {
  const what = `session ${session}: a turn starts at ${seq} while turn ${open} is open, and nothing is missing between them`;
  return new PawlError(
    "SESSION_READ_ONLY",
    `${what}; it cannot be mended: read it, export it, or fork it at ${seq - 1}`,
  );
}

function entryOf(
  event: LogEvent,
  at: { session: string; epoch: number; expectedSeq: number },
  index: number,
): LogEntry {
  return { session: at.session, seq: at.expectedSeq + 1 + index, epoch: at.epoch, time: 0, event };
}
