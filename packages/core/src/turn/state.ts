/**
 * Turn state: the fold that says what is open.
 *
 * Owns: inputs, open turn, step, attempt and calls, and what they have used up. Does not own: what to do next (decide).
 * Invariants:
 * 1. Everything here follows from the log; a crash at any seq gives the state of that prefix (L10).
 * 2. Budgets count recorded attempts, so that they survive crashes (L6).
 * 3. Behind a hole, what must have begun in it is open: whoever closes it, the doctor or the driver of a fork, sees the same.
 */
import { assert } from "../error.ts";
import type { LogEntry } from "../log/envelope.ts";
import type { EventOf, LogEvent } from "../log/event.ts";
import type { Fold } from "../log/fold.ts";
import { reachOf } from "../log/reach.ts";
import { isHoleMark } from "../log/salvage.ts";
import type { Decision, Outcome, RequestHeader } from "../log/value.ts";
import { type EagerEntries, type Pending, pendingOf, track, trackEager } from "../tool/pending.ts";
import { type StandingAnswers, trackStanding } from "../tool/standing.ts";
import { lostId, lostStarts } from "./lost-start.ts";

export interface TurnState {
  seq: number;
  epoch: number;
  created: EventOf<"session.created"> | undefined;
  /** The header in force: the last one recorded. */
  header: RequestHeader | undefined;
  turn: OpenTurn | undefined;
  /** A hole was passed: an end that is not there may be in it, and so may a start. */
  holed?: boolean;
  last: { turn: string; outcome: Outcome } | undefined;
  /**
   * Tokens of the last request whose usage was reported, and of its answer: what the next one begins with. 0: nothing is
   * reported of the conversation as it stands.
   */
  contextTokens: number;
  /** Compactions of the open turn that failed, since the last that helped. */
  compactionFailures: number;
  /** What people have answered for later calls, too. */
  standing: StandingAnswers;
  /** What the model sees begins behind this seq: the rest was replaced. */
  contextFrom: number;
  /** Providers that are no longer sent their own opaque state. */
  stripped: string[];
}

export interface OpenTurn {
  id: string;
  /** Whose log it was started in: a fork reads its parent's, and never goes on inside it. */
  session: string;
  /** Steps begun, the open one included. */
  steps: number;
  /** Attempts begun over all steps. */
  attempts: number;
  /** Recorded durations of attempts and tools, and waits that were decided, ms. */
  elapsedMs: number;
  /** What its requests have cost, as far as a price is known. */
  cost: number;
  step: OpenStep | undefined;
  /** The committed message of the last ended step. */
  lastMessage: EventOf<"message.committed"> | undefined;
}

export interface OpenStep {
  id: string;
  attempts: number;
  seals: number;
  empties: number;
  compactions: number;
  stripped: boolean;
  /** Begun and not ended. */
  attempt: EventOf<"attempt.started"> | undefined;
  /** How the last attempt at the step's message ended. */
  ended: EventOf<"attempt.ended"> | undefined;
  /** How the last attempt at a summary ended, since one was asked for. */
  summary: EventOf<"attempt.ended"> | undefined;
  /** Whether what was asked for last is done: a compaction, the stripping of provider state. */
  compacted: boolean;
  stateStripped: boolean;
  message: EventOf<"message.committed"> | undefined;
  calls: Pending;
  /** What the files were kept as before anything with effects was entered. */
  snapshot: string | undefined;
  /** Reads that were entered while the last attempt was open. */
  eager: EagerEntries;
}

export const turnFold: Fold<TurnState> = {
  init: () => ({
    seq: 0,
    epoch: 0,
    created: undefined,
    header: undefined,
    turn: undefined,
    last: undefined,
    contextTokens: 0,
    compactionFailures: 0,
    standing: new Map(),
    contextFrom: 0,
    stripped: [],
  }),
  step(state, entry) {
    if (state.holed) restoreStarts(state, entry);
    state.seq = entry.seq;
    state.epoch = entry.epoch;
    state.contextTokens = tokensAfter(state, entry.event);
    trackStanding(state.standing, entry, state.turn?.step?.calls ?? noCalls);
    apply(state, entry.event, entry);
    return state;
  },
};

function tokensAfter({ contextTokens, turn }: TurnState, event: LogEvent): number {
  if (event.type === "context.compacted") return 0;
  if (event.type !== "attempt.ended" || event.end !== "committed") return contextTokens;
  if (turn?.step?.attempt?.purpose !== "step") return contextTokens;
  const { input, output = 0 } = event.usage;
  // Zero for a prompt that is none is no figure.
  return input ? input + output : contextTokens;
}

const noCalls: Pending = new Map();

function apply(state: TurnState, event: LogEvent, entry: LogEntry): void {
  switch (event.type) {
    case "session.created":
      state.created = event;
      return;
    case "turn.started":
      assert(!state.turn || state.holed, `turn ${event.turn} starts while turn ${state.turn?.id} is open`);
      state.turn = {
        id: event.turn,
        session: entry.session,
        steps: 0,
        attempts: 0,
        elapsedMs: 0,
        cost: 0,
        step: undefined,
        lastMessage: undefined,
      };
      return;
    case "log.repaired":
      if (isHoleMark(entry)) passHole(state, entry);
      // What is closed follows. Nothing can close what has no name: it is over here, or with its step.
      else if (state.turn?.id === lostId && (state.turn.step?.id ?? lostId) === lostId) state.turn = undefined;
      return;
    case "context.compacted":
      // Results that were cut on the way to a summary are not what was asked for.
      if (event.by !== "prune") {
        state.compactionFailures = 0;
        state.contextFrom = Math.max(state.contextFrom, reachOf(event, entry.seq));
      }
      if (state.turn?.step) state.turn.step.compacted = true;
      return;
    case "provider-state.stripped":
      if (!state.stripped.includes(event.provider)) state.stripped.push(event.provider);
      if (state.turn?.step) state.turn.step.stateStripped = true;
      return;
    case "turn.ended":
      state.turn = undefined;
      state.compactionFailures = 0;
      state.last = { turn: event.turn, outcome: event.outcome };
      return;
    case "step.started":
      if (event.header) state.header = event.header;
      if (state.turn) startStep(state.turn, event);
      return;
    case "step.ended":
      if (state.turn) endStep(state.turn);
      if (state.turn?.id === lostId) state.turn = undefined;
      return;
    default:
      if (state.turn?.step) applyToStep(state, state.turn, state.turn.step, entry);
  }
}

function restoreStarts(state: TurnState, entry: LogEntry): void {
  const starts = lostStarts(state, entry.event);
  for (const event of starts) apply(state, event, entry);
  // Entries of reads, before its message, may have been there, too.
  if (starts.length > 0 && state.turn?.step) state.turn.step.eager.lost = true;
}

function passHole(state: TurnState, entry: LogEntry): void {
  state.holed = true;
  const step = state.turn?.step;
  if (!step) return;
  trackEager(step.eager, entry);
  track(step.calls, entry);
}

function startStep(turn: OpenTurn, event: EventOf<"step.started">): void {
  turn.steps = event.number;
  turn.step = {
    id: event.step,
    attempts: 0,
    seals: 0,
    empties: 0,
    compactions: 0,
    stripped: false,
    attempt: undefined,
    ended: undefined,
    summary: undefined,
    compacted: false,
    stateStripped: false,
    message: undefined,
    calls: new Map(),
    snapshot: undefined,
    eager: new Map(),
  };
}

function endStep(turn: OpenTurn): void {
  turn.lastMessage = turn.step?.message;
  turn.step = undefined;
}

function applyToStep(state: TurnState, turn: OpenTurn, step: OpenStep, entry: LogEntry): void {
  const { event } = entry;
  trackEager(step.eager, entry);
  switch (event.type) {
    case "attempt.started":
      step.attempt = event;
      step.attempts += 1;
      turn.attempts += 1;
      // What was cut before it did not suffice.
      if (event.purpose === "compaction") step.compacted = false;
      return;
    case "attempt.ended":
      turn.elapsedMs += event.durationMs + (event.decision?.delayMs ?? 0);
      turn.cost += event.cost ?? 0;
      if (event.failure?.kind === "empty") step.empties += 1;
      if (step.attempt?.purpose === "compaction") endSummary(state, step, event);
      else endAttempt(step, event);
      step.attempt = undefined;
      step.stateStripped = false;
      if (event.decision?.action === "strip") step.stripped = true;
      return;
    case "message.committed":
      step.message = event;
      step.calls = pendingOf(event.parts, step.eager);
      return;
    case "tool.settled":
      turn.elapsedMs += event.durationMs ?? 0;
      track(step.calls, entry);
      return;
    case "snapshot.recorded":
      if (event.step === step.id) step.snapshot ??= event.snapshot;
      return;
    default:
      track(step.calls, entry);
  }
}

function endAttempt(step: OpenStep, event: EventOf<"attempt.ended">): void {
  step.ended = event;
  // By the decision, not by the end: a crash may have interrupted what recovery then sealed.
  if (event.decision?.action === "seal") step.seals += 1;
  if (event.decision?.action !== "compact") return;
  step.compactions += 1;
  step.compacted = false;
  step.summary = undefined;
}

function endSummary(state: TurnState, step: OpenStep, event: EventOf<"attempt.ended">): void {
  step.summary = event;
  if (event.decision?.action === "stop" && isUseless(event)) state.compactionFailures += 1;
}

/** A summary that could not be had, or would not have helped; no fault of the world stood in its way. */
export function isUseless({ failure }: EventOf<"attempt.ended">): boolean {
  return failure?.kind === "overflow" || failure?.kind === "empty";
}

/** The open step, where there must be one. */
export function openStep({ turn }: TurnState): OpenStep {
  assert(turn?.step, "no step is open");
  return turn.step;
}

/** The wait a decision asked for, as far as it is still ahead: a resumed wait is never longer than the first. */
export function remainingWait(decision: Decision, now: number): number {
  return Math.min(Math.max(decision.at + decision.delayMs - now, 0), decision.delayMs);
}
