/**
 * From what a body returned to what the model is told: one cap, one cleaning, for every tool.
 */
import type { ToolResultOutput } from "@ai-sdk/provider-utils";
import { partShape } from "../log/check.ts";
import type { Json, Part, ToolOutput } from "../log/event.ts";
import { list } from "../log/shape.ts";

const content = list(partShape);

/** NUL and other control characters break parsers downstream; tab, line feed and carriage return are text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it looks for
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Well-formed Unicode without control characters. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(controls, "\ufffd");
}

/** Cuts on a code point boundary, keeps head and tail, and says what is missing. */
export function capText(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const head = Math.floor(chars * 0.7);
  const tail = chars - head;
  const cut = `\n[... ${text.length - chars} of ${text.length} characters left out ...]\n`;
  return text.slice(0, head).toWellFormed() + cut + text.slice(text.length - tail).toWellFormed();
}

/** Any value a body may return, as content for the model. */
export function outputOf(value: unknown, chars: number): ToolOutput {
  if (isContent(value)) return capped(value.content, value.isError === true, chars);
  if (typeof value === "string") return capped([{ type: "text", text: value }], false, chars);
  if (value === undefined || value === null) return { content: [], isError: false };
  return capped([dataPart(value)], false, chars);
}

/** What an AI SDK tool's `toModelOutput` gave. */
export function outputOfModel(output: ToolResultOutput, chars: number): ToolOutput {
  switch (output.type) {
    case "text":
    case "error-text":
      return capped([{ type: "text", text: output.value }], output.type === "error-text", chars);
    case "json":
    case "error-json":
      return capped([dataPart(output.value)], output.type === "error-json", chars);
    case "execution-denied":
      return {
        content: [{ type: "text", text: output.reason ?? "The execution was denied." }],
        isError: true,
        code: "TOOL_DENIED",
      };
    default:
      return capped(output.value.map(modelPart), false, chars);
  }
}

type ModelContent = Extract<ToolResultOutput, { type: "content" }>["value"][number];

function modelPart(part: ModelContent): Part {
  if (part.type === "text") return { type: "text", text: part.text };
  return dataPart(part);
}

function isContent(value: unknown): value is { content: Part[]; isError?: unknown } {
  const parts = (value as { content?: unknown } | null | undefined)?.content;
  return typeof value === "object" && parts !== undefined && content.check(parts, "content") === undefined;
}

/** A value that JSON cannot carry is told as its text: a result that cannot be recorded would be no result. */
function dataPart(value: unknown): Part {
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return { type: "data", data: JSON.parse(text) as Json };
  } catch {
    // Cyclic, or a bigint somewhere.
  }
  return { type: "text", text: String(value) };
}

function capped(parts: readonly Part[], isError: boolean, chars: number): ToolOutput {
  let left = chars;
  const kept = parts.map((part): Part => {
    if (part.type === "file") return part;
    const text = part.type === "text" ? part.text : JSON.stringify(part.data);
    const short = capText(part.type === "text" ? cleanText(text) : text, Math.max(left, 0));
    left -= Math.min(text.length, Math.max(left, 0));
    return part.type === "data" && short === text ? part : { type: "text", text: short };
  });
  return { content: kept, isError };
}

/** The message of whatever was thrown, fit for the model: `throw undefined` happens. */
export function thrownText(error: unknown): string {
  if (error === undefined || error === null) return "";
  const text = error instanceof Error ? error.message || error.name : String(error);
  return capText(cleanText(text), 4_000);
}
