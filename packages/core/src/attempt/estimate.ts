/**
 * Our own figure where a provider reported none: a stream that broke was paid for all the same, and books that show
 * nothing for it are not honest. An estimate says that it is one.
 */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { MessagePart } from "../log/event.ts";
import { messageChars, tokensOf } from "../log/size.ts";
import type { Usage } from "../log/value.ts";
import type { AttemptResult } from "./run.ts";

/** What was sent: the tools are defined in every request, and may be most of it. */
export interface Sent {
  prompt: LanguageModelV4Prompt;
  tools?: readonly unknown[] | undefined;
}

/** What an answer that broke off cost at least: its request, and what had come. Unknown where nothing had come. */
export function estimateUsage({ prompt, tools }: Sent, parts: readonly MessagePart[]): Usage {
  if (parts.length === 0) return { measure: "unknown" };
  const reasoning = tokens(parts.map((part) => (part.type === "reasoning" ? part.text.length : 0)));
  const other = tokens(
    parts.map((part) => (part.type === "text" ? part.text.length : part.type === "tool-call" ? part.input.length : 0)),
  );
  return {
    measure: "estimated",
    input: tokens([...prompt.map(messageChars), tools ? JSON.stringify(tools).length : 0]),
    output: reasoning + other,
    ...(reasoning > 0 ? { reasoning } : {}),
  };
}

/** The result, with our own figure where the provider reported none. */
export function counted(result: AttemptResult, sent: Sent): AttemptResult {
  return result.usage.measure === "unknown" ? { ...result, usage: estimateUsage(sent, result.parts) } : result;
}

/** Tokens of one text. */
export function estimateText(text: string): number {
  return tokensOf(text.length);
}

function tokens(chars: readonly number[]): number {
  return tokensOf(chars.reduce((sum, count) => sum + count, 0));
}
