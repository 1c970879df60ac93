/**
 * The conversation made shorter, as planned: results cut, or a summary asked for.
 *
 * Owns: the order of a compaction's facts against its request. Does not own: whether and how (decide, compaction), what
 * the model then sees (context). Invariants:
 * 1. A summary is in the batch that ends its attempt, a cut of results in the batch that announces what follows it: a crash
 *    leaves the conversation as it was, or as it became.
 * 2. A summary that saves too little changes nothing.
 */
import { silentSink } from "../attempt/assemble.ts";
import { counted, estimateText } from "../attempt/estimate.ts";
import { failureOf } from "../attempt/failure.ts";
import { type AttemptResult, runAttempt } from "../attempt/run.ts";
import type { Failure, RequestHeader } from "../log/value.ts";
import { textOf } from "../view/transcript.ts";
import { announce } from "./attempt.ts";
import { type Measured, type Plan, planCompaction, summaryRequest } from "./compaction.ts";
import type { Driver } from "./driver.ts";
import { attemptEnded, endFailed } from "./ending.ts";
import { callOptions } from "./request.ts";
import { openStep } from "./state.ts";
import { headerChanged, restartStep } from "./step.ts";
import { waitAfter } from "./wait.ts";

export async function compact(driver: Driver): Promise<void> {
  const { ledger, context, agent, abort } = driver;
  if (headerChanged(driver)) return restartStep(driver);
  await waitAfter(driver, openStep(ledger.state).summary?.decision);
  if (abort.aborted) return;
  const measured = context.measured(agent);
  const plan = planCompaction(measured, agent.compaction, ledger.state.compactionFailures);
  if (!plan) return;
  if (plan.prune) prune(driver, plan, measured);
  if (plan.by === "summary") await summarize(driver, plan);
}

function prune({ ledger, agent }: Driver, { upTo }: Plan, measured: Measured): void {
  const { resultChars } = agent.compaction;
  const saved = measured.prunable(upTo);
  if (saved > 0)
    ledger.stage({
      type: "context.compacted",
      upTo,
      by: "prune",
      summary: [],
      resultChars,
      ...figures(measured, saved),
    });
}

async function summarize(driver: Driver, { upTo }: Plan): Promise<void> {
  const { ledger, agent, context } = driver;
  const measured = context.measured(agent);
  const replaced = measured.boundaries.findLast(({ seq }) => seq <= upTo)?.tokens ?? 0;
  const attempt = await announce(driver, "compaction");
  const result = await request(driver, attempt, upTo);
  if (result.failure) return endFailed(driver, attempt, result, result.failure);
  const text = textOf(result.parts).trim();
  const saved = replaced - estimateText(text);
  const useless = uselessness(result, text, saved, measured.size * agent.compaction.shrink);
  if (useless) {
    const decision = { action: "stop", delayMs: 0, at: driver.effects.clock.now(), reason: useless.message } as const;
    return endFailed(driver, attempt, result, useless, decision);
  }
  ledger.stage(attemptEnded(driver, attempt, "committed", result));
  const summary = [{ type: "text", text } as const];
  ledger.stage({ type: "context.compacted", upTo, by: "summary", summary, attempt, ...figures(measured, saved) });
}

/** Before and after, on the scale of what was measured. */
function figures({ tokens, size }: Measured, saved: number): { tokensBefore: number; tokensAfter: number } {
  const share = size > 0 ? Math.min(1, Math.max(0, saved / size)) : 0;
  return { tokensBefore: Math.round(tokens), tokensAfter: Math.round(tokens * (1 - share)) };
}

/** Nobody is shown a summary as it is written, and nothing in it runs. */
async function request(driver: Driver, attempt: string, upTo: number): Promise<AttemptResult> {
  const { agent, context, lease, effects, abort } = driver;
  const asked = { role: "user", content: [{ type: "text", text: summaryRequest }] } as const;
  const prompt = [...(await context.promptUpTo(agent, upTo)), { ...asked, content: [...asked.content] }];
  const options = callOptions(withoutForce(agent.header), prompt);
  // Not before: pictures may be long in coming.
  lease.assertValid();
  const { model, watch } = agent;
  const asking = { attempt, model, options, signal: abort.signal, watch, sink: silentSink };
  return counted(await runAttempt(asking, effects), options);
}

/** Why the summary is none that helps, if it is none. Half a sentence, or a call beside it, must not stand for a conversation. */
function uselessness(
  { finish, parts }: AttemptResult,
  text: string,
  saved: number,
  least: number,
): Failure | undefined {
  const asks = parts.some((part) => part.type === "tool-call" && !part.providerExecuted);
  // Endpoints say `tool-calls` beside no call at all.
  const whole = finish?.reason === "stop" || finish?.reason === "tool-calls";
  if (text === "" || asks || !whole) {
    const end = asks ? "asks for a tool" : `ended with ${JSON.stringify(finish?.reason)}`;
    const what = `the model gave no summary of the conversation: its answer of ${text.length} characters ${end}`;
    return failureOf("empty", what, "runtime");
  }
  if (saved >= least) return undefined;
  const figures = `about ${Math.max(0, Math.round(saved))} tokens; ${Math.ceil(least)} are the least that helps`;
  return failureOf("overflow", `the summary of the conversation saves ${figures}`, "runtime");
}

/** Whoever must call a tool cannot sum up. Anything else stays, for the sake of the cached prefix. */
function withoutForce(header: RequestHeader): RequestHeader {
  const { toolChoice } = header;
  return toolChoice?.type === "required" || toolChoice?.type === "tool"
    ? { ...header, toolChoice: { type: "none" } }
    : header;
}
