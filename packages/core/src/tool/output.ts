/**
 * From what a body returned to what the model is told: one cap, one cleaning, for every tool.
 */
import { convertBase64ToUint8Array, type ToolResultOutput } from "@ai-sdk/provider-utils";
import { partShape } from "../log/check.ts";
import type { Json, Part, ToolOutput } from "../log/event.ts";
import { list } from "../log/shape.ts";

/** Keeps bytes beside the log; gives their blob. */
export type KeepBytes = (bytes: Uint8Array) => Promise<string>;

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
  const head = text.slice(0, Math.floor(chars * 0.7));
  const tail = text.slice(text.length - (chars - head.length));
  const cut = `\n[... ${text.length - chars} of ${text.length} characters left out ...]\n`;
  return whole(head) + cut + whole(tail);
}

/** Without the half of a pair that a cut left at either end. */
function whole(text: string): string {
  return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
}

/** Any value a body may return, as content for the model. */
export function outputOf(value: unknown, chars: number): ToolOutput {
  if (isContent(value)) return capped(value.content, value.isError === true, chars);
  if (typeof value === "string") return capped([{ type: "text", text: value }], false, chars);
  if (value === undefined || value === null) return { content: [], isError: false };
  return capped([dataPart(value)], false, chars);
}

/** What an AI SDK tool's `toModelOutput` gave. */
export async function outputOfModel(output: ToolResultOutput, chars: number, keep: KeepBytes): Promise<ToolOutput> {
  switch (output.type) {
    case "text":
    case "error-text":
      return capped([{ type: "text", text: output.value }], output.type === "error-text", chars);
    case "json":
    case "error-json":
      return capped([dataPart(output.value)], output.type === "error-json", chars);
    case "execution-denied": {
      const text = output.reason ?? "The execution was denied.";
      return { ...capped([{ type: "text", text }], true, chars), code: "TOOL_DENIED" };
    }
    default:
      return capped(await Promise.all(output.value.map((part) => modelPart(part, keep))), false, chars);
  }
}

type ModelContent = Extract<ToolResultOutput, { type: "content" }>["value"][number];

async function modelPart(part: ModelContent, keep: KeepBytes): Promise<Part> {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type !== "file") return dataPart(part);
  const { data, mediaType } = part;
  const file = {
    type: "file" as const,
    mediaType,
    ...(part.filename === undefined ? {} : { filename: part.filename }),
  };
  switch (data.type) {
    case "text":
      return { type: "text", text: data.text };
    case "url":
      return { ...file, url: String(data.url) };
    case "data":
      return { ...file, blob: await keep(bytesOf(data.data)) };
    case "reference":
      return dataPart(part);
  }
}

function bytesOf(data: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof data === "string") return convertBase64ToUint8Array(data);
  return data instanceof Uint8Array ? data : new Uint8Array(data);
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
    const clean = cleaned(part);
    const text = textOf(clean);
    const short = capText(text, left);
    left = Math.max(0, left - text.length);
    // What is cut is no JSON and no address any more.
    return short === text ? clean : { type: "text", text: short };
  });
  return { content: kept, isError };
}

function cleaned(part: Part): Part {
  switch (part.type) {
    case "text":
      return { type: "text", text: cleanText(part.text) };
    case "data":
      return { type: "data", data: cleanJson(part.data) };
    case "file":
      return part;
  }
}

/** JSON hides lone surrogates and NUL in escapes; whoever parses it downstream meets them all the same. */
function cleanJson(value: Json): Json {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleanJson(inner ?? null)]));
}

/** What a part brings into context. A file's bytes are elsewhere, unless its address holds them. */
function textOf(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "data":
      return JSON.stringify(part.data);
    case "file":
      return part.url ?? "";
  }
}

/** The message of whatever was thrown, fit for the model: `throw undefined` happens. */
export function thrownText(error: unknown): string {
  if (error === undefined || error === null) return "";
  let text: string;
  try {
    text = error instanceof Error ? error.message || error.name : String(error);
  } catch {
    // An object without a prototype, or with a `toString` of its own that throws.
    text = "something that has no text was thrown";
  }
  return capText(cleanText(text), 4_000);
}
