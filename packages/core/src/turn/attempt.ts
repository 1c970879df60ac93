/**
 * One attempt of the open step: announced, made, ended.
 *
 * Owns: the order of an attempt's facts against its request. Does not own: reading the stream (attempt/run), what a
 * failure leads to (attempt/decide). Invariants:
 * 1. `attempt.started` is durable before the request leaves (L9), and every steer accepted before it is in its batch.
 * 2. The end of an attempt carries what recovery does about it, before any wait.
 * 3. A message is committed in the batch that ends its attempt.
 */
import { counted, estimateUsage } from "../attempt/estimate.ts";
import { advancesServer } from "../attempt/exposure.ts";
import { failureOf } from "../attempt/failure.ts";
import { type AttemptResult, runAttempt } from "../attempt/run.ts";
import type { AttemptStarted } from "../log/event.ts";
import type { EagerReads } from "../tool/eager.ts";
import { acceptInput, recordWithdrawals } from "./accept.ts";
import { recordAnswers } from "./answer.ts";
import type { Driver } from "./driver.ts";
import { attemptEnded, decideAfter, endFailed } from "./ending.ts";
import { Journal, readJournal } from "./journal.ts";
import { openStep } from "./state.ts";
import { headerChanged, restartStep } from "./step.ts";
import { eagerReads, noCalls } from "./tools.ts";
import { waitAfter } from "./wait.ts";

/** Makes the next attempt, after what is left of a wait that the last one's decision asked for. */
export async function makeAttempt(driver: Driver): Promise<void> {
  const { ledger, agent } = driver;
  if (headerChanged(driver)) return restartStep(driver);
  await waitAfter(driver, openStep(ledger.state).ended?.decision);
  const id = (await announceUnasked(driver)) ?? (await announceAsRead(driver));
  if (id === undefined) return;
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

/**
 * Where nothing has come for this attempt: mostly so, and the batch finds out by itself. Undefined, and nothing is announced,
 * where something has.
 */
async function announceUnasked(driver: Driver): Promise<string | undefined> {
  const { abort, inbox, ledger, context, agent } = driver;
  // What has come is not taken before the mailbox was read again: its writer may have taken it back.
  const posts = () => (abort.aborted ? undefined : inbox.quiet);
  if (posts() === undefined) return undefined;
  const started = attemptStarted(driver, "step");
  const offered = ledger.offer(started, posts);
  // While the store writes.
  context.prepare(agent);
  return (await offered) ? started.attempt : undefined;
}

/** Undefined where the turn is stopped. */
async function announceAsRead(driver: Driver): Promise<string | undefined> {
  // A steer that goes a step late is a smaller loss than a turn that ends because the mailbox could not be read.
  await driver.inbox.refresh().catch(() => {});
  if (driver.abort.aborted) return undefined;
  takeMail(driver);
  return announce(driver, "step");
}

function takeMail(driver: Driver): void {
  recordWithdrawals(driver);
  for (const steer of driver.inbox.takeSteers()) acceptInput(driver, steer);
  recordAnswers(driver);
}

/** Durable before the request leaves; whoever sends that sees first whether we may still drive. Resolves with the id. */
export async function announce(driver: Driver, purpose: AttemptStarted["purpose"]): Promise<string> {
  const started = attemptStarted(driver, purpose);
  driver.ledger.stage(started);
  await driver.ledger.commit();
  return started.attempt;
}

function attemptStarted({ ledger, agent, effects }: Driver, purpose: AttemptStarted["purpose"]): AttemptStarted {
  const { id: step, attempts } = openStep(ledger.state);
  const { model } = agent.header;
  return { type: "attempt.started", attempt: effects.id("a"), step, number: attempts + 1, purpose, model };
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
    usage: estimateUsage({ prompt: await driver.context.measurable(agent), tools: agent.header.tools }, parts),
    durationMs: 0,
    ...(parts.length > 0 ? { fragment: parts } : {}),
  });
}

async function request(driver: Driver, attempt: string, eager: EagerReads | undefined): Promise<AttemptResult> {
  const { feed, store, session, lease, ledger, effects, agent, context } = driver;
  const journal = new Journal(store, session, lease.epoch, attempt, effects);
  const options = await context.request(agent);
  // Not before: pictures may be long in coming.
  lease.assertValid();
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
            journal.ended(part);
            eager?.ended(part);
          },
        },
      },
      effects,
    );
    return counted(result, options);
  } finally {
    journal.stop();
    if (!journal.begun) ledger.partialFree = attempt;
  }
}

function endCommitted(driver: Driver, id: string, result: AttemptResult): void {
  const { ledger, agent } = driver;
  ledger.stage(attemptEnded(driver, id, "committed", result));
  ledger.stage({
    type: "message.committed",
    attempt: id,
    parts: result.parts,
    finish: result.finish ?? { reason: "stop" },
    model: agent.header.model,
    ...(result.responseId === undefined ? {} : { responseId: result.responseId }),
  });
}
