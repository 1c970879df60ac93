/**
 * How the AI SDK 7 turns messages into what a provider package takes, as far as these tests need it: `ai` itself is no
 * dependency. It refuses a call without a result, joins tool messages, and leaves out what is between it and a person.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ModelMessage } from "@ai-sdk/provider-utils";

type Part = { type: string; [field: string]: unknown };

export function promptOfMessages(messages: readonly ModelMessage[]): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  const open = new Set<string>();
  const refuseOpen = () => {
    if (open.size > 0) throw new Error(`tool results are missing for tool calls ${[...open].join(", ")}`);
  };
  for (const message of messages) {
    const { role } = message;
    if (role === "user" || role === "system") refuseOpen();
    const converted = convertedOf(message);
    const last = prompt.at(-1);
    if (converted.role === "assistant" || converted.role === "tool") {
      for (const part of converted.content) {
        if (role === "assistant" && part.type === "tool-call" && !part.providerExecuted) open.add(part.toolCallId);
        if (role === "tool" && part.type === "tool-result") open.delete(part.toolCallId);
      }
    }
    if (converted.role === "tool" && last?.role === "tool") last.content.push(...converted.content);
    else prompt.push(converted);
  }
  refuseOpen();
  return prompt.filter(({ role, content }) => role !== "tool" || content.length > 0);
}

function convertedOf({ role, content, providerOptions }: ModelMessage): LanguageModelV4Message {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : (content as unknown as Part[]);
  const rest = providerOptions === undefined ? {} : { providerOptions };
  if (role === "system") return { role, content: String(content), ...rest };
  const kept = parts
    .filter(
      ({ type, text, providerOptions: state }) => type !== "text" || text !== "" || (role === "assistant" && state),
    )
    .filter(({ type, providerExecuted }) => !type.startsWith("tool-approval") || (role === "tool" && providerExecuted))
    .map((part) => (part.type === "image" || part.type === "file" ? filePart(part) : { ...part }));
  return { role, content: kept, ...rest } as unknown as LanguageModelV4Message;
}

function filePart({ type, image, data = image, mediaType = "image/png", ...rest }: Part): Part {
  return { ...rest, type: "file", mediaType, data: typeof data === "string" ? { type: "data", data } : data };
}
