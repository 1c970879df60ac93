/**
 * Cache breakpoints, for a provider that wants to be told up to where a prefix will come again. Markers are no content (L10):
 * they are put on copies as a request leaves, and nothing records them.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { isAnthropic } from "../context/target.ts";

const marker = { anthropic: { cacheControl: { type: "ephemeral" } } };

/**
 * The instructions, the end of this request, and the end of the one before: an endpoint looks for an earlier breakpoint only
 * a few blocks back, and one step may add many. Three of the four that are allowed.
 */
export function withMarkers(prompt: LanguageModelV4Prompt, provider: string): LanguageModelV4Prompt {
  if (!isAnthropic(provider)) return prompt;
  const marked = new Set([0, prompt.length - 1, endBefore(prompt)]);
  return prompt.map((message, at) => (marked.has(at) ? markedMessage(message) : message));
}

/** Where the last request ended: before the model's last message. */
function endBefore(prompt: LanguageModelV4Prompt): number {
  return prompt.findLastIndex(({ role }) => role === "assistant") - 1;
}

function markedMessage(message: LanguageModelV4Message): LanguageModelV4Message {
  return { ...message, providerOptions: { ...message.providerOptions, ...marker } };
}
