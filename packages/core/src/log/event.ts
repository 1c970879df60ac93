/**
 * The facts of a session: what happened, in the vocabulary of docs/design.md.
 *
 * Owns: the closed union of events and the shapes inside them. Does not own: how they are stored (envelope, codec) or
 * what they mean together (folds). Invariants:
 * 1. An event is data: JSON values only, no dates, no undefined inside arrays, byte-exact provider state as received.
 * 2. Content handed to or from people and tools is always `Part[]`.
 * 3. A new type, or a new meaning of a field, is a new version; readers that do not know it must be told whether they
 *    may pass over it (`ignorable`).
 */
import type { Decision, Exposure, Failure, ModelRef, Outcome, RequestHeader, Usage } from "./value.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };

/** What people and tools hand over. Files are a blob of the store (sha256, hex) or a URL. */
export type Part =
  | { type: "text"; text: string }
  | { type: "file"; mediaType: string; filename?: string; blob?: string; url?: string }
  | { type: "data"; data: Json };

/** Provider metadata of a part, opaque and byte-exact: signatures, item ids, encrypted reasoning. */
export type ProviderMeta = { [provider: string]: { [key: string]: Json | undefined } };

/**
 * One part of a committed assistant message, in the order the model gave it. `id` is ours: `<attempt>-<n>`. A tool
 * call's `id` is the call id everywhere else in the log; `providerId` is only what the wire said.
 */
export type MessagePart =
  | { type: "text"; id: string; text: string; meta?: ProviderMeta }
  | { type: "reasoning"; id: string; text: string; meta?: ProviderMeta }
  | {
      type: "tool-call";
      id: string;
      providerId: string;
      tool: string;
      /** The argument text exactly as received; it may be no JSON at all. */
      input: string;
      providerExecuted?: boolean;
      /** The output limit cut this call: its input is a prefix and must never run. */
      cut?: boolean;
      meta?: ProviderMeta;
    }
  | {
      type: "tool-result";
      id: string;
      call: string;
      tool: string;
      result: Json;
      isError?: boolean;
      meta?: ProviderMeta;
    }
  | { type: "file"; id: string; mediaType: string; data?: string; url?: string; meta?: ProviderMeta }
  | { type: "source"; id: string; source: Json; meta?: ProviderMeta }
  | { type: "custom"; id: string; kind: string; meta?: ProviderMeta };

export type Effect = "read" | "idempotent" | "write";

/** Codes of results that no tool body produced. */
export type ResultCode =
  | "TOOL_NOT_STARTED"
  | "TOOL_OUTCOME_UNKNOWN"
  | "TOOL_INPUT_CUT"
  | "TOOL_INPUT_INVALID"
  | "TOOL_UNKNOWN"
  | "TOOL_DENIED"
  | "TOOL_TIMEOUT"
  | "TOOL_ABORTED"
  | "TOOL_ABANDONED"
  | "TOOL_FAILED";

/** What the model is told about a call. */
export interface ToolOutput {
  content: Part[];
  isError: boolean;
  code?: ResultCode;
}

export interface SessionCreated {
  type: "session.created";
  cwd?: string;
  workspace?: string;
  title?: string;
  agent?: string;
  owner?: string;
  labels?: { [label: string]: string };
  parent?: { session: string; seq: number };
}

/** A post that the driver has moved from the mailbox into the log. */
export interface InputAccepted {
  type: "input.accepted";
  input: string;
  kind: "prompt" | "steer";
  content: Part[];
}

export interface TurnStarted {
  type: "turn.started";
  turn: string;
  inputs: string[];
  /** The ended turn that this one goes on from, without an input of its own. */
  continues?: string;
}

export interface TurnEnded {
  type: "turn.ended";
  turn: string;
  outcome: Outcome;
  /** The original failure, unchanged by anything that recovery met later. */
  failure?: Failure;
  /** Structured output, where a schema was asked for. */
  output?: Json;
}

export interface StepStarted {
  type: "step.started";
  step: string;
  turn: string;
  number: number;
  /** Present on the first step and wherever it changed. */
  header?: RequestHeader;
}

export interface StepEnded {
  type: "step.ended";
  step: string;
  failure?: Failure;
}

/** Durable before the request leaves: an attempt that no one counted cannot exist (L9). */
export interface AttemptStarted {
  type: "attempt.started";
  attempt: string;
  step: string;
  /** 1, 2, 3 ... within the step. */
  number: number;
  purpose: "step" | "compaction" | "title";
  model: ModelRef;
}

export type AttemptEnd = "committed" | "discarded" | "sealed" | "failed" | "interrupted";

export interface AttemptEnded {
  type: "attempt.ended";
  attempt: string;
  end: AttemptEnd;
  exposure: Exposure;
  failure?: Failure;
  decision?: Decision;
  usage: Usage;
  /** Price of this request in units of the price list's currency; absent where no price is known. */
  cost?: number;
  /** From dispatch to the first part, and to the end. Monotonic, milliseconds. */
  firstPartMs?: number;
  durationMs: number;
  /** What the attempt had let out, where it was not committed: kept for audit, never sent as it is. */
  fragment?: MessagePart[];
  /** What the stream did after its terminal frame, and the like. */
  notes?: string[];
}

export interface MessageCommitted {
  type: "message.committed";
  attempt: string;
  parts: MessagePart[];
  finish: { reason: string; raw?: string };
  model: ModelRef;
  responseId?: string;
}

export interface ApprovalRequested {
  type: "approval.requested";
  approval: string;
  call: string;
  digest: string;
  ordinal: number;
  expiresAt?: number;
}

export interface ApprovalResolved {
  type: "approval.resolved";
  approval: string;
  answer: "allow" | "deny";
  by: string;
  /**
   * `session` and `forks`: the answer stands for later calls, too, until a second record of the same approval takes it
   * back.
   */
  scope: "call" | "session" | "forks";
  reason?: string;
  /** Of a standing answer: which inputs of the tool it is for, by field and pattern. Absent: only the very same call. */
  input?: { [field: string]: string };
}

/** Durable directly before the body, after validation and approval. The driver that appends it may enter once (L4). */
export interface ToolEntered {
  type: "tool.entered";
  call: string;
  tool: string;
  /** sha256 (hex) of tool and exact input. */
  digest: string;
  effect: Effect;
  /** Stable over re-runs of the same call. */
  key: string;
  /** Eager reads only: the attempt they belong to, and the input, since no message holds the call yet. */
  attempt?: string;
  input?: string;
  /** Of a tool whose effects stay on the machine that runs it: which one, and the place there (tool/site). */
  site?: { host: string; boot: string; id: string; where: string };
}

export type SettledBy = "tool" | "recovery" | "reconcile" | "rerun" | "abandoned";

/** The one result of a call. Recorded as each finishes, in any order. */
export interface ToolSettled {
  type: "tool.settled";
  call: string;
  output: ToolOutput;
  by: SettledBy;
  durationMs?: number;
}

export interface ContextCompacted {
  type: "context.compacted";
  /** Entries up to and including this seq are replaced in what the model sees: a settled boundary, never falling. */
  upTo: number;
  /**
   * - `summary` (default): by `summary`, which the model wrote in `attempt`.
   * - `drop`: by `summary`, a fixed text; no model was asked.
   * - `prune`: by themselves, the results of tools in them cut to `resultChars`. `summary` is empty.
   */
  by?: "summary" | "drop" | "prune";
  summary: Part[];
  attempt?: string;
  resultChars?: number;
  /** What the conversation measured before and after, in tokens: reported or our own estimate. */
  tokensBefore?: number;
  tokensAfter?: number;
}

export interface ProviderStateStripped {
  type: "provider-state.stripped";
  provider: string;
  reason: string;
}

export interface SnapshotRecorded {
  type: "snapshot.recorded";
  step: string;
  snapshot: string;
}

export interface LogRepaired {
  type: "log.repaired";
  reason: string;
  /** The last good seq before the hole, and the first after it. */
  from: number;
  to: number;
}

/** Late results, observations after a terminal frame, warnings: for people, never for the model. */
export interface NoteRecorded {
  type: "note.recorded";
  about: string;
  text: string;
  data?: Json;
}

export type LogEvent =
  | SessionCreated
  | InputAccepted
  | TurnStarted
  | TurnEnded
  | StepStarted
  | StepEnded
  | AttemptStarted
  | AttemptEnded
  | MessageCommitted
  | ApprovalRequested
  | ApprovalResolved
  | ToolEntered
  | ToolSettled
  | ContextCompacted
  | ProviderStateStripped
  | SnapshotRecorded
  | LogRepaired
  | NoteRecorded;

export type EventType = LogEvent["type"];
export type EventOf<T extends EventType> = Extract<LogEvent, { type: T }>;
/** A tool call of a committed message. */
export type CallPart = Extract<MessagePart, { type: "tool-call" }>;
