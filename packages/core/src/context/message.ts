/**
 * What people and tools said, as the model is told it. Pure translations from our parts to the AI SDK's prompt parts.
 */
import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type { Part, ToolOutput } from "../log/event.ts";
import { json } from "../log/shape.ts";

/** An input of blanks is still somebody's turn: without it, the request would end with the model's own words. */
const emptyInput = "(empty message)";
const summaryFrame = "[The earlier conversation was replaced by this summary:]";
const emptySummary = "[The earlier conversation was left out.]";
/** Stands before what begins with the model's own message, which several endpoints refuse. */
const missingStart = "[The beginning of this conversation is missing.]";

/** Stands where a request would end with the model's own words, which several endpoints refuse. */
const goOn = "Go on.";

export function goOnMessage(): LanguageModelV4Message {
  return { role: "user", content: [textPart(goOn)] };
}

/** Said once, after two answers that delivered nothing. */
const nudge = "Your last answers were empty. Answer now, or say what you would need to answer.";

export function nudgeMessage(): LanguageModelV4Message {
  return { role: "user", content: [textPart(nudge)] };
}

type UserContent = Extract<LanguageModelV4Message, { role: "user" }>["content"];

/** `images`: whether pictures go along, or only their names. */
export function userMessage(content: readonly Part[], images?: "send" | undefined): LanguageModelV4Message {
  const parts = content.flatMap((part): UserContent => {
    const shown = images === "send" ? picture(part) : undefined;
    return shown ? [shown] : userPart(part);
  });
  return { role: "user", content: parts.length > 0 ? parts : [textPart(emptyInput)] };
}

/** The one message that stands for all that a compaction replaced. */
export function summaryMessage(summary: readonly Part[]): LanguageModelV4Message {
  const parts = summary.flatMap(userPart);
  return { role: "user", content: parts.length > 0 ? [textPart(summaryFrame), ...parts] : [textPart(emptySummary)] };
}

export function missingStartMessage(): LanguageModelV4Message {
  return { role: "user", content: [textPart(missingStart)] };
}

function textPart(text: string): LanguageModelV4TextPart {
  return { type: "text", text };
}

function userPart(part: Part): LanguageModelV4TextPart[] {
  const text = partText(part);
  return isBlank(text) ? [] : [textPart(text.toWellFormed())];
}

/** A file of the store stands in a prompt under this scheme until the request is made: its bytes are no part of the fold. */
export const blobScheme = "pawl-blob:";

/** What every endpoint takes that takes any. */
const shownTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Undefined: none that an endpoint would take, or from where it would. */
export function picture(part: Part): LanguageModelV4FilePart | undefined {
  if (part.type !== "file" || !shownTypes.has(part.mediaType)) return undefined;
  const at = part.blob === undefined ? part.url : `${blobScheme}${part.blob}`;
  if (at === undefined || !/^(https|pawl-blob):/.test(at) || !URL.canParse(at)) return undefined;
  const filename = part.filename === undefined ? {} : { filename: part.filename.toWellFormed() };
  return { type: "file", mediaType: part.mediaType, data: { type: "url", url: new URL(at) }, ...filename };
}

/**
 * The pictures among results, behind them: a block between two results would break their run, and not every endpoint takes
 * one inside. Undefined where there is none.
 */
export function picturesMessage(
  outputs: readonly { tool: string; output: ToolOutput }[],
): LanguageModelV4Message | undefined {
  const content = outputs.flatMap(({ tool, output }) => {
    const shown = output.content.flatMap((part) => picture(part) ?? []);
    return shown.length > 0 ? [textPart(`[shown by ${tool}]`), ...shown] : [];
  });
  return content.length > 0 ? { role: "user", content } : undefined;
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

/** `mostChars`: how much of it a prune leaves. */
export function toolResult(
  tool: string,
  toolCallId: string,
  output: ToolOutput,
  mostChars = Number.POSITIVE_INFINITY,
): LanguageModelV4ToolResultPart {
  return { type: "tool-result", toolCallId, toolName: tool, output: resultOutput(output, mostChars) };
}

function resultOutput({ content, isError }: ToolOutput, mostChars: number): LanguageModelV4ToolResultOutput {
  const [only] = content;
  const text = content.map(partText).join("\n").toWellFormed();
  const short = pruned(text, mostChars);
  if (content.length === 1 && only?.type === "data" && !isError && short === text) {
    return { type: "json", value: wellFormed(only.data) as JSONValue };
  }
  // Several providers refuse blank results, and `mkdir` has nothing to say.
  return { type: isError ? "error-text" : "text", value: isBlank(short) ? "(no output)" : short };
}

/** The head of an old result, with a note of what is missing; itself, where the note would make it longer. */
function pruned(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const head = text.slice(0, chars).replace(/[\ud800-\udbff]$/, "");
  const short = `${head}\n[… ${text.length - head.length} characters of an old result were left out]`;
  return short.length < text.length ? short : text;
}

/** Names that every endpoint takes, also in its history. */
const plainName = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The name of a tool on the wire. A declared name goes out as it is: it stands in the same request's list. What a model
 * made up may be empty, long or full of signs, and would be refused again with every later request.
 */
export function wireToolName(tool: string, declared: ReadonlySet<string>): string {
  if (declared.has(tool) || plainName.test(tool)) return tool;
  return tool.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";
}

/**
 * Endpoints want an object. What is none goes back as an object that carries the raw text, beside its error result. `same`: the
 * object is what the text says.
 */
export function inputOf(text: string): { input: { [key: string]: unknown }; same: boolean } {
  try {
    // No text at all is how some models write a call without arguments.
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    if (value === null) return { input: {}, same: false };
    if (typeof value === "object" && !Array.isArray(value) && json().check(value, "input") === undefined) {
      // Half a character is there raw or escaped, or nowhere in it: most inputs need no second look.
      const whole = text.isWellFormed() && !text.includes("\\u");
      return whole
        ? { input: value as { [key: string]: unknown }, same: true }
        : { input: wellFormed(value) as { [key: string]: unknown }, same: isWellFormed(value) };
    }
  } catch {
    // Falls through to the raw text.
  }
  return { input: { unparsed: text.toWellFormed() }, same: false };
}

export function isWellFormed(value: unknown): boolean {
  const text = JSON.stringify(value) ?? "";
  // JSON escapes exactly the surrogates that stand alone; a backslash that was in the text looks alike.
  return !/\\ud[89a-f]/.test(text) || JSON.stringify(wellFormed(value)) === text;
}

/** A lone surrogate in an argument or a result would make every later request a 400. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]));
}

export function isBlank(text: string): boolean {
  return text.trim() === "";
}
