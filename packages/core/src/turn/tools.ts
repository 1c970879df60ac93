/** The calls of the open step, run by the dispatcher with the driver's log, mailbox and ears. */
import { failureOf } from "../attempt/failure.ts";
import { charsForWindow } from "../tool/allowance.ts";
import type { Approval } from "../tool/approval.ts";
import { type DispatchHost, type DispatchOptions, dispatch } from "../tool/dispatch.ts";
import { EagerReads, type RunningCalls } from "../tool/eager.ts";
import { charsOf } from "../tool/output.ts";
import { unsettled } from "../tool/pending.ts";
import { standingAnswer } from "../tool/standing.ts";
import { answerTo, recordRevocations } from "./answer.ts";
import type { Driver } from "./driver.ts";
import { pendingApproval } from "./question.ts";
import { settleDoubtfulCalls } from "./recover.ts";
import { openStep } from "./state.ts";

export async function runTools(driver: Driver): Promise<void> {
  const { ledger } = driver;
  const { calls } = openStep(ledger.state);
  recordRevocations(driver);
  // Whatever is entered here without a result was entered by a driver that died: we have entered nothing yet.
  await settleDoubtfulCalls(driver, unsettled(calls), "goes-on");
  const { running } = driver;
  driver.running = noCalls;
  await dispatch(unsettled(calls), hostOf(driver), optionsOf(driver), running);
}

export const noCalls: RunningCalls = new Map();

/** Starts the reads of an attempt as soon as each is whole. */
export function eagerReads(driver: Driver, attempt: string): EagerReads {
  return new EagerReads(attempt, hostOf(driver), optionsOf(driver));
}

function optionsOf(driver: Driver): DispatchOptions {
  const { session, agent, abort, effects, machine } = driver;
  return {
    session,
    machine,
    tools: agent.tools,
    ...approvalOf(driver),
    signal: abort.signal,
    concurrency: agent.concurrentTools,
    graceMs: agent.toolGraceMs,
    batchChars: batchChars(driver),
    effects,
  };
}

/** What the results of this message may still say together: the fixed cap, or what the model's window has left. */
function batchChars({ agent, ledger }: Driver): number {
  const { windowTokens, batchOutputChars: cap } = agent;
  const window = windowTokens === undefined ? cap : charsForWindow(windowTokens, ledger.state.contextTokens);
  const said = [...openStep(ledger.state).calls.values()].map(({ output }) => (output ? charsOf(output) : 0));
  return Math.max(
    0,
    said.reduce((left, chars) => left - chars, Math.min(cap, window)),
  );
}

function hostOf(driver: Driver): DispatchHost {
  const { ledger, lease, feed, effects, abort, store, session, inbox, snapshots } = driver;
  return {
    stage: (event) => ledger.stage(event),
    commit: () => ledger.commit(),
    consume: (post) => {
      inbox.take(post);
      ledger.consume(post);
    },
    assertLease: () => lease.assertValid(),
    beforeEffects: () => snapshots.due(driver),
    asked: (call) => {
      const approval = pendingApproval(call);
      if (approval) feed.push({ type: "approval.pending", approval });
    },
    abort: (why) => abort.fail(failureOf("aborted", why, "runtime")),
    progress: (call, data) => feed.push({ type: "tool.progress", call, data }),
    keep: (bytes) => store.putBlob(bytes),
    // By post, since we may long have ceased to drive when a deaf body ends. Where even that fails, nobody can help.
    late: (call, output) =>
      void store
        .post(session, { id: effects.id("late"), kind: "answer", body: { call, output: { ...output } } })
        .catch(() => {}),
  };
}

function approvalOf({ agent, ledger, inbox, session }: Driver): Approval {
  const { permission, approver, unanswered, approvalMs } = agent;
  return {
    permission,
    approver,
    unanswered,
    approvalMs,
    standing: (question, digest) => {
      const cwd = ledger.state.created?.cwd;
      const place = { session, ...(cwd === undefined ? {} : { cwd }) };
      return standingAnswer(ledger.state.standing, question, digest, place);
    },
    posted: (question) => answerTo(inbox.answers, question),
    onPost: (notify) => inbox.onRead(notify),
  };
}
