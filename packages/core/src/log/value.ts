/** The values that events carry: failures, decisions, exposure, usage, outcomes, headers. All plain JSON. */
import type { Json } from "./event.ts";

export interface ModelRef {
  /** The AI SDK provider id, for example `openai.responses`. */
  provider: string;
  id: string;
}

/** What the model is asked with, besides the messages. Recorded where it changed, so that a request can be derived. */
export interface RequestHeader {
  model: ModelRef;
  instructions?: string;
  tools: ToolHeader[];
  settings?: Settings;
  toolChoice?: { type: "auto" | "none" | "required" } | { type: "tool"; toolName: string };
  providerOptions?: { [provider: string]: { [key: string]: Json | undefined } };
  outputSchema?: Json;
  reasoning?: ReasoningReplay;
  /**
   * `send`: the model is shown pictures (`image/*`) that people and tools hand over. Absent: it is told their names; a model
   * that takes none would refuse this request, and every later one.
   */
  images?: "send";
}

/**
 * Which reasoning of earlier messages goes back to the model that gave it. Absent: what carries the provider's own proof
 * (a signature, an item id), nothing else.
 * - `send`: all of it, also what has no proof: some endpoints refuse a tool call whose reasoning is missing.
 * - `turn`: all of the open turn, none of earlier ones.
 * - `drop`: none.
 */
export type ReasoningReplay = "send" | "turn" | "drop";

export interface ToolHeader {
  name: string;
  description?: string;
  /** JSON Schema (draft 7) of the input. */
  inputSchema: Json;
  /** A tool that the provider defines: sent as this, with no schema of ours. */
  provider?: { id: string; args: Json };
}

/** Sampling settings in the AI SDK's names. */
export interface Settings {
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  stopSequences?: string[];
  seed?: number;
  reasoning?: "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
}

/** What kind of fault of the world it was; never who noticed it (L5). */
export type FailureKind =
  | "connect" // no response headers came
  | "stream-broken" // silence, reset, cut, garbage or a transient error frame inside a stream
  | "rate-limited"
  | "overloaded"
  | "server"
  | "empty" // an answer that delivers nothing
  | "overflow" // the request does not fit the model's window
  | "quota"
  | "auth"
  | "rejected" // the provider says the request is wrong
  | "provider-state" // the provider refuses replayed opaque state
  | "filtered"
  | "aborted"
  | "tool-runtime" // the scheduler, a hook or the tool runtime failed: a step failure
  | "store" // the log refused an append: a step failure
  | "unknown";

/** Who noticed, for display only. `decide` has no such parameter. */
export type Detector = "socket" | "watchdog" | "error-part" | "end-of-stream" | "status" | "terminal-frame" | "runtime";

/** A classified fault: a value that can be logged. */
export interface Failure {
  kind: FailureKind;
  message: string;
  retryable: boolean;
  /** What the transport itself said of another try; `stop` binds whatever policy says. */
  said?: "retry" | "stop";
  detector?: Detector;
  status?: number;
  code?: string;
  requestId?: string;
  /** What the provider asked us to wait, milliseconds, as it was read from its headers. */
  retryAfterMs?: number;
  /** Messages of the cause chain, outermost first, without request bodies. */
  causes?: string[];
}

/**
 * What one attempt has let out: facts that only grow. Recovery reads these and the failure, nothing else.
 */
export interface Exposure {
  reasoning: boolean;
  text: boolean;
  /** Argument text of a call that is not complete. */
  toolInput: boolean;
  /** Complete calls, none entered. */
  calls: number;
  /** Eager `read` bodies entered. */
  readsEntered: number;
  /** A provider-executed tool that may have changed the world. */
  providerWrite: boolean;
  /** The request advances state on the server (`conversation`, background). */
  serverState: boolean;
  /** Signatures, encrypted reasoning, item ids: they leave with the attempt. */
  clientState: boolean;
  /** The protocol's own terminal frame was seen: the attempt is good. */
  terminal: boolean;
}

export type Action = "retry" | "seal" | "discard" | "compact" | "strip" | "stop";

/** What recovery does about a failure, and why. Recorded before any wait. */
export interface Decision {
  action: Action;
  /** The wait before the next attempt, milliseconds; `at` is when it was decided (UTC, ms). */
  delayMs: number;
  at: number;
  /** The row of the table or the budget that decided, in words for a person. */
  reason: string;
  /** Where the turn ends because a provider asked for more patience than we have: the moment it named (UTC, ms). */
  until?: number;
  /** The budget of the turn that ended it. */
  limit?: "time" | "cost";
}

/**
 * Tokens of one physical request. Absent is not zero. `measure` says where the figures come from: the provider, our own
 * estimate, or nowhere.
 */
export interface Usage {
  measure: "reported" | "estimated" | "unknown";
  input?: number;
  output?: number;
  reasoning?: number;
  cacheRead?: number;
  cacheWrite?: number;
}

/** The typed end of a turn. */
export type Outcome =
  | { type: "completed" }
  | { type: "failed" }
  | { type: "aborted" }
  | { type: "interrupted" }
  | { type: "rate-limited"; until?: number }
  | { type: "quota" }
  | { type: "truncated" }
  | { type: "empty" }
  | { type: "filtered" }
  | { type: "overflow" }
  | { type: "context-full" }
  | { type: "limit"; limit: "steps" | "attempts" | "time" | "cost" };

export type OutcomeType = Outcome["type"];
