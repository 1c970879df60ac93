import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { type ModelServer, type ModelServerOptions, type Protocol, startModelServer } from "../src/index.ts";

/** The published provider package of a protocol, pointed at the server. */
export function modelOf(server: ModelServer, protocol: Protocol, apiKey = "test"): LanguageModelV4 {
  const baseURL = server.baseUrl(protocol);
  switch (protocol) {
    case "chat":
      return createOpenAICompatible({ name: "scripted", baseURL, apiKey, includeUsage: true })("scripted");
    case "responses":
      return createOpenAI({ baseURL, apiKey }).responses("gpt-5");
    case "anthropic":
      return createAnthropic({ baseURL, apiKey })("claude-opus-4-5");
  }
}

export const HELLO: LanguageModelV4Prompt = [{ role: "user", content: [{ type: "text", text: "hello" }] }];

/** A server for the length of one callback. */
export async function serving(
  options: ModelServerOptions,
  body: (server: ModelServer) => Promise<void>,
): Promise<void> {
  const server = await startModelServer(options);
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

/** What a reader of the stream saw, in order, and how it ended. */
export interface Seen {
  readonly parts: readonly LanguageModelV4StreamPart[];
  readonly thrown: unknown;
}

export async function read(
  model: LanguageModelV4,
  options: Partial<LanguageModelV4CallOptions> = {},
  onPart: (part: LanguageModelV4StreamPart) => void = () => {},
): Promise<Seen> {
  const parts: LanguageModelV4StreamPart[] = [];
  try {
    const { stream } = await model.doStream({ prompt: HELLO, ...options });
    for await (const part of stream) {
      parts.push(part);
      onPart(part);
    }
  } catch (thrown) {
    return { parts, thrown };
  }
  return { parts, thrown: undefined };
}

/** The parts as content: what the deltas of one id add up to. */
export function contentOf(parts: readonly LanguageModelV4StreamPart[]): LanguageModelV4Content[] {
  const content: LanguageModelV4Content[] = [];
  for (const part of parts) {
    const last = content.at(-1);
    if (part.type === "text-start") content.push({ type: "text", text: "" });
    if (part.type === "reasoning-start") {
      const providerMetadata = part.providerMetadata ?? {};
      content.push({ type: "reasoning", text: "", providerMetadata });
    }
    if (part.type === "text-delta" && last?.type === "text") last.text += part.delta;
    if (part.type === "reasoning-delta" || part.type === "reasoning-end") {
      const open = content.findLast((each) => each.type === "reasoning");
      if (open !== undefined && part.type === "reasoning-delta") open.text += part.delta;
      if (open !== undefined && part.providerMetadata !== undefined) open.providerMetadata = part.providerMetadata;
    }
    if (part.type === "tool-call") content.push(part);
  }
  return content;
}

/** Content without what belongs to one protocol alone: ids and metadata. */
export function plain(content: readonly LanguageModelV4Content[]): unknown[] {
  return content.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return [part.type, part.text];
    return part.type === "tool-call" ? ["call", part.toolName, part.input] : [part.type];
  });
}

export function finishOf(parts: readonly LanguageModelV4StreamPart[]): string | undefined {
  const finish = parts.find((part) => part.type === "finish");
  return finish?.finishReason.unified;
}

export function errorsOf(parts: readonly LanguageModelV4StreamPart[]): unknown[] {
  return parts.filter((part) => part.type === "error").map((part) => part.error);
}

export function typesOf(parts: readonly LanguageModelV4StreamPart[]): string[] {
  return parts.map((part) => part.type);
}
