/**
 * One attempt of the open step: announced, made, ended.
 *
 * Owns: the order of an attempt's facts against its request. Does not own: reading the stream (attempt/run), what a
 * failure leads to (attempt/decide). Invariants:
 * 1. `attempt.started` is durable before the request leaves (L9), and every steer accepted before it is in its batch.
 * 2. The end of an attempt carries what recovery does about it, before any wait.
 * 3. A message is committed in the batch that ends its attempt.
 */
import { decide } from "../attempt/decide.ts";
import { estimateUsage } from "../attempt/estimate.ts";
import { advancesServer } from "../attempt/exposure.ts";
import { failureOf } from "../attempt/failure.ts";
import { type AttemptResult, runAttempt } from "../attempt/run.ts";
import type { AttemptEnd, AttemptEnded } from "../log/event.ts";
import type { Decision, Failure } from "../log/value.ts";
import type { EagerReads } from "../tool/eager.ts";
import type { PreparedAgent } from "./agent.ts";
import { recordAnswers } from "./answer.ts";
import type { Driver } from "./driver.ts";
import { Journal, readJournal } from "./journal.ts";
import { callOptions } from "./request.ts";
import { openStep, remainingWait } from "./state.ts";
import { headerChanged, restartStep } from "./step.ts";
import { eagerReads, noCalls } from "./tools.ts";

/** Makes the next attempt, after what is left of a wait that the last one's decision asked for. */
export async function makeAttempt(driver: Driver): Promise<void> {
  const { ledger, agent, effects, inbox } = driver;
  if (headerChanged(driver)) return restartStep(driver);
  const decision = openStep(ledger.state).ended?.decision;
  if (decision) {
    await ledger.commit();
    await pause(driver, remainingWait(decision, effects.clock.now()));
  }
  // A steer that goes a step late is a smaller loss than a turn that ends because the mailbox could not be read.
  await inbox.refresh().catch(() => {});
  if (driver.abort.aborted) return;
  for (const { id, kind, content } of inbox.takeSteers())
    ledger.stage({ type: "input.accepted", input: id, kind, content });
  recordAnswers(driver);
  const step = openStep(ledger.state);
  const id = effects.id("a");
  const { model } = agent.header;
  ledger.stage({
    type: "attempt.started",
    attempt: id,
    step: step.id,
    number: step.attempts + 1,
    purpose: "step",
    model,
  });
  await ledger.commit();
  driver.lease.assertValid();
  const eager = agent.eagerReads ? eagerReads(driver, id) : undefined;
  const result = await request(driver, id, eager);
  result.exposure.readsEntered = eager?.entered ?? 0;
  if (result.failure) {
    await eager?.discard();
    return endFailed(driver, id, result, result.failure);
  }
  endCommitted(driver, id, result);
  driver.running = eager?.adopt() ?? noCalls;
}

/** After a take-over: the crashed attempt ends with what its journal proves, and goes to the same table. */
export async function closeAttempt(driver: Driver): Promise<void> {
  const { ledger, store, session, agent } = driver;
  const { attempt: open, eager } = openStep(ledger.state);
  if (!open) return;
  const { parts, exposure } = readJournal(await store.readPartial(session), open.attempt);
  exposure.readsEntered = eager.size;
  // Not from the journal: the request itself says it, and it may have arrived.
  if (advancesServer(ledger.state.header?.providerOptions)) exposure.serverState = true;
  const failure = failureOf("stream-broken", "the process that ran this attempt ended", "runtime");
  ledger.stage({
    type: "attempt.ended",
    attempt: open.attempt,
    end: "interrupted",
    exposure,
    failure,
    decision: decideAfter(driver, failure, { exposure, durationMs: 0 }),
    usage: estimateUsage(driver.context.prompt(agent.header.instructions), parts),
    durationMs: 0,
    ...(parts.length > 0 ? { fragment: parts } : {}),
  });
}

async function request(driver: Driver, attempt: string, eager: EagerReads | undefined): Promise<AttemptResult> {
  const { feed, store, session, lease, effects, agent, context } = driver;
  const journal = new Journal(store, session, lease.epoch, attempt, effects);
  const options = callOptions(agent.header, context.prompt(agent.header.instructions));
  try {
    const result = await runAttempt(
      {
        attempt,
        model: agent.model,
        options,
        signal: driver.abort.signal,
        watch: agent.watch,
        sink: {
          started: (part) => {
            const tool = part.type === "tool-call" ? { tool: part.tool } : {};
            feed.push({ type: "part.started", attempt, part: part.id, kind: part.type, ...tool });
            journal.started(part);
            eager?.started(part);
          },
          delta: (part, text) => {
            feed.delta(attempt, part.id, part.type, text);
            journal.grew(part, text);
          },
          ended: (part) => {
            feed.push({ type: "part.ended", attempt, part: part.id });
            journal.started(part);
            eager?.ended(part);
          },
        },
      },
      effects,
    );
    if (result.usage.measure === "unknown") result.usage = estimateUsage(options.prompt, result.parts);
    return result;
  } finally {
    journal.stop();
  }
}

function endCommitted(driver: Driver, id: string, result: AttemptResult): void {
  const { ledger, agent } = driver;
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
  const facts = ended(driver, id, "failed", result);
  const decision = decideAfter(driver, failure, facts);
  driver.ledger.stage({
    ...facts,
    end: endOf(decision),
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
  const cost = costOf(agent, result);
  return {
    type: "attempt.ended",
    attempt,
    end,
    exposure: result.exposure,
    usage: result.usage,
    ...(cost === undefined ? {} : { cost }),
    ...(result.firstPartMs === undefined ? {} : { firstPartMs: result.firstPartMs }),
    durationMs: result.durationMs,
    ...(result.notes ? { notes: result.notes } : {}),
  };
}

/** A price list that fails, or names no figure, must not cost the answer it was asked about. */
function costOf(agent: PreparedAgent, { usage }: AttemptResult): number | undefined {
  try {
    const cost = agent.price(usage, agent.header.model);
    return Number.isFinite(cost) ? cost : undefined;
  } catch {
    return undefined;
  }
}

function decideAfter(
  { ledger, agent, effects }: Driver,
  failure: Failure,
  { exposure, durationMs, cost = 0 }: Pick<AttemptEnded, "exposure" | "durationMs" | "cost">,
): Decision {
  const { turn } = ledger.state;
  const step = openStep(ledger.state);
  const spent = {
    attemptsOfStep: step.attempts,
    attemptsOfTurn: turn?.attempts ?? 0,
    sealsOfStep: step.seals,
    compactionsOfStep: step.compactions,
    stripped: step.stripped,
    elapsedMsOfTurn: (turn?.elapsedMs ?? 0) + durationMs,
    costOfTurn: (turn?.cost ?? 0) + cost,
  };
  return decide(exposure, failure, agent.recovery, spent, { now: effects.clock.now(), jitter: effects.random() });
}

/** Waits, unless the turn is aborted or somebody says that it was long enough. */
function pause({ effects, abort, nudge }: Driver, ms: number): Promise<void> {
  if (ms <= 0 || abort.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = effects.timers.after(ms, resolve);
  const end = () => {
    cancel();
    resolve();
  };
  const { signal } = abort;
  signal.addEventListener("abort", end, { once: true });
  const forget = nudge.during(end);
  return promise.finally(() => {
    signal.removeEventListener("abort", end);
    forget();
  });
}
