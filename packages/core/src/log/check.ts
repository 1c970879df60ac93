/**
 * The one validator of events, for append and for load. The compiler holds it to the types: a field that event.ts
 * declares and this table forgets is a type error.
 */
import type {
  CallPart,
  EventOf,
  EventType,
  Json,
  LogEvent,
  MessagePart,
  Part,
  ProviderMeta,
  ToolOutput,
} from "./event.ts";
import {
  amount,
  boolean,
  count,
  id,
  json,
  list,
  number,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  seen,
  string,
  tagged,
} from "./shape.ts";
import type { Decision, Exposure, Failure, ModelRef, Outcome, RequestHeader, ToolHeader, Usage } from "./value.ts";

const meta = optional(json<ProviderMeta>());
const model = object<ModelRef>({ provider: string, id: string });

export const partShape = tagged<Part, "type">("type", {
  text: object({ text: string }),
  file: object({ mediaType: string, filename: optional(string), blob: optional(string), url: optional(string) }),
  data: object({ data: json() }),
});

const messagePart = tagged<MessagePart, "type">("type", {
  text: object({ id, text: string, meta }),
  reasoning: object({ id, text: string, meta }),
  "tool-call": object<Omit<CallPart, "type">>({
    id,
    providerId: string,
    tool: string,
    input: string,
    providerExecuted: optional(boolean),
    cut: optional(boolean),
    meta,
  }),
  "tool-result": object({ id, call: string, tool: string, result: json(), isError: optional(boolean), meta }),
  file: object({ id, mediaType: string, data: optional(string), url: optional(string), meta }),
  source: object({ id, source: json(), meta }),
  custom: object({ id, kind: string, meta }),
});

const failure = object<Failure>({
  kind: oneOf(
    "connect",
    "stream-broken",
    "rate-limited",
    "overloaded",
    "server",
    "empty",
    "overflow",
    "quota",
    "auth",
    "rejected",
    "provider-state",
    "filtered",
    "aborted",
    "tool-runtime",
    "store",
    "unknown",
  ),
  message: string,
  retryable: boolean,
  said: optional(oneOf("retry", "stop")),
  detector: optional(oneOf("socket", "watchdog", "error-part", "end-of-stream", "status", "terminal-frame", "runtime")),
  status: optional(count),
  code: optional(string),
  requestId: optional(string),
  retryAfterMs: optional(amount),
  causes: optional(list(string)),
});

const exposure = object<Exposure>({
  reasoning: boolean,
  text: boolean,
  toolInput: boolean,
  calls: count,
  readsEntered: count,
  providerWrite: boolean,
  serverState: boolean,
  clientState: boolean,
  terminal: boolean,
});

const decision = object<Decision>({
  action: oneOf("retry", "seal", "discard", "compact", "strip", "stop"),
  delayMs: amount,
  at: count,
  reason: string,
  until: optional(count),
  limit: optional(oneOf("time", "cost")),
});

const usage = object<Usage>({
  measure: oneOf("reported", "estimated", "unknown"),
  input: optional(amount),
  output: optional(amount),
  reasoning: optional(amount),
  cacheRead: optional(amount),
  cacheWrite: optional(amount),
});

const none = object<Record<never, never>>({});
const outcome = tagged<Outcome, "type">("type", {
  completed: none,
  failed: none,
  aborted: none,
  interrupted: none,
  "rate-limited": object({ until: optional(count) }),
  quota: none,
  truncated: none,
  empty: none,
  filtered: none,
  overflow: none,
  "context-full": none,
  limit: object({ limit: oneOf("steps", "attempts", "time", "cost") }),
});

const toolHeader = object<ToolHeader>({
  name: string,
  description: optional(string),
  inputSchema: json(),
  provider: optional(object({ id: string, args: json<Json>() })),
});
export const headerShape = object<RequestHeader>({
  model,
  instructions: optional(string),
  tools: list(toolHeader),
  settings: optional(json()),
  toolChoice: optional(json()),
  providerOptions: optional(json()),
  outputSchema: optional(json()),
  reasoning: optional(oneOf("send", "turn", "drop")),
  images: optional(oneOf("send")),
});

const output = object<ToolOutput>({
  content: list(partShape),
  isError: boolean,
  code: optional(
    oneOf(
      "TOOL_NOT_STARTED",
      "TOOL_OUTCOME_UNKNOWN",
      "TOOL_INPUT_CUT",
      "TOOL_INPUT_INVALID",
      "TOOL_UNKNOWN",
      "TOOL_DENIED",
      "TOOL_TIMEOUT",
      "TOOL_ABORTED",
      "TOOL_ABANDONED",
      "TOOL_FAILED",
    ),
  ),
});

const events: { [T in EventType]: Shape<Omit<EventOf<T>, "type">> } = {
  "session.created": object({
    cwd: optional(string),
    workspace: optional(string),
    title: optional(string),
    agent: optional(string),
    owner: optional(string),
    labels: optional(record(string)),
    parent: optional(object({ session: id, seq: count })),
  }),
  "input.accepted": object({ input: id, kind: oneOf("prompt", "steer"), content: list(partShape) }),
  "turn.started": object({ turn: id, inputs: list(id), continues: optional(id) }),
  "turn.ended": object({ turn: id, outcome, failure: optional(failure), output: optional(json()) }),
  "step.started": object({ step: id, turn: id, number: count, header: optional(headerShape) }),
  "step.ended": object({ step: id, failure: optional(failure) }),
  "attempt.started": object({
    attempt: id,
    step: id,
    number: count,
    purpose: oneOf("step", "compaction", "title"),
    model,
  }),
  "attempt.ended": object({
    attempt: id,
    end: oneOf("committed", "discarded", "sealed", "failed", "interrupted"),
    exposure,
    failure: optional(failure),
    decision: optional(decision),
    usage,
    cost: optional(number),
    firstPartMs: optional(amount),
    durationMs: amount,
    fragment: optional(list(messagePart)),
    notes: optional(list(string)),
  }),
  "message.committed": object({
    attempt: id,
    parts: list(messagePart),
    finish: object({ reason: string, raw: optional(string) }),
    model,
    responseId: optional(string),
  }),
  "approval.requested": object({ approval: id, call: id, digest: string, ordinal: count, expiresAt: optional(count) }),
  "approval.resolved": object({
    approval: id,
    answer: oneOf("allow", "deny"),
    by: string,
    scope: oneOf("call", "session", "forks"),
    reason: optional(string),
    input: optional(record(string)),
  }),
  "tool.entered": object({
    call: id,
    tool: string,
    digest: string,
    effect: oneOf("read", "idempotent", "write"),
    key: string,
    attempt: optional(id),
    input: optional(string),
    site: optional(object({ host: string, boot: string, id: string, where: string })),
  }),
  "tool.settled": object({
    call: id,
    output,
    by: oneOf("tool", "recovery", "reconcile", "rerun", "abandoned"),
    durationMs: optional(amount),
  }),
  "context.compacted": object({
    upTo: count,
    by: optional(oneOf("summary", "drop", "prune")),
    summary: list(partShape),
    attempt: optional(id),
    resultChars: optional(count),
    tokensBefore: optional(count),
    tokensAfter: optional(count),
  }),
  "provider-state.stripped": object({ provider: string, reason: string }),
  "snapshot.recorded": object({ step: id, snapshot: string }),
  "log.repaired": object({ reason: string, from: count, to: count }),
  "note.recorded": object({ about: string, text: string, data: optional(json()) }),
};

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(events, type);
}

/** Undefined for a valid event, else what is wrong: the field, what is allowed, the value seen. */
export function checkEvent(event: LogEvent): string | undefined {
  if (typeof event !== "object" || event === null || !isEventType(event.type)) {
    return `unknown type ${seen((event as { type?: unknown } | null)?.type)}`;
  }
  return events[event.type].check(event, event.type);
}
