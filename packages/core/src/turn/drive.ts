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
import { failureOf } from "../attempt/failure.ts";
import { type ErrorCode, isPawlError, unreachable } from "../error.ts";
import type { Failure } from "../log/value.ts";
import { thrownText } from "../tool/output.ts";
import { acceptInput, recordWithdrawals, returnInputs } from "./accept.ts";
import { recordAnswers } from "./answer.ts";
import { closeAttempt, makeAttempt } from "./attempt.ts";
import { closeTurn, unrecordedFacts } from "./close.ts";
import { compact } from "./compact.ts";
import { hopelessness, planCompaction, roomFor } from "./compaction.ts";
import { type Circumstances, decideNext, type Next } from "./decide.ts";
import type { Driver } from "./driver.ts";
import { openStep } from "./state.ts";
import { headerChanged, restartStep, startStep } from "./step.ts";
import { runTools } from "./tools.ts";

/**
 * Drives until no turn is open and no input waits, or until it hands over. Rejects with what made driving impossible.
 */
export async function drive(driver: Driver): Promise<void> {
  const { ledger, agent } = driver;
  for (;;) {
    try {
      const next = decideNext(ledger.state, agent, await circumstances(driver));
      if (handsOver(driver, next)) return await ledger.commit();
      if (next.do !== "idle") await perform(driver, next);
      else if (!(await openTurn(driver))) return;
    } catch (error) {
      await failStep(driver, error);
    }
  }
}

const betweenSteps: ReadonlySet<Next["do"]> = new Set(["start-step", "attempt", "compact"]);

/** Between two steps, or two attempts, nothing is under way that another driver would have to settle. */
function handsOver({ handover, turnsLeft }: Driver, next: Next): boolean {
  if (next.do === "idle") return handover?.aborted === true || turnsLeft <= 0;
  return handover?.aborted === true && betweenSteps.has(next.do);
}

async function circumstances(driver: Driver): Promise<Circumstances> {
  const { ledger, agent, abort, inbox, context } = driver;
  const { turn, compactionFailures } = ledger.state;
  const { aborted, failure } = abort;
  const hopeless = hopelessness(agent);
  const now: Circumstances = {
    aborted,
    steered: inbox.steered,
    room: "enough",
    compactable: () =>
      agent.compaction.mode !== "off" &&
      planCompaction(context.measured(agent), agent.compaction, compactionFailures) !== undefined,
    ...(failure ? { failure } : {}),
    ...(hopeless ? { hopeless } : {}),
  };
  // Measured where a request is next, and only there.
  if (!turn?.step || turn.step.attempt || turn.step.message) return now;
  await context.load();
  return { ...now, room: roomFor(context.tokens(agent), agent) };
}

async function perform(driver: Driver, next: Exclude<Next, { do: "idle" }>): Promise<void> {
  const { ledger } = driver;
  switch (next.do) {
    case "start-step":
      return startStep(driver);
    case "attempt":
      return makeAttempt(driver);
    case "compact":
      return compact(driver);
    case "strip":
      return strip(driver);
    case "close-attempt":
      return closeAttempt(driver);
    case "run-tools":
      return runTools(driver);
    case "end-step":
      return ledger.stage({ type: "step.ended", step: openStep(ledger.state).id });
    case "end-turn": {
      for (const post of driver.inbox.takeAborts()) ledger.consume(post);
      recordAnswers(driver);
      for (const event of closeTurn(ledger.state, next)) ledger.stage(event);
      if (next.outcome.type === "aborted" && driver.agent.afterAbort === "return")
        driver.handingBack = returnInputs(driver);
      await ledger.commit();
      return handedBack(driver);
    }
    default:
      return unreachable(next);
  }
}

/** It is durable: whoever started the turn has them back. */
function handedBack(driver: Driver): void {
  driver.returned.push(...driver.handingBack);
  for (const { id } of driver.handingBack) driver.withdrawn.add(id);
  driver.handingBack = [];
}

/** The provider has refused what it gave us itself: it is sent no more, in the whole session. */
function strip(driver: Driver): void {
  const { ledger, agent } = driver;
  if (headerChanged(driver)) return restartStep(driver);
  const { ended, summary } = openStep(ledger.state);
  const { provider } = agent.header.model;
  const reason = (summary ?? ended)?.failure?.message ?? "the provider refuses replayed state";
  ledger.stage({ type: "provider-state.stripped", provider, reason });
}

/** Claims the next input: input and turn are one batch with the first step and attempt. False: nothing is left to do. */
async function openTurn(driver: Driver): Promise<boolean> {
  const { inbox, ledger, effects, abort } = driver;
  if (abort.closed) return false;
  await inbox.refresh();
  const { last } = ledger.state;
  for (const post of inbox.takeAborts()) {
    ledger.consume(post);
    ledger.stage({ type: "note.recorded", about: last?.turn ?? post, text: "an abort came when its turn had ended" });
  }
  recordAnswers(driver);
  recordWithdrawals(driver);
  // What a person typed into a turn that then was stopped waits for their next word; any other steer is one.
  const input = inbox.takeInput(last?.outcome.type !== "aborted");
  if (!input) {
    await ledger.commit();
    return false;
  }
  abort.renew();
  driver.turnsLeft -= 1;
  acceptInput(driver, input);
  ledger.stage({ type: "turn.started", turn: effects.id("t"), inputs: [input.id] });
  return true;
}

/** Settles, closes, and propagates the original failure through the turn's end. Rethrows what cannot be recorded. */
async function failStep(driver: Driver, error: unknown): Promise<void> {
  if (isPawlError(error) && silent.has(error.code)) throw error;
  // What began before its message was whole records its own result: before the step is closed, not after.
  await Promise.allSettled(driver.running.values());
  // Where others wait to take over, a store that was away for a while costs no turn: it stays open, and goes on.
  if (driver.handover && isPawlError(error, "STORE_UNAVAILABLE")) {
    await recordFacts(driver).catch(() => {});
    throw error;
  }
  const failure = stepFailure(error);
  try {
    if (await recordFailure(driver, failure, unrecordedFacts)) return;
  } catch (again) {
    // A fact that cannot be written (too large, not JSON) must not keep its turn open for ever: without it, then.
    if (isPawlError(again, "INVALID_EVENT") && (await recordFailure(driver, failure).catch(() => false))) return;
  }
  throw error;
}

/** Somebody else drives, or we are not to be trusted: no further word in this log. */
const silent: ReadonlySet<ErrorCode> = new Set(["FENCED", "CONFLICT", "BUG"]);
const storeCodes: ReadonlySet<ErrorCode> = new Set([
  "STORE_UNAVAILABLE",
  "STORE_FULL",
  "STORE_CLOSED",
  "INVALID_EVENT",
  "CORRUPT",
]);

function stepFailure(error: unknown): Failure {
  const kind = isPawlError(error) && storeCodes.has(error.code) ? "store" : "tool-runtime";
  const failure = failureOf(kind, thrownText(error) || "nothing that says why was thrown", "runtime");
  return isPawlError(error, "NO_SNAPSHOT") ? { ...failure, code: error.code } : failure;
}

/** What has happened and was refused: whoever goes on must not take a call that has its result for one in doubt. */
async function recordFacts({ ledger }: Driver): Promise<void> {
  const refused = await ledger.load();
  for (const fact of unrecordedFacts(ledger.state, refused)) ledger.stage(fact);
  await ledger.commit();
}

/** Whether the turn has its end in the log. False where the log knows of no such turn. */
async function recordFailure(
  driver: Driver,
  failure: Failure,
  factsOf: typeof unrecordedFacts = () => [],
): Promise<boolean> {
  const { ledger, inbox } = driver;
  const refused = await ledger.load();
  inbox.reset();
  const { turn, last } = ledger.state;
  if (!turn) {
    // An append may fail after it was done: then the end that we wanted is there, and what it handed back.
    const isThere = refused.some((event) => event.type === "turn.ended" && event.turn === last?.turn);
    if (isThere) handedBack(driver);
    return isThere;
  }
  driver.handingBack = [];
  for (const fact of factsOf(ledger.state, refused)) ledger.stage(fact);
  for (const event of closeTurn(ledger.state, { outcome: { type: "failed" }, failure })) ledger.stage(event);
  await ledger.commit();
  return true;
}
