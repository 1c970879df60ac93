/**
 * What a tool is. An AI SDK tool is one as it stands; the further fields say what recovery and the scheduler may do
 * with it, and what they leave out is assumed for the worst: it writes, and it locks everything.
 *
 * Owns: the contract between the runtime and a tool body. Invariants:
 * 1. A body of effect `write` is entered at most once per call (L4).
 * 2. A body gets a validated input, a signal that it should listen to, and a key that stays the same over re-runs.
 * 3. Whatever a body does (throw, hang, return rubbish), its call gets exactly one result.
 */
import type { JSONSchema7 } from "@ai-sdk/provider";
import type { Tool as AiTool, FlexibleSchema, ToolResultOutput } from "@ai-sdk/provider-utils";
import type { Effect, Json, Part } from "../log/event.ts";
import type { Site } from "./site.ts";

export interface Tool<Input = unknown> {
  description?: string | undefined;
  /** zod, Standard Schema, an AI SDK schema, or bare JSON Schema (draft 7). */
  inputSchema: FlexibleSchema<Input> | JSONSchema7;
  /** `read`: looks only. `idempotent`: may run again under the same key. `write` (default): never again. */
  effect?: Effect;
  /** Keys the body reads or writes; calls whose locks conflict run in call order. Default: everything. */
  locks?(input: Input): Lock[] | Promise<Lock[]>;
  /** Milliseconds; default {@link limit.toolTimeoutMs}. */
  timeoutMs?: number;
  /** The cap on what the model sees of one result, in characters; default {@link limit.toolOutputChars}. */
  outputChars?: number;
  /**
   * The body. May return a string, any JSON value, bytes, `{content: Part[], isError?}` (a file as a `data:` URL, too), or
   * an AsyncIterable whose last value counts and whose others are progress. A throw is an error result with the error's
   * message. What goes beyond the cap is kept beside the log.
   */
  execute?(input: Input, context: ToolContext): unknown;
  /**
   * Looks at the world after a crash, for a call that was entered and has no result. Must not repeat the effect. Of a tool with a
   * `site` it is asked there alone.
   */
  reconcile?(call: DoubtfulCall<Input>): Promise<Reconciled>;
  /**
   * For a tool whose effects, or whose only record of them, stay on the machine that runs it: the place there, for one call. It is
   * recorded with the host; on another host, or at another place, the outcome of a call that was entered is unknown, and its
   * result says where to look. One that throws has no place to which anybody can come back.
   */
  site?(call: { input: Input; idempotencyKey: string }): Site;
  /** AI SDK: asks for a person's approval also where the policy allows the call. */
  needsApproval?:
    | boolean
    | ((
        input: Input,
        options: { toolCallId: string; messages: []; context: Record<string, never> },
      ) => boolean | PromiseLike<boolean>);
  /** AI SDK: how a return value is told to the model. */
  toModelOutput?(options: {
    toolCallId: string;
    input: Input;
    output: unknown;
  }): ToolResultOutput | PromiseLike<ToolResultOutput>;
}

/** Two locks conflict when their keys are equal, or one is `*`, and one of them writes. */
export interface Lock {
  key: string;
  mode: "read" | "write";
}

export const everything: Lock = { key: "*", mode: "write" };

export interface ToolContext {
  /** Aborts on the turn's abort and on the call's deadline. A body that ignores it is abandoned after a grace. */
  signal: AbortSignal;
  /** The session whose call this is. */
  session: string;
  callId: string;
  /** The same for every run of this call. Hand it to services that know idempotency keys. */
  idempotencyKey: string;
  /** Tells subscribers how it goes; not recorded. */
  progress(data: Json): void;
  /** The AI SDK's names for the same things, so that its tools work as they are. */
  abortSignal: AbortSignal;
  toolCallId: string;
  messages: [];
  context: Record<string, never>;
}

export interface DoubtfulCall<Input = unknown> {
  session: string;
  callId: string;
  idempotencyKey: string;
  input: Input;
  /** When the body was entered, UTC ms. */
  enteredAt: number;
  /** Aborts when nobody wants to wait any longer: the outcome is then unknown. */
  signal: AbortSignal;
}

/** `not-done` is believed only from a reconciler that keeps a late starter from starting. */
export type Reconciled =
  | { verdict: "done"; output: string | { content: Part[]; isError?: boolean } }
  | { verdict: "not-done" }
  | { verdict: "unknown" };

/** Tools by the name the model calls them: ours and the AI SDK's, side by side. */
export type ToolSet = { [name: string]: Tool<never> | AiTool };

/** Types a tool's input from its schema. Returns the tool as it is. */
export function defineTool<Input>(tool: Tool<Input> & { inputSchema: FlexibleSchema<Input> }): Tool<Input>;
export function defineTool<Input>(tool: Tool<Input> & { inputSchema: JSONSchema7 }): Tool<Input>;
export function defineTool<Input>(tool: Tool<Input>): Tool<Input> {
  return tool;
}
