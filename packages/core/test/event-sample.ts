/** One event of each type with every field there is, and the paths of the fields that hold any JSON. */
import type { EventOf, EventType, MessagePart, Part } from "../src/log/event.ts";
import type { Failure } from "../src/log/value.ts";

const content: Part[] = [
  { type: "text", text: "hello" },
  { type: "file", mediaType: "image/png", filename: "a.png", blob: "ab", url: "https://example.org/a.png" },
  { type: "data", data: { any: 1 } },
];
const meta = { openai: { itemId: "msg_1" } };
const parts: MessagePart[] = [
  { type: "text", id: "p-1", text: "hello", meta },
  { type: "reasoning", id: "p-2", text: "hmm", meta },
  {
    type: "tool-call",
    id: "p-3",
    providerId: "call_1",
    tool: "read",
    input: "{}",
    providerExecuted: false,
    cut: true,
    meta,
  },
  { type: "tool-result", id: "p-4", call: "p-3", tool: "read", result: 1, isError: false, meta },
  { type: "file", id: "p-5", mediaType: "image/png", data: "aa", url: "https://example.org", meta },
  { type: "source", id: "p-6", source: { url: "https://example.org" }, meta },
  { type: "custom", id: "p-7", kind: "x", meta },
];
const failure: Failure = {
  kind: "rate-limited",
  message: "slow down",
  retryable: true,
  detector: "status",
  status: 429,
  code: "rate_limit",
  requestId: "req_1",
  retryAfterMs: 1_000,
  causes: ["429"],
};
const exposure = {
  reasoning: true,
  text: true,
  toolInput: false,
  calls: 1,
  readsEntered: 0,
  providerWrite: false,
  serverState: false,
  clientState: false,
  terminal: true,
};
const model = { provider: "openai.chat", id: "m" };

export const samples: { [T in EventType]: Required<EventOf<T>> } = {
  "session.created": {
    type: "session.created",
    cwd: "/w",
    workspace: "w",
    title: "t",
    agent: "a",
    owner: "o",
    labels: { team: "x" },
    parent: { session: "s", seq: 1 },
  },
  "input.accepted": { type: "input.accepted", input: "i-1", kind: "prompt", content },
  "turn.started": { type: "turn.started", turn: "t-1", inputs: ["i-1"], continues: "t-0" },
  "turn.ended": { type: "turn.ended", turn: "t-1", outcome: { type: "rate-limited", until: 5 }, failure, output: [1] },
  "step.started": {
    type: "step.started",
    step: "s-1",
    turn: "t-1",
    number: 1,
    header: {
      model,
      instructions: "be kind",
      tools: [
        { name: "read", description: "reads", inputSchema: { type: "object" }, provider: { id: "p.read", args: {} } },
      ],
      settings: { temperature: 0 },
      toolChoice: { type: "auto" },
      providerOptions: { openai: { store: false } },
      outputSchema: { type: "object" },
    },
  },
  "step.ended": { type: "step.ended", step: "s-1", failure },
  "attempt.started": { type: "attempt.started", attempt: "a-1", step: "s-1", number: 1, purpose: "step", model },
  "attempt.ended": {
    type: "attempt.ended",
    attempt: "a-1",
    end: "discarded",
    exposure,
    failure,
    decision: { action: "retry", delayMs: 1, at: 2, reason: "row 3", until: 4 },
    usage: { measure: "reported", input: 1, output: 2, reasoning: 3, cacheRead: 4, cacheWrite: 5 },
    cost: 0.1,
    firstPartMs: 1,
    durationMs: 2,
    fragment: parts,
    notes: ["late usage"],
  },
  "message.committed": {
    type: "message.committed",
    attempt: "a-1",
    parts,
    finish: { reason: "stop", raw: "end_turn" },
    model,
    responseId: "resp_1",
  },
  "approval.requested": {
    type: "approval.requested",
    approval: "ap-1",
    call: "p-3",
    digest: "d",
    ordinal: 0,
    expiresAt: 9,
  },
  "approval.resolved": {
    type: "approval.resolved",
    approval: "ap-1",
    answer: "deny",
    by: "me",
    scope: "session",
    reason: "no",
    input: { command: "git *" },
  },
  "tool.entered": {
    type: "tool.entered",
    call: "p-3",
    tool: "read",
    digest: "d",
    effect: "read",
    key: "k",
    attempt: "a-1",
    input: "{}",
  },
  "tool.settled": {
    type: "tool.settled",
    call: "p-3",
    output: { content, isError: true, code: "TOOL_FAILED" },
    by: "tool",
    durationMs: 3,
  },
  "context.compacted": { type: "context.compacted", upTo: 3, summary: content, attempt: "a-1" },
  "provider-state.stripped": { type: "provider-state.stripped", provider: "openai", reason: "refused" },
  "snapshot.recorded": { type: "snapshot.recorded", step: "s-1", snapshot: "abc" },
  "log.repaired": { type: "log.repaired", reason: "hole", from: 3, to: 9 },
  "note.recorded": { type: "note.recorded", about: "p-3", text: "late", data: { any: true } },
};

/** Fields whose value is any JSON: nothing below them is checked. */
export const opaque: ReadonlySet<string> = new Set([
  "labels",
  "data",
  "meta",
  "result",
  "source",
  "settings",
  "toolChoice",
  "providerOptions",
  "outputSchema",
  "inputSchema",
  "args",
]);
