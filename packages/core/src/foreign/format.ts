/**
 * Which format a kept message is of, by its structure. Pure.
 *
 * Plain texts of a user and an assistant are alike in all: they are of any format, and read the same in each.
 */
import { aiSdkMessages } from "./ai-sdk.ts";
import { anthropicMessage } from "./anthropic.ts";
import type { ForeignFormat, Translator } from "./heard.ts";
import { openaiChatMessage } from "./openai-chat.ts";
import { type Fields, isFields } from "./repair-list.ts";

export function translatorOf(format: ForeignFormat): Translator {
  switch (format) {
    case "ai-sdk":
      return aiSdkMessages();
    case "openai-chat":
      return openaiChatMessage;
    case "anthropic":
      return anthropicMessage;
  }
}

/** Types of parts that only one format has. */
const ofPart: Readonly<Record<string, ForeignFormat>> = {
  "tool-call": "ai-sdk",
  "tool-result": "ai-sdk",
  "tool-approval-request": "ai-sdk",
  "tool-approval-response": "ai-sdk",
  reasoning: "ai-sdk",
  "reasoning-file": "ai-sdk",
  custom: "ai-sdk",
  image_url: "openai-chat",
  input_audio: "openai-chat",
  refusal: "openai-chat",
  tool_use: "anthropic",
  tool_result: "anthropic",
  thinking: "anthropic",
  redacted_thinking: "anthropic",
  server_tool_use: "anthropic",
  mcp_tool_use: "anthropic",
  document: "anthropic",
};

/** `any`: it reads the same in every format. Undefined: a message of none that is known here. */
export function formatOf(message: Fields): ForeignFormat | "any" | undefined {
  const { role, content } = message;
  if (role === "developer" || role === "function") return "openai-chat";
  if (role !== "system" && role !== "user" && role !== "assistant" && role !== "tool") return undefined;
  if (typeof message["tool_call_id"] === "string" || Array.isArray(message["tool_calls"])) return "openai-chat";
  if (["refusal", "reasoning_content", "function_call", "audio"].some((field) => message[field] != null))
    return "openai-chat";
  if (typeof content === "string") return role === "tool" ? undefined : "any";
  if (content === null || content === undefined)
    return role === "assistant" && content === null ? "openai-chat" : undefined;
  if (!Array.isArray(content)) return undefined;
  const found = content.map(formatOfPart);
  if (found.includes(undefined)) return undefined;
  return found.find((format) => format !== "any") ?? (role === "tool" ? undefined : "any");
}

function formatOfPart(part: unknown): ForeignFormat | "any" | undefined {
  if (!isFields(part)) return undefined;
  const { type } = part;
  if (type === "text") return part["providerOptions"] === undefined ? "any" : "ai-sdk";
  if (type === "image") return part["source"] === undefined ? "ai-sdk" : "anthropic";
  if (type === "file") return part["file"] === undefined ? "ai-sdk" : "openai-chat";
  if (typeof type !== "string") return undefined;
  return Object.hasOwn(ofPart, type) ? ofPart[type] : type.endsWith("_tool_result") ? "anthropic" : undefined;
}
