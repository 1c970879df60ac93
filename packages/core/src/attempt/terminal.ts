/**
 * The protocol's own terminal frame: what says that an answer is whole, before a provider package emits `finish` late or
 * invents one. Pure; reads one parsed frame of any of the three protocols.
 */
import { read } from "./chain.ts";

/** How an answer ended, in the words of the AI SDK; `raw` is the provider's. */
export interface Finish {
  reason: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "interrupted" | "other";
  raw?: string;
}

export interface Terminal {
  /** Undefined where the frame only says that it is over. */
  finish?: Finish;
  /** Nothing that matters follows: usage came with it or before. After a chat's finish reason, usage may still come. */
  last: boolean;
}

export function terminalOf(frame: unknown): Terminal | undefined {
  switch (read(frame, "type")) {
    case "message_stop":
      return { last: true };
    case "response.completed":
      return { finish: { reason: "stop" }, last: true };
    case "response.incomplete":
      return { finish: incomplete(read(read(frame, "response"), "incomplete_details")), last: true };
    case "response.failed":
      return { finish: { reason: "error", raw: "error" }, last: true };
    default:
      return chatFinish(read(frame, "choices"));
  }
}

function incomplete(details: unknown): Finish {
  const reason = read(details, "reason");
  switch (reason) {
    case "max_output_tokens":
      return { reason: "length", raw: reason };
    case "content_filter":
      return { reason: "content-filter", raw: reason };
    default:
      return { reason: "other", ...(typeof reason === "string" ? { raw: reason } : {}) };
  }
}

/** Some servers send an empty reason with every delta: only one that says something is an end. */
function chatFinish(choices: unknown): Terminal | undefined {
  const raw = Array.isArray(choices) ? read(choices[0], "finish_reason") : undefined;
  if (typeof raw !== "string" || raw.trim() === "") return undefined;
  return { finish: { reason: chatReason(raw), raw }, last: false };
}

function chatReason(raw: string): Finish["reason"] {
  switch (raw) {
    case "stop":
    case "length":
      return raw;
    case "content_filter":
      return "content-filter";
    case "tool_calls":
    case "function_call":
      return "tool-calls";
    default:
      return "other";
  }
}
