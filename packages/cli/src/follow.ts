/**
 * `pawl follow`: a session that another process drives, as that process shows it.
 *
 * It only reads: leaving it, or killing it, is nothing to the session.
 */
import {
  isTaskSession,
  type LogEntry,
  openSession,
  PawlError,
  type Runtime,
  type Session,
  type SessionSummary,
} from "@pawl/core";
import { addressOf, calledBy } from "./address.ts";
import { DriverWatch, isIdle } from "./driver-watch.ts";
import { type FollowScreen, personScreen, programScreen } from "./follow-screen.ts";
import { commandLine, lastModel } from "./next-command.ts";
import { line } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";

export interface FollowOptions extends VisitOptions {
  after?: number;
  forever?: boolean;
}

/** What is followed, and from where. */
interface Followed {
  session: Session;
  /** How whoever follows calls it. */
  called: string;
  summary: SessionSummary;
  /** Somebody has posted what no turn has claimed: a worker will, and that turn is waited for. */
  waits: boolean;
  /** What was recorded when this began. */
  entries: LogEntry[];
  after: number;
  leaving: AbortController;
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function followSession(address: string, options: FollowOptions): Promise<number> {
  return visitStore(options, async (runtime) => {
    const leaving = new AbortController();
    const leave = () => leaving.abort();
    // A second one ends the process at once, as it ends any other: there is nothing to tidy up.
    for (const signal of signals) process.once(signal, leave);
    try {
      await follow(await followedOf(runtime, address, options, leaving), options);
      return 0;
    } finally {
      for (const signal of signals) process.off(signal, leave);
    }
  });
}

async function followedOf(
  runtime: Runtime,
  address: string,
  options: FollowOptions,
  leaving: AbortController,
): Promise<Followed> {
  const session = await openSession(runtime, await addressOf(runtime, address));
  // In this order: what is recorded in between is read twice by nobody, and missed by nobody.
  const entries = await session.entries();
  const waits = (await session.queue()).length > 0;
  const summary = (await session.summary()) ?? {
    session: session.id,
    seq: 0,
    epoch: 0,
    createdAt: 0,
    updatedAt: 0,
    head: {},
  };
  const after = options.after ?? beginOf(entries, summary, waits);
  if (after > summary.seq) {
    const what = `--after ${after}: session ${session.id} has records 1 to ${summary.seq}; 0 is from the start`;
    throw new PawlError("INVALID_INPUT", what);
  }
  return { session, called: await calledBy(runtime, address, session.id), summary, waits, entries, after, leaving };
}

/** Ahead of the open turn and of what it was given; where none is open, the end, or where a turn of what waited may have begun. */
function beginOf(entries: readonly LogEntry[], { head, seq }: SessionSummary, waits: boolean): number {
  const turn = entries.find(({ event }) => event.type === "turn.started" && event.turn === head.openTurn);
  if (!turn) return head.openTurn === undefined && !waits ? seq : (entries.at(-1)?.seq ?? 0);
  const inputs = turn.event.type === "turn.started" ? turn.event.inputs : [];
  const first = entries.find(({ event }) => event.type === "input.accepted" && inputs.includes(event.input));
  return Math.min(turn.seq, first?.seq ?? turn.seq) - 1;
}

/** Whether the entry is the last one to be shown, of a session that was as `summary` says. */
function isLast({ event, seq }: LogEntry, { summary, waits, entries }: Followed): boolean {
  const { head } = summary;
  // What waited may have been done before the summary was read.
  const known = waits ? (entries.at(-1)?.seq ?? 0) : summary.seq;
  if (head.openTurn !== undefined) return event.type === "turn.ended" && event.turn === head.openTurn;
  return isIdle(summary) && !waits ? seq >= known : event.type === "turn.ended" && seq > known;
}

async function follow(followed: Followed, options: FollowOptions): Promise<void> {
  const { session, summary, waits, entries, after, leaving } = followed;
  let driver: DriverWatch | undefined;
  const before = entries.filter(({ seq }) => seq <= after);
  const answer = commandLine(["answer", followed.called, "yes"], [["--store", options.store]]);
  const screen = options.json ? programScreen() : personScreen(before, () => driver?.driver, answer);
  const title = summary.head.title === undefined ? "" : `: ${line(summary.head.title, 72)}`;
  screen.say("quiet", `following session ${session.id}${title}`);
  driver = driverOf(followed, options, screen);
  try {
    if (isIdle(summary) && !waits && after >= summary.seq && !options.forever) return sayIdle(screen, summary);
    if (isIdle(summary) && waits) screen.say("quiet", "what was posted waits for a worker, or for whoever drives it");
    driver.start();
    for await (const item of session.watch({ after, signal: leaving.signal })) {
      driver.heard(item.type === "entry" && item.entry.session === session.id ? item.entry.epoch : 0);
      screen.show(item);
      if (!options.forever && item.type === "entry" && isLast(item.entry, followed)) return;
    }
  } finally {
    driver.stop();
    screen.end();
  }
}

function driverOf(
  { session, called, summary, entries, leaving }: Followed,
  options: FollowOptions,
  screen: FollowScreen,
) {
  const resume = commandLine(
    ["resume", called],
    [
      ["--model", lastModel(entries)],
      ["--store", options.store],
    ],
  );
  return new DriverWatch(
    {
      look: () => session.summary(),
      news({ driver, said }) {
        if (!said) return;
        screen.say(said.tone, said.text);
        const where = driver.waits ? ", on a machine that has it" : "";
        // No worker is given a task.
        const goOn = isTaskSession(session.id) ? "To go on inside the turn" : "A worker goes on inside the turn, or";
        if (driver.isLeft) screen.command(`  ${goOn}${where}: ${resume}`);
      },
      idle: () => void (options.forever ? undefined : leaveIdle(session, leaving)),
    },
    summary,
  );
}

/** Not while something waits for a worker. */
async function leaveIdle(session: Session, leaving: AbortController): Promise<void> {
  if ((await session.queue().catch(() => [])).length === 0) leaving.abort();
}

function sayIdle(screen: FollowScreen, { head }: SessionSummary): void {
  const last = head.outcome === undefined ? "it has no turn yet" : `its last turn ended as ${head.outcome}`;
  screen.say("quiet", `no turn is open, ${last}; --forever waits for the next, --after 0 shows all there was`);
}
