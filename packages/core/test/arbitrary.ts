/** Arbitrary events, every type and every field: for properties over codec, folds, views and stores. */
import fc, { type Arbitrary } from "fast-check";
import type {
  EventOf,
  EventType,
  Json,
  LogEvent,
  MessagePart,
  Part,
  ProviderMeta,
  ToolOutput,
} from "../src/log/event.ts";
import type {
  Decision,
  Exposure,
  Failure,
  ModelRef,
  Outcome,
  RequestHeader,
  ToolHeader,
  Usage,
} from "../src/log/value.ts";

const double = (min?: number): Arbitrary<number> =>
  fc.double({ noNaN: true, noDefaultInfinity: true, ...(min !== undefined && { min }) });

export const anyId: Arbitrary<string> = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const text = fc.string({ unit: "binary", maxLength: 40 });
const count = fc.nat();
const amount = double(0);
export const anyJson = fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }) as Arbitrary<Json>;
const jsonObject = fc.dictionary(fc.string({ maxLength: 8 }), anyJson, { maxKeys: 3 });
const meta: Arbitrary<ProviderMeta> = fc.dictionary(fc.constantFrom("openai", "anthropic"), jsonObject, { maxKeys: 2 });
const model: Arbitrary<ModelRef> = fc.record({ provider: text, id: text });
const list = <T>(of: Arbitrary<T>): Arbitrary<T[]> => fc.array(of, { maxLength: 4 });

export const anyPart: Arbitrary<Part> = fc.oneof(
  fc.record({ type: fc.constant("text"), text }),
  fc.record(
    { type: fc.constant("file"), mediaType: text, filename: text, blob: text, url: text },
    { requiredKeys: ["type", "mediaType"] },
  ),
  fc.record({ type: fc.constant("data"), data: anyJson }),
);

export const anyMessagePart: Arbitrary<MessagePart> = fc.oneof(
  fc.record({ type: fc.constant("text"), id: anyId, text, meta }, { requiredKeys: ["type", "id", "text"] }),
  fc.record({ type: fc.constant("reasoning"), id: anyId, text, meta }, { requiredKeys: ["type", "id", "text"] }),
  fc.record(
    {
      type: fc.constant("tool-call"),
      id: anyId,
      providerId: text,
      tool: text,
      input: text,
      providerExecuted: fc.boolean(),
      cut: fc.boolean(),
      meta,
    },
    { requiredKeys: ["type", "id", "providerId", "tool", "input"] },
  ),
  fc.record(
    {
      type: fc.constant("tool-result"),
      id: anyId,
      call: text,
      tool: text,
      result: anyJson,
      isError: fc.boolean(),
      meta,
    },
    { requiredKeys: ["type", "id", "call", "tool", "result"] },
  ),
  fc.record(
    { type: fc.constant("file"), id: anyId, mediaType: text, data: text, url: text, meta },
    { requiredKeys: ["type", "id", "mediaType"] },
  ),
  fc.record(
    { type: fc.constant("source"), id: anyId, source: anyJson, meta },
    { requiredKeys: ["type", "id", "source"] },
  ),
  fc.record({ type: fc.constant("custom"), id: anyId, kind: text, meta }, { requiredKeys: ["type", "id", "kind"] }),
);

const failure: Arbitrary<Failure> = fc.record(
  {
    kind: fc.constantFrom("connect", "stream-broken", "rate-limited", "quota", "filtered", "store", "unknown"),
    message: text,
    retryable: fc.boolean(),
    detector: fc.constantFrom("socket", "watchdog", "status", "runtime"),
    status: count,
    code: text,
    requestId: text,
    retryAfterMs: amount,
    causes: list(text),
  },
  { requiredKeys: ["kind", "message", "retryable"] },
);

const exposure: Arbitrary<Exposure> = fc.record({
  reasoning: fc.boolean(),
  text: fc.boolean(),
  toolInput: fc.boolean(),
  calls: count,
  readsEntered: count,
  providerWrite: fc.boolean(),
  serverState: fc.boolean(),
  clientState: fc.boolean(),
  terminal: fc.boolean(),
});

const decision: Arbitrary<Decision> = fc.record(
  {
    action: fc.constantFrom("retry", "seal", "discard", "compact", "strip", "stop"),
    delayMs: amount,
    at: count,
    reason: text,
    until: count,
  },
  { requiredKeys: ["action", "delayMs", "at", "reason"] },
);

const usage: Arbitrary<Usage> = fc.record(
  {
    measure: fc.constantFrom("reported", "estimated", "unknown"),
    input: amount,
    output: amount,
    reasoning: amount,
    cacheRead: amount,
    cacheWrite: amount,
  },
  { requiredKeys: ["measure"] },
);

const outcome: Arbitrary<Outcome> = fc.oneof(
  fc.record({ type: fc.constantFrom("completed", "failed", "aborted", "interrupted", "quota", "truncated") }),
  fc.record({ type: fc.constantFrom("empty", "filtered", "overflow", "context-full") }),
  fc.record({ type: fc.constant("rate-limited"), until: count }, { requiredKeys: ["type"] }),
  fc.record({ type: fc.constant("limit"), limit: fc.constantFrom("steps", "attempts", "time", "cost") }),
);

const toolHeader: Arbitrary<ToolHeader> = fc.record(
  { name: text, description: text, inputSchema: anyJson, provider: fc.record({ id: text, args: anyJson }) },
  { requiredKeys: ["name", "inputSchema"] },
);
const header: Arbitrary<RequestHeader> = fc.record(
  {
    model,
    instructions: text,
    tools: list(toolHeader),
    settings: fc.record({ temperature: amount, stopSequences: list(text) }, { requiredKeys: [] }),
    toolChoice: fc.oneof(
      fc.record({ type: fc.constantFrom("auto", "none", "required") }),
      fc.record({ type: fc.constant("tool"), toolName: text }),
    ),
    providerOptions: fc.dictionary(fc.constantFrom("openai", "anthropic"), jsonObject, { maxKeys: 2 }),
    outputSchema: anyJson,
    reasoning: fc.constantFrom("send", "turn", "drop"),
    images: fc.constant("send" as const),
  },
  { requiredKeys: ["model", "tools"] },
);

const output: Arbitrary<ToolOutput> = fc.record(
  {
    content: list(anyPart),
    isError: fc.boolean(),
    code: fc.constantFrom("TOOL_NOT_STARTED", "TOOL_OUTCOME_UNKNOWN", "TOOL_TIMEOUT", "TOOL_FAILED"),
  },
  { requiredKeys: ["content", "isError"] },
);

const sessionEvents = {
  "session.created": fc.record(
    {
      cwd: text,
      workspace: text,
      title: text,
      agent: text,
      owner: text,
      labels: fc.dictionary(text, text, { maxKeys: 3 }),
      parent: fc.record({ session: anyId, seq: count }),
    },
    { requiredKeys: [] },
  ),
  "input.accepted": fc.record({ input: anyId, kind: fc.constantFrom("prompt", "steer"), content: list(anyPart) }),
  "context.compacted": fc.record(
    {
      upTo: count,
      by: fc.constantFrom("summary", "drop", "prune"),
      summary: list(anyPart),
      attempt: anyId,
      resultChars: count,
      tokensBefore: count,
      tokensAfter: count,
    },
    { requiredKeys: ["upTo", "summary"] },
  ),
  "provider-state.stripped": fc.record({ provider: text, reason: text }),
  "snapshot.recorded": fc.record({ step: anyId, snapshot: text }),
  "log.repaired": fc.record({ reason: text, from: count, to: count }),
  "note.recorded": fc.record({ about: text, text, data: anyJson }, { requiredKeys: ["about", "text"] }),
} as const;

const turnEvents = {
  "turn.started": fc.record(
    { turn: anyId, inputs: list(anyId), continues: anyId },
    { requiredKeys: ["turn", "inputs"] },
  ),
  "turn.ended": fc.record({ turn: anyId, outcome, failure, output: anyJson }, { requiredKeys: ["turn", "outcome"] }),
  "step.started": fc.record(
    { step: anyId, turn: anyId, number: count, header },
    { requiredKeys: ["step", "turn", "number"] },
  ),
  "step.ended": fc.record({ step: anyId, failure }, { requiredKeys: ["step"] }),
  "attempt.started": fc.record({
    attempt: anyId,
    step: anyId,
    number: count,
    purpose: fc.constantFrom("step", "compaction", "title"),
    model,
  }),
  "attempt.ended": fc.record(
    {
      attempt: anyId,
      end: fc.constantFrom("committed", "discarded", "sealed", "failed", "interrupted"),
      exposure,
      failure,
      decision,
      usage,
      cost: double(),
      firstPartMs: amount,
      durationMs: amount,
      fragment: list(anyMessagePart),
      notes: list(text),
    },
    { requiredKeys: ["attempt", "end", "exposure", "usage", "durationMs"] },
  ),
  "message.committed": fc.record(
    {
      attempt: anyId,
      parts: list(anyMessagePart),
      finish: fc.record({ reason: text, raw: text }, { requiredKeys: ["reason"] }),
      model,
      responseId: text,
    },
    { requiredKeys: ["attempt", "parts", "finish", "model"] },
  ),
} as const;

const toolEvents = {
  "approval.requested": fc.record(
    { approval: anyId, call: anyId, digest: text, ordinal: count, expiresAt: count },
    { requiredKeys: ["approval", "call", "digest", "ordinal"] },
  ),
  "approval.resolved": fc.record(
    {
      approval: anyId,
      answer: fc.constantFrom("allow", "deny"),
      by: text,
      scope: fc.constantFrom("call", "session", "forks"),
      reason: text,
      input: fc.dictionary(text, text, { maxKeys: 2 }),
    },
    { requiredKeys: ["approval", "answer", "by", "scope"] },
  ),
  "tool.entered": fc.record(
    {
      call: anyId,
      tool: text,
      digest: text,
      effect: fc.constantFrom("read", "idempotent", "write"),
      key: text,
      attempt: anyId,
      input: text,
      site: fc.record({ host: text, boot: text, id: text, where: text }),
    },
    { requiredKeys: ["call", "tool", "digest", "effect", "key"] },
  ),
  "tool.settled": fc.record(
    {
      call: anyId,
      output,
      by: fc.constantFrom("tool", "recovery", "reconcile", "rerun", "abandoned"),
      durationMs: amount,
    },
    { requiredKeys: ["call", "output", "by"] },
  ),
} as const;

/** A type that event.ts knows and this table forgets does not compile. */
const bodies: { [T in EventType]: Arbitrary<Omit<EventOf<T>, "type">> } = {
  ...sessionEvents,
  ...turnEvents,
  ...toolEvents,
};

export const eventTypes = Object.keys(bodies) as EventType[];

export function arbitraryEventOf<T extends EventType>(type: T): Arbitrary<EventOf<T>> {
  // JSON has no objects without a prototype and no negative zero; fast-check has.
  return bodies[type].map((body) => JSON.parse(JSON.stringify({ type, ...body })) as EventOf<T>);
}

export const arbitraryEvent: Arbitrary<LogEvent> = fc.oneof(
  ...eventTypes.map((type) => arbitraryEventOf(type) as Arbitrary<LogEvent>),
);
