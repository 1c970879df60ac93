/**
 * Taking the lease and putting a driver together: settle or take over, then drive, then give the lease back.
 */

import { targetOf } from "../context/target.ts";
import { isPawlError, PawlError } from "../error.ts";
import type { Json, Part } from "../log/event.ts";
import { joinSignals } from "../signal.ts";
import { unsettled } from "../tool/pending.ts";
import type { Feed } from "../view/feed.ts";
import { TurnAbort } from "./abort.ts";
import type { PreparedAgent } from "./agent.ts";
import { type Closing, closeTurn } from "./close.ts";
import { LiveContext } from "./context.ts";
import { drive } from "./drive.ts";
import type { Driver } from "./driver.ts";
import { Inbox } from "./inbox.ts";
import { readJournal } from "./journal.ts";
import { DriverLease } from "./lease.ts";
import { type Follower, Ledger } from "./ledger.ts";
import type { Nudge } from "./nudge.ts";
import { Patience } from "./patience.ts";
import { queueOf } from "./queue.ts";
import { settleDoubtfulCalls } from "./recover.ts";
import { Report, type TurnResult } from "./report.ts";
import type { Runtime } from "./session.ts";
import type { TurnState } from "./state.ts";
import { noCalls } from "./tools.ts";
import { WorkspaceSnapshots } from "./workspace-snapshot.ts";

export type DriveMode =
  /** A new input; an open turn is closed first. `id` makes it idempotent. */
  | { kind: "settle"; input: Part[]; id?: string }
  /** Closes the open turn, and nothing else. */
  | { kind: "close" }
  /** Goes on inside the open turn. */
  | { kind: "take-over" }
  /** Follows the last turn, which did not complete, with one that has no input of its own; an open one is closed first. */
  | { kind: "continue" };

/** What whoever started a drive holds in their hands meanwhile. */
export interface Reins {
  feed: Feed;
  /** Ends the drive. */
  signal: AbortSignal;
  /** Ends a wait. */
  nudge: Nudge;
  /** Ends the drive between two steps, and leaves what is open to the next driver. */
  handover?: AbortSignal;
  /** Turns that the drive may open; default: as long as inputs wait. */
  turns?: number;
}

export async function startDrive(
  runtime: Runtime,
  session: string,
  agent: PreparedAgent,
  mode: DriveMode,
  reins: Reins,
): Promise<TurnResult> {
  const { store, effects, holder } = runtime;
  const { signal } = reins;
  signal.throwIfAborted();
  // The lease before the post: an input that we cannot drive is refused, not left behind.
  const lease = await DriverLease.acquire(store, session, holder, effects);
  const stopped = joinSignals(signal, lease.lost);
  const input = (mode.kind === "settle" ? mode.id : undefined) ?? effects.id("in");
  /** The turn to report on, where no input tells it. While the log of a take-over is read, any turn may be it. */
  let ours = mode.kind === "continue" ? effects.id("t") : undefined;
  const report = new Report(session, ({ turn, inputs }) =>
    mode.kind === "settle" ? inputs.includes(input) : ours === undefined || turn === ours,
  );
  const driver = driverOf(runtime, session, agent, lease, { ...reins, signal: stopped.signal }, [report]);
  const { ledger, inbox } = driver;
  try {
    await ledger.load();
    if (mode.kind === "take-over") ours = interruptedTurn(driver);
    if (mode.kind === "close") ours = openTurnOf(driver);
    if (mode.kind !== "take-over") await settleInterrupted(driver);
    if (mode.kind !== "close") await begin(driver, mode, { input, ours, signal });
    if (mode.kind === "settle" && !report.result) await missed(driver, input, signal);
  } finally {
    stopped.release();
    inbox.close();
    await lease.release().catch(() => {});
  }
  if (report.result) return { ...report.result, ...(driver.returned.length > 0 ? { returned: driver.returned } : {}) };
  signal.throwIfAborted();
  lease.lost.throwIfAborted();
  if (driver.withdrawn.has(input))
    throw new PawlError("WITHDRAWN", `session ${session}: the input ${input} was taken back before a turn claimed it`);
  throw new PawlError("BUG", `session ${session}: the driver ended without an end of its turn`);
}

async function begin(
  driver: Driver,
  mode: Exclude<DriveMode, { kind: "close" }>,
  { input, ours, signal }: { input: string; ours: string | undefined; signal: AbortSignal },
): Promise<void> {
  const { inbox } = driver;
  signal.throwIfAborted();
  if (mode.kind === "settle") await postInput(driver, { id: input, content: mode.input });
  if (mode.kind === "continue" && ours !== undefined) startContinuation(driver, ours);
  inbox.open();
  // Whoever opens a turn reads the mailbox for it.
  if (mode.kind === "take-over") await inbox.refresh();
  await drive(driver);
}

/** Posted before, by whoever died since, it is still there to be claimed, or a turn has had it. */
async function postInput(
  { store, session, lease }: Driver,
  { id, content }: { id: string; content: Part[] },
): Promise<void> {
  // Whoever slept since may no longer drive, and would leave it behind.
  await lease.hold();
  const said = await store.post(session, { id, kind: "input", body: { content: content as unknown as Json } });
  if (said === "accepted") return;
  const before = (await store.mailbox(session)).find((post) => post.id === id);
  if (before && queueOf([before]).waiting[0]?.kind === "prompt") return;
  const why = before
    ? `the id ${id} is that of another post that waits, of kind ${before.kind}; give the input an id of its own`
    : `the input ${id} was posted before, and a turn has claimed it; its log tells what became of it`;
  throw new PawlError("INVALID_INPUT", `session ${session}: ${why}`);
}

function openTurnOf({ ledger, session }: Driver): string {
  const { turn } = ledger.state;
  if (turn) return turn.id;
  throw new PawlError(
    "INVALID_INPUT",
    `session ${session} has no open turn to close; ${nextOf(ledger.state, session)}`,
  );
}

/** Goes on with whatever a claimed session has to do, under the lease of the claim, which stays the caller's to give back. */
export async function driveClaimed(
  runtime: Runtime,
  session: string,
  agent: PreparedAgent,
  lease: DriverLease,
  reins: Reins,
): Promise<void> {
  const stopped = joinSignals(reins.signal, lease.lost);
  const driver = driverOf(runtime, session, agent, lease, { ...reins, signal: stopped.signal }, []);
  const { ledger, inbox } = driver;
  try {
    await ledger.load();
    // A turn that was open at the cut of a fork goes on in the parent, if anywhere.
    if (ledger.state.turn && ledger.state.turn.session !== session) await settleInterrupted(driver);
    inbox.open();
    await inbox.refresh();
    await drive(driver);
  } finally {
    stopped.release();
    inbox.close();
  }
}

/** The signal of its reins says that the drive is to end, or that the lease is lost. */
function driverOf(
  { store, effects, holder }: Runtime,
  session: string,
  agent: PreparedAgent,
  lease: DriverLease,
  { feed, signal, nudge, handover, turns = Number.POSITIVE_INFINITY }: Reins,
  followers: Follower[],
): Driver {
  const abort = new TurnAbort(signal);
  const context = new LiveContext(store, session, targetOf(agent.header));
  const patience = new Patience(effects, feed, agent.pauseMs, signal);
  const ledger = new Ledger({
    ...{ store, session, lease, effects, feed, patience, followers: [context, ...followers] },
    onConsumed: (posts) => inbox.left(posts),
  });
  const inbox = new Inbox(store, session, (turn) => {
    if (ledger.state.turn?.id === turn) abort.abort(new DOMException("the turn was stopped", "AbortError"));
  });
  return {
    session,
    machine: { host: holder.host, boot: holder.boot },
    store,
    effects,
    agent,
    lease,
    ledger,
    context,
    inbox,
    feed,
    abort,
    nudge,
    handover,
    turnsLeft: turns,
    running: noCalls,
    snapshots: new WorkspaceSnapshots(),
    returned: [],
    handingBack: [],
    withdrawn: new Set(),
  };
}

/** Also where a fork was cut inside a turn of its parent there is none: that one goes on in the parent, if anywhere. */
function interruptedTurn({ ledger, session }: Driver): string {
  const { turn } = ledger.state;
  if (turn?.session === session) return turn.id;
  throw new PawlError(
    "INVALID_INPUT",
    `session ${session} has no interrupted turn to resume; ${nextOf(ledger.state, session)}`,
  );
}

function nextOf({ last }: TurnState, session: string): string {
  const input = `give it an input with \`pawl run --session ${session}\``;
  if (!last || last.outcome.type === "completed") return input;
  return `its last turn ended as ${last.outcome.type}: follow it with \`pawl continue ${session}\`, or ${input}`;
}

/** The first step and attempt are in the same batch: a crash leaves no turn behind that has done nothing. */
function startContinuation({ ledger, session }: Driver, turn: string): void {
  const { last } = ledger.state;
  if (last && last.outcome.type !== "completed") {
    ledger.stage({ type: "turn.started", turn, inputs: [], continues: last.turn });
    return;
  }
  const why = last ? `its last turn completed` : "it has no turn yet";
  throw new PawlError(
    "INVALID_INPUT",
    `session ${session} has nothing to continue: ${why}; give it an input with \`pawl run --session ${session}\``,
  );
}

/** No turn of ours has had the input: it was stopped or taken back, or whoever took over while we slept has had it. */
async function missed(driver: Driver, input: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return withdraw(driver, input).catch(() => {});
  const { store, session, lease, withdrawn } = driver;
  if (withdrawn.has(input) || lease.lost.aborted) return;
  // There was nothing to append: no fence has told us, and what the lease has asked may still be without an answer.
  if ((await store.get(session))?.epoch === lease.epoch) return;
  const words = `session ${session}: another process took over and has had the input ${input}; the log tells what became of it`;
  lease.lose(new PawlError("FENCED", words));
}

/** Stopped before a turn claimed it: whoever posted it wants it no longer. */
async function withdraw({ ledger, store, session }: Driver, input: string): Promise<void> {
  if (!(await store.mailbox(session)).some(({ id }) => id === input)) return;
  ledger.consume(input);
  ledger.stage({
    type: "note.recorded",
    about: input,
    text: "the run that posted it was stopped before its turn began",
  });
  await ledger.commit();
}

/** Closes what a dead driver, or the parent of a fork, left open. */
async function settleInterrupted(driver: Driver): Promise<void> {
  const { ledger, store, session } = driver;
  const { turn } = ledger.state;
  if (!turn) return;
  // What the parent of a fork has entered is under way there; only our own calls are ours to look after.
  const doubtful = turn.session === session && turn.step ? unsettled(turn.step.calls) : [];
  await settleDoubtfulCalls(driver, doubtful, "closes");
  const attempt = turn.step?.attempt?.attempt;
  const proven = attempt === undefined ? {} : { fragment: readJournal(await store.readPartial(session), attempt) };
  const close = (rest: Pick<Closing, "fragment">) => {
    for (const event of closeTurn(ledger.state, { outcome: { type: "interrupted" }, ...rest })) ledger.stage(event);
    return ledger.commit();
  };
  try {
    await close(proven);
  } catch (error) {
    if (!isPawlError(error, "INVALID_EVENT")) throw error;
    // A fragment that no record can hold must not bar the session.
    await ledger.load();
    await close({});
  }
}
