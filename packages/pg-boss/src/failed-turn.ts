/**
 * Turns that did not complete, as jobs of a queue: for whoever wants to look at them, or to be told.
 *
 * Owns: which turns, and that each is sent once. Invariants:
 * 1. What is sent is read from the store, not heard from a driver: a turn whose process died is not missed.
 * 2. The job's id comes from session and seq of the turn's end: looking again sends nothing twice, as long as the queue keeps
 *    its jobs. Of a session only the last turn is looked at, so look more often than its people go on after a failure.
 */
import { hash } from "node:crypto";
import { type LogEntry, type OutcomeType, type Runtime, Session, type SessionSummary } from "@pawl/core";
import type { PgBoss } from "pg-boss";

export interface FailedTurnOptions {
  boss: PgBoss;
  runtime: Runtime;
  /** Made by you, with what it keeps and for how long; default `pawl-failed-turns`. */
  queue?: string;
  /** How far back sessions are looked at, ms; default a day. */
  withinMs?: number;
  /** Default: all but `completed` and `aborted`. */
  isFailed?(outcome: OutcomeType): boolean;
}

/** The data of such a job. */
export interface FailedTurn {
  session: string;
  /** Of the turn's end in the log. */
  seq: number;
  outcome: string;
  /** Absent where the log cannot be read. */
  turn?: string;
  /** The kind of failure and its words, where there was one. */
  failure?: { kind: string; message: string };
  title?: string;
}

const dayMs = 86_400_000;
/** Behind a turn's end come notes at most. */
const tailRecords = 50;

/** Sends those that were not sent yet. Resolves with how many. */
export async function sendFailedTurns(options: FailedTurnOptions): Promise<number> {
  const { boss, runtime, queue = "pawl-failed-turns", withinMs = dayMs, isFailed = isUnfinished } = options;
  const since = runtime.effects.clock.now() - withinMs;
  let sent = 0;
  for await (const summary of recent(runtime, since)) {
    const { outcome } = summary.head;
    if (outcome === undefined || !isFailed(outcome as OutcomeType)) continue;
    const turn = await failedTurn(runtime, summary);
    if (turn && (await boss.send(queue, turn, { id: jobId(turn) }))) sent += 1;
  }
  return sent;
}

function isUnfinished(outcome: OutcomeType): boolean {
  return outcome !== "completed" && outcome !== "aborted";
}

async function* recent({ store }: Runtime, since: number): AsyncGenerator<SessionSummary, void> {
  for (let page = await store.list(); page.length > 0; ) {
    for (const summary of page) {
      if (summary.updatedAt < since) return;
      yield summary;
    }
    const last = page.at(-1);
    page = last ? await store.list({ cursor: { updatedAt: last.updatedAt, session: last.session } }) : [];
  }
}

async function failedTurn(runtime: Runtime, { session, head }: SessionSummary): Promise<FailedTurn | undefined> {
  const tail = await runtime.store.readTail(session, { limit: tailRecords });
  const record = tail.findLast(({ type }) => type === "turn.ended");
  if (!record) return undefined;
  const told = {
    session,
    seq: record.seq,
    outcome: String(head.outcome),
    ...(head.title === undefined ? {} : { title: head.title }),
  };
  // A log that cannot be read is doctor's; that its turn did not complete is told all the same.
  const event = await eventAt(runtime, session, record.seq).catch(() => undefined);
  if (event?.type !== "turn.ended") return told;
  const { turn, failure } = event;
  return { ...told, turn, ...(failure ? { failure: { kind: failure.kind, message: failure.message } } : {}) };
}

async function eventAt(runtime: Runtime, session: string, seq: number): Promise<LogEntry["event"] | undefined> {
  const end = new AbortController();
  for await (const entry of new Session(runtime, session).follow({ after: seq - 1, signal: end.signal }))
    return entry.event;
  return undefined;
}

/** pg-boss takes UUIDs; this one is its own kind (version 8), of what it stands for. */
function jobId({ session, seq }: FailedTurn): string {
  const digits = hash("sha256", `pawl failed turn ${session} ${seq}`, "hex");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}
