/** Requests to a model: each physical one is a `chat` span of its own, whatever became of it. */
import type { Attributes } from "@opentelemetry/api";
import type { EventOf } from "@pawl/core";
import { outputMessages } from "./content.ts";
import { modelAttributes, usageAttributes } from "./convention.ts";
import { addChild, measure, type OpenAttempt, type Telling } from "./open-turn.ts";
import type { SpanShape } from "./span.ts";

export function attemptStarted(telling: Telling, event: EventOf<"attempt.started">): void {
  const { open, epoch } = telling;
  open.attempts.set(event.attempt, { started: event, start: open.clock.now, epoch });
  open.requests += 1;
  open.model = event.model;
  if (event.number === 1) return;
  const why = open.lastError === undefined ? {} : { "error.type": open.lastError };
  measure(telling, "pawl.retries", 1, { ...modelAttributes(event.model), ...why });
}

type AttemptEnd = Omit<EventOf<"attempt.ended">, "type" | "exposure">;

export function attemptEnded(telling: Telling, event: AttemptEnd): void {
  const { open, options } = telling;
  const attempt = open.attempts.get(event.attempt);
  if (!attempt) return;
  open.attempts.delete(event.attempt);
  const error = errorOf(event);
  if (error === undefined) delete open.lastError;
  else open.lastError = error;
  // A dead driver's attempt is closed by the next one, which has measured nothing.
  const measured = attempt.epoch === telling.epoch;
  const end = measured ? attempt.start + event.durationMs : Math.max(attempt.start, open.seenAt);
  const span: SpanShape = {
    id: event.attempt,
    name: `chat ${attempt.started.model.id}`,
    kind: "client",
    start: attempt.start,
    end,
    attributes: attributesOf(telling, attempt, event),
    moments: [],
    ...(error === undefined ? {} : { error: { type: error } }),
  };
  if (span.error && options.content === "record" && event.failure) span.error.message = event.failure.message;
  addChild(open, span);
  if (event.end === "committed") open.committed = { attempt: event.attempt, span };
  count(telling, attempt, event, measured, error);
}

/** In the batch of its attempt's end, or never. */
export function messageCommitted({ open, options }: Telling, event: EventOf<"message.committed">): void {
  for (const part of event.parts) {
    if (part.type !== "tool-call" || part.providerExecuted || part.cut) continue;
    const before = open.calls.get(part.id);
    open.calls.set(part.id, {
      approvalMs: 0,
      entries: 0,
      ...before,
      tool: part.tool,
      providerId: part.providerId,
      ...(options.content === "record" ? { input: part.input } : {}),
    });
  }
  if (open.committed?.attempt !== event.attempt) return;
  const { attributes } = open.committed.span;
  attributes["gen_ai.response.model"] = event.model.id;
  attributes["gen_ai.response.finish_reasons"] = [event.finish.reason];
  if (event.responseId !== undefined) attributes["gen_ai.response.id"] = event.responseId;
  if (options.content === "record")
    attributes["gen_ai.output.messages"] = outputMessages(event.parts, event.finish.reason);
  open.root.attributes["gen_ai.response.finish_reasons"] = [event.finish.reason];
  delete open.committed;
}

function errorOf({ end, failure }: AttemptEnd): string | undefined {
  return end === "committed" ? undefined : (failure?.kind ?? end);
}

function attributesOf(
  { open, options }: Telling,
  { started }: OpenAttempt,
  { end, failure, decision, usage, cost, firstPartMs }: AttemptEnd,
): Attributes {
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.conversation.id": options.session,
    ...modelAttributes(started.model),
    "gen_ai.request.stream": true,
    "gen_ai.response.time_to_first_chunk": firstPartMs === undefined ? undefined : firstPartMs / 1000,
    ...usageAttributes(usage),
    "http.response.status_code": failure?.status,
    "pawl.turn.id": open.started.turn,
    "pawl.step.number": open.steps.get(started.step),
    "pawl.attempt.id": started.attempt,
    "pawl.attempt.number": started.number,
    "pawl.attempt.purpose": started.purpose,
    "pawl.attempt.end": end,
    "pawl.failure.detector": failure?.detector,
    "pawl.decision.action": decision?.action,
    "pawl.decision.reason": decision?.reason,
    "pawl.decision.delay_ms": decision?.delayMs,
    "pawl.cost": cost,
  };
}

function count(
  telling: Telling,
  { started }: OpenAttempt,
  { end, decision, usage, cost, firstPartMs, durationMs }: AttemptEnd,
  measured: boolean,
  error: string | undefined,
): void {
  const { open } = telling;
  const operation = { "gen_ai.operation.name": "chat", ...modelAttributes(started.model) };
  const failed = error === undefined ? {} : { "error.type": error };
  open.elapsedMs += durationMs + (decision?.delayMs ?? 0);
  if (measured) measure(telling, "gen_ai.client.operation.duration", durationMs / 1000, { ...operation, ...failed });
  if (firstPartMs !== undefined)
    measure(telling, "gen_ai.client.operation.time_to_first_chunk", firstPartMs / 1000, operation);
  if (usage.measure === "reported") {
    open.tokens.reported = true;
    for (const type of ["input", "output"] as const) {
      const spent = usage[type];
      if (spent === undefined) continue;
      open.tokens[type] += spent;
      measure(telling, "gen_ai.client.token.usage", spent, { ...operation, "gen_ai.token.type": type });
    }
  }
  measure(telling, "pawl.attempts", 1, {
    ...modelAttributes(started.model),
    ...failed,
    "pawl.attempt.end": end,
    "pawl.attempt.purpose": started.purpose,
    ...(decision ? { "pawl.decision.action": decision.action } : {}),
  });
  if (decision && decision.delayMs > 0)
    measure(telling, "pawl.wait.duration", decision.delayMs / 1000, {
      ...failed,
      "pawl.decision.action": decision.action,
    });
  // A counter only grows: a refund is no cost.
  if (cost !== undefined && cost > 0) measure(telling, "pawl.cost", cost, modelAttributes(started.model));
}
