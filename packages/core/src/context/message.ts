/**
 * One recorded thing as the model is told it. Pure translations between our parts and the AI SDK's prompt parts.
 */
import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { CallPart, MessagePart, Part, ToolOutput } from "../log/event.ts";
import type { ModelRef } from "../log/value.ts";

type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

/** Which model the request is for; opaque state goes back only where it came from. */
export interface Target {
  provider: string;
  model: string;
}

export function userMessage(content: readonly Part[]): LanguageModelV4Message | undefined {
  const parts = content.flatMap(userPart);
  return parts.length === 0 ? undefined : { role: "user", content: parts };
}

function userPart(part: Part): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  switch (part.type) {
    case "text":
      return isBlank(part.text) ? [] : [{ type: "text", text: part.text.toWellFormed() }];
    case "data":
      return [{ type: "text", text: JSON.stringify(part.data) }];
    case "file": {
      if (part.url !== undefined && URL.canParse(part.url)) {
        return [
          { type: "file", mediaType: part.mediaType, data: { type: "url", url: new URL(part.url) }, ...named(part) },
        ];
      }
      return [{ type: "text", text: `[file ${part.filename ?? part.blob ?? "without a name"} (${part.mediaType})]` }];
    }
  }
}

function named(part: { filename?: string }): { filename?: string } {
  return part.filename === undefined ? {} : { filename: part.filename };
}

/** What a call is named on the wire. Asked once per call, in order. */
export type Wire = (part: CallPart) => { wireId: string; wireName: string };

/** Undefined: nothing of the message can be sent. */
export function assistantMessage(
  parts: readonly MessagePart[],
  model: ModelRef,
  target: Target,
  wire: Wire,
): LanguageModelV4Message | undefined {
  const same = model.provider === target.provider && model.id === target.model;
  const answered = new Set(parts.flatMap((part) => (part.type === "tool-result" ? part.call : [])));
  const ids = new Map<string, string>();
  const content = parts.flatMap((part): AssistantContent => {
    const options = same && part.meta ? { providerOptions: part.meta as SharedV4ProviderOptions } : {};
    switch (part.type) {
      case "text":
        return isBlank(part.text) ? [] : [{ type: "text", text: part.text.toWellFormed(), ...options }];
      case "reasoning":
        // Reasoning without the state that proves it is refused by those who ask for it and useless to the others.
        return same && part.meta ? [{ type: "reasoning", text: part.text, ...options }] : [];
      case "tool-call": {
        const { wireId: toolCallId, wireName: toolName } = wire(part);
        // A provider's own call means nothing to another provider, and nothing to anyone without its result.
        if (part.providerExecuted && !(same && answered.has(part.id))) return [];
        if (part.providerExecuted) ids.set(part.id, toolCallId);
        const executed = part.providerExecuted ? { providerExecuted: true } : {};
        return [{ type: "tool-call", toolCallId, toolName, input: inputObject(part.input), ...executed, ...options }];
      }
      case "tool-result": {
        const toolCallId = ids.get(part.call);
        if (toolCallId === undefined) return [];
        const output: LanguageModelV4ToolResultOutput = {
          type: part.isError ? "error-json" : "json",
          value: part.result,
        };
        return [{ type: "tool-result", toolCallId, toolName: part.tool, output, ...options }];
      }
      case "file":
        return part.data === undefined
          ? []
          : [{ type: "file", mediaType: part.mediaType, data: { type: "data", data: part.data }, ...options }];
      case "source":
      case "custom":
        return [];
    }
  });
  return content.length === 0 ? undefined : { role: "assistant", content };
}

/** Names that every endpoint takes, also in its history. */
const wireName = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The name of a tool on the wire. A declared name goes out as it is: it stands in the same request's list. What a model
 * made up may be empty, long or full of signs, and would be refused again with every later request.
 */
export function wireToolName(tool: string, declared: ReadonlySet<string>): string {
  if (declared.has(tool) || wireName.test(tool)) return tool;
  return tool.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";
}

/** Endpoints want an object. What is none goes back as an object that carries the raw text, beside its error result. */
export function inputObject(text: string): { [key: string]: unknown } {
  try {
    const value: unknown = text.trim() === "" ? {} : (JSON.parse(text) ?? {});
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return wellFormed(value) as { [key: string]: unknown };
  } catch {
    // Falls through to the raw text.
  }
  return { unparsed: text.toWellFormed() };
}

/** A lone surrogate in an argument or a result would make every later request a 400. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]));
}

export function toolResult(tool: string, toolCallId: string, output: ToolOutput): LanguageModelV4ToolResultPart {
  return { type: "tool-result", toolCallId, toolName: tool, output: resultOutput(output) };
}

function resultOutput({ content, isError }: ToolOutput): LanguageModelV4ToolResultOutput {
  const [only] = content;
  if (content.length === 1 && only?.type === "data" && !isError) {
    return { type: "json", value: wellFormed(only.data) as JSONValue };
  }
  const text = content.map(partText).join("\n");
  // Several providers refuse blank results, and `mkdir` has nothing to say.
  return { type: isError ? "error-text" : "text", value: isBlank(text) ? "(no output)" : text.toWellFormed() };
}

function partText(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "data":
      return JSON.stringify(part.data);
    case "file":
      return `[file ${part.filename ?? part.blob ?? part.url ?? "without a name"} (${part.mediaType})]`;
  }
}

export function isBlank(text: string): boolean {
  return text.trim() === "";
}
