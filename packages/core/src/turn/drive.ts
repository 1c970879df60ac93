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
import { recordAnswers } from "./answer.ts";
import { closeAttempt, makeAttempt } from "./attempt.ts";
import { closeTurn, unrecordedFacts } from "./close.ts";
import { decideNext, type Next } from "./decide.ts";
import type { Driver } from "./driver.ts";
import { openStep } from "./state.ts";
import { startStep } from "./step.ts";
import { runTools } from "./tools.ts";

/** Drives until no turn is open and no input waits. Rejects with what made driving impossible. */
export async function drive(driver: Driver): Promise<void> {
  const { ledger, agent, abort, inbox } = driver;
  for (;;) {
    try {
      const { aborted, failure } = abort;
      const next = decideNext(ledger.state, agent, {
        aborted,
        steered: inbox.steered,
        ...(failure ? { failure } : {}),
      });
      if (next.do !== "idle") await perform(driver, next);
      else if (!(await openTurn(driver))) return;
    } catch (error) {
      await failStep(driver, error);
    }
  }
}

async function perform(driver: Driver, next: Exclude<Next, { do: "idle" }>): Promise<void> {
  const { ledger } = driver;
  switch (next.do) {
    case "start-step":
      return startStep(driver);
    case "attempt":
      return makeAttempt(driver);
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
      return ledger.commit();
    }
    default:
      return unreachable(next);
  }
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
  // What a person typed into a turn that then was stopped waits for their next word; any other steer is one.
  const input = inbox.takeInput(last?.outcome.type !== "aborted");
  if (!input) {
    await ledger.commit();
    return false;
  }
  abort.renew();
  ledger.stage({ type: "input.accepted", input: input.id, kind: input.kind, content: input.content });
  ledger.stage({ type: "turn.started", turn: effects.id("t"), inputs: [input.id] });
  return true;
}

/** Settles, closes, and propagates the original failure through the turn's end. Rethrows what cannot be recorded. */
async function failStep(driver: Driver, error: unknown): Promise<void> {
  if (isPawlError(error) && silent.has(error.code)) throw error;
  // What began before its message was whole records its own result: before the step is closed, not after.
  await Promise.allSettled(driver.running.values());
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
  return failureOf(kind, thrownText(error) || "nothing that says why was thrown", "runtime");
}

/** Whether the turn has its end in the log. False where the log knows of no such turn. */
async function recordFailure(
  { ledger, inbox }: Driver,
  failure: Failure,
  factsOf: typeof unrecordedFacts = () => [],
): Promise<boolean> {
  const refused = await ledger.load();
  inbox.reset();
  const { turn, last } = ledger.state;
  // An append may fail after it was done: then the end that we wanted is there.
  if (!turn) return refused.some((event) => event.type === "turn.ended" && event.turn === last?.turn);
  for (const fact of factsOf(ledger.state, refused)) ledger.stage(fact);
  for (const event of closeTurn(ledger.state, { outcome: { type: "failed" }, failure })) ledger.stage(event);
  await ledger.commit();
  return true;
}
