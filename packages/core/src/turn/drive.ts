/**
 * The driver: does what `decideNext` says, one thing after another, until nothing is left to do.
 *
 * Owns: the loop, and the order of effects against the log. Does not own: any decision (decide, plan, settle), any
 * format. Invariants:
 * 1. Nothing leaves (a request, a tool body, a wait) before the facts that announce it are durable (L3, L4, L9).
 * 2. A failed step settles before it closes: bodies are drained, every call gets its result, step and turn end with the
 *    original failure. If the log refuses even that, no end is claimed; the session reads as interrupted.
 * 3. A driver that lost its lease stops without another word (L8).
 */
import { decide } from "../attempt/decide.ts";
import { failureOf } from "../attempt/failure.ts";
import { type AttemptResult, runAttempt } from "../attempt/run.ts";
import type { Effects } from "../effects.ts";
import { isPawlError, unreachable } from "../error.ts";
import type { AttemptEnd, AttemptEnded, MessagePart, ToolSettled } from "../log/event.ts";
import type { Decision, Exposure, Failure } from "../log/value.ts";
import type { Store } from "../store/store.ts";
import { DispatchError, dispatch } from "../tool/dispatch.ts";
import { unsettled } from "../tool/pending.ts";
import type { Feed } from "../view/feed.ts";
import type { TurnAbort } from "./abort.ts";
import type { PreparedAgent } from "./agent.ts";
import { closeTurn } from "./close.ts";
import type { LiveContext } from "./context.ts";
import { decideNext, type Next } from "./decide.ts";
import type { Inbox } from "./inbox.ts";
import { Journal, readJournal } from "./journal.ts";
import type { DriverLease } from "./lease.ts";
import type { Ledger } from "./ledger.ts";
import { settleDoubtful } from "./recover.ts";
import { callOptions } from "./request.ts";
import { type OpenStep, remainingWait } from "./state.ts";

export interface Driver {
  session: string;
  store: Store;
  effects: Effects;
  agent: PreparedAgent;
  lease: DriverLease;
  ledger: Ledger;
  context: LiveContext;
  inbox: Inbox;
  feed: Feed;
  abort: TurnAbort;
}

/** Drives until no turn is open and no input waits. Rejects with what made driving impossible. */
export async function drive(driver: Driver): Promise<void> {
  for (;;) {
    const { ledger, agent, abort } = driver;
    try {
      const next = decideNext(ledger.state, agent, abort.aborted);
      if (next.do === "idle" && !(await openTurn(driver))) return;
      await perform(driver, next);
    } catch (error) {
      await failStep(driver, error);
    }
  }
}

async function perform(driver: Driver, next: Next): Promise<void> {
  const { ledger } = driver;
  switch (next.do) {
    case "idle":
      return;
    case "start-step":
      return startStep(driver);
    case "attempt":
      return attempt(driver);
    case "close-attempt":
      return closeAttempt(driver);
    case "run-tools":
      return runTools(driver);
    case "end-step":
      return ledger.stage({ type: "step.ended", step: openStep(driver).id });
    case "end-turn": {
      const { outcome, failure } = next;
      for (const post of driver.inbox.aborts()) ledger.consume(post);
      for (const event of closeTurn(ledger.state, { outcome, ...(failure ? { failure } : {}) })) ledger.stage(event);
      return ledger.commit();
    }
    default:
      return unreachable(next);
  }
}

/** Claims the next input: input and turn are one batch with the first step and attempt. */
async function openTurn({ inbox, ledger, effects, abort }: Driver): Promise<boolean> {
  if (abort.closed) return false;
  const post = await inbox.nextInput();
  if (!post) return false;
  abort.renew();
  for (const stale of inbox.aborts()) ledger.consume(stale);
  ledger.consume(post.id);
  ledger.stage({ type: "input.accepted", input: post.id, kind: "prompt", content: post.content });
  ledger.stage({ type: "turn.started", turn: effects.id("t"), inputs: [post.id] });
  return true;
}

function startStep({ ledger, agent, effects }: Driver): void {
  const { turn, header } = ledger.state;
  if (!turn) return;
  const changed = JSON.stringify(header) !== JSON.stringify(agent.header);
  ledger.stage({
    type: "step.started",
    step: effects.id("st"),
    turn: turn.id,
    number: turn.steps + 1,
    ...(changed ? { header: agent.header } : {}),
  });
}

async function attempt(driver: Driver): Promise<void> {
  const { ledger, agent, effects, inbox } = driver;
  const decision = openStep(driver).ended?.decision;
  if (decision) {
    await ledger.commit();
    await pause(driver, remainingWait(decision, effects.clock.now()));
    if (driver.abort.aborted) return;
  }
  for (const steer of inbox.steers()) {
    ledger.consume(steer.id);
    ledger.stage({ type: "input.accepted", input: steer.id, kind: "steer", content: steer.content });
  }
  const step = openStep(driver);
  const id = effects.id("a");
  ledger.stage({
    type: "attempt.started",
    attempt: id,
    step: step.id,
    number: step.attempts + 1,
    purpose: "step",
    model: agent.header.model,
  });
  await ledger.commit();
  driver.lease.assertValid();
  const result = await request(driver, id);
  if (result.failure) endFailed(driver, id, result, result.failure);
  else endCommitted(driver, id, result);
}

async function request(driver: Driver, attempt: string): Promise<AttemptResult> {
  const { feed, store, session, lease, effects, agent, context } = driver;
  const journal = new Journal(store, session, lease.epoch, attempt, effects);
  const result = await runAttempt(
    {
      attempt,
      model: agent.model,
      options: callOptions(agent.header, context.prompt(agent.header.instructions)),
      signal: driver.abort.signal,
      watch: agent.watch,
      sink: {
        started: (part) =>
          feed.push({
            type: "part.started",
            attempt,
            part: part.id,
            kind: part.type,
            ...(part.type === "tool-call" ? { tool: part.tool } : {}),
          }),
        delta: (part, text) => {
          feed.delta(attempt, part.id, text);
          journal.grew(part, text.length);
        },
        ended: (part) => feed.push({ type: "part.ended", attempt, part: part.id }),
      },
    },
    effects,
  );
  journal.stop();
  return result;
}

function endCommitted(driver: Driver, id: string, result: AttemptResult): void {
  const { ledger, agent } = driver;
  ledger.dropPartial(id);
  ledger.stage(ended(driver, id, "committed", result));
  ledger.stage({
    type: "message.committed",
    attempt: id,
    parts: result.parts,
    finish: result.finish ?? { reason: "stop" },
    model: agent.header.model,
    ...(result.responseId === undefined ? {} : { responseId: result.responseId }),
  });
}

function endFailed(driver: Driver, id: string, result: AttemptResult, failure: Failure): void {
  const { ledger } = driver;
  const decision = decideAfter(driver, result.exposure, failure);
  ledger.dropPartial(id);
  ledger.stage({
    ...ended(driver, id, endOf(decision), result),
    failure,
    decision,
    ...(result.parts.length > 0 ? { fragment: result.parts } : {}),
  });
}

function endOf({ action }: Decision): AttemptEnd {
  if (action === "seal") return "sealed";
  return action === "stop" ? "failed" : "discarded";
}

function ended({ agent }: Driver, attempt: string, end: AttemptEnd, result: AttemptResult): AttemptEnded {
  const cost = agent.price(result.usage, agent.header.model);
  return {
    type: "attempt.ended",
    attempt,
    end,
    exposure: result.exposure,
    usage: result.usage,
    ...(cost === undefined ? {} : { cost }),
    ...(result.firstPartMs === undefined ? {} : { firstPartMs: result.firstPartMs }),
    durationMs: result.durationMs,
  };
}

function decideAfter(driver: Driver, exposure: Exposure, failure: Failure): Decision {
  const { ledger, agent, effects } = driver;
  const step = openStep(driver);
  const spent = {
    attemptsOfStep: step.attempts,
    attemptsOfTurn: ledger.state.turn?.attempts ?? 0,
    sealsOfStep: step.seals,
    compactionsOfStep: step.compactions,
    stripped: step.stripped,
  };
  return decide(exposure, failure, agent.recovery, spent, { now: effects.clock.now(), jitter: effects.random() });
}

/** After a take-over: the crashed attempt ends with what its journal proves, and goes to the same table. */
async function closeAttempt(driver: Driver): Promise<void> {
  const { ledger, store, session } = driver;
  const open = openStep(driver).attempt;
  if (!open) return;
  const partial = await store.readPartial(session);
  const proven = readJournal(partial?.attempt === open.attempt ? partial.chunks : []);
  const failure = failureOf("stream-broken", "the process that ran this attempt ended", "runtime");
  ledger.dropPartial(open.attempt);
  ledger.stage({
    type: "attempt.ended",
    attempt: open.attempt,
    end: "interrupted",
    exposure: proven.exposure,
    failure,
    decision: decideAfter(driver, proven.exposure, failure),
    usage: { measure: "unknown" },
    durationMs: 0,
    ...(proven.parts.length > 0 ? { fragment: proven.parts as MessagePart[] } : {}),
  });
}

async function runTools(driver: Driver): Promise<void> {
  const { ledger, lease, feed, agent, effects } = driver;
  const step = openStep(driver);
  // Whatever is entered here without a result was entered by a driver that died: we have entered nothing yet.
  for (const call of unsettled(step.calls)) {
    const settled = await settleDoubtful(call, agent.tools, effects.validate);
    if (settled) ledger.stage(settled);
  }
  await dispatch(
    unsettled(step.calls),
    {
      stage: (event) => ledger.stage(event),
      commit: () => ledger.commit(),
      assertLease: () => lease.assertValid(),
      progress: (call, data) => feed.push({ type: "tool.progress", call, data }),
      note: (about, text, data) =>
        ledger.stage({ type: "note.recorded", about, text, ...(data === undefined ? {} : { data }) }),
    },
    {
      tools: agent.tools,
      permission: agent.permission,
      approver: agent.approver,
      signal: driver.abort.signal,
      concurrency: agent.concurrentTools,
      graceMs: agent.toolGraceMs,
      effects,
    },
  );
}

/** Settles, closes, and propagates the original failure through the turn's end. Rethrows what cannot be recorded. */
async function failStep(driver: Driver, error: unknown): Promise<void> {
  const original = error instanceof DispatchError ? error.cause : error;
  if (isPawlError(original, "FENCED") || isPawlError(original, "CONFLICT") || isPawlError(original, "BUG"))
    throw original;
  const results: readonly ToolSettled[] = error instanceof DispatchError ? error.results : [];
  const kind = isPawlError(original) ? "store" : "tool-runtime";
  const failure = failureOf(kind, original instanceof Error ? original.message : String(original), "runtime");
  const { ledger } = driver;
  try {
    await ledger.load();
    driver.inbox.reset();
    if (!ledger.state.turn) throw original;
    for (const event of closeTurn(ledger.state, { outcome: { type: "failed" }, failure, results })) ledger.stage(event);
    await ledger.commit();
  } catch {
    throw original;
  }
}

/** Waits, unless the turn is aborted. */
function pause({ effects, abort }: Driver, ms: number): Promise<void> {
  if (ms <= 0 || abort.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = effects.timers.after(ms, resolve);
  const onAbort = () => {
    cancel();
    resolve();
  };
  const { signal } = abort;
  signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}

function openStep({ ledger }: Driver): OpenStep {
  const step = ledger.state.turn?.step;
  if (!step) throw new Error("no step is open");
  return step;
}
