/** From what a body returned to what it said in whole: before any cap, bytes as bytes. Pure. */
import { convertBase64ToUint8Array, type ToolResultOutput } from "@ai-sdk/provider-utils";
import { partShape } from "../log/check.ts";
import type { Json, Part, ResultCode } from "../log/event.ts";
import { json, list } from "../log/shape.ts";
import { anyBytes, mediaTypeOf, textOfBytes } from "./bytes.ts";

/** A part of a result, or a file whose bytes are not kept yet. */
export type WholePart = Part | { type: "bytes"; bytes: Uint8Array; mediaType: string; filename?: string };

export interface WholeOutput {
  parts: WholePart[];
  isError: boolean;
  code?: ResultCode;
}

const content = list(partShape);

/** Any value a body may return. */
export function wholeOf(value: unknown): WholeOutput {
  if (isContent(value)) return { parts: value.content.map(filePart), isError: value.isError === true };
  return { parts: partsOf(value), isError: false };
}

function partsOf(value: unknown): WholePart[] {
  if (typeof value === "string") return [{ type: "text", text: value }];
  if (value === undefined || value === null) return [];
  if (value instanceof ArrayBuffer) return [bytesPart(new Uint8Array(value))];
  if (ArrayBuffer.isView(value)) return [bytesPart(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))];
  return [dataPart(value)];
}

/** What an AI SDK tool's `toModelOutput` gave. */
export function wholeOfModel(output: ToolResultOutput): WholeOutput {
  switch (output.type) {
    case "text":
    case "error-text":
      return { parts: [{ type: "text", text: output.value }], isError: output.type === "error-text" };
    case "json":
    case "error-json":
      return { parts: [dataPart(output.value)], isError: output.type === "error-json" };
    case "execution-denied": {
      const text = output.reason ?? "The execution was denied.";
      return { parts: [{ type: "text", text }], isError: true, code: "TOOL_DENIED" };
    }
    default:
      return { parts: output.value.map(modelPart), isError: false };
  }
}

type ModelContent = Extract<ToolResultOutput, { type: "content" }>["value"][number];

function modelPart(part: ModelContent): WholePart {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type !== "file") return dataPart(part);
  const { data, mediaType } = part;
  const named = part.filename === undefined ? {} : { filename: part.filename };
  switch (data.type) {
    case "text":
      return { type: "text", text: data.text };
    case "url":
      return filePart({ type: "file", mediaType, ...named, url: String(data.url) });
    case "data":
      return { type: "bytes", mediaType, ...named, bytes: bytesOf(data.data) };
    case "reference":
      return dataPart(part);
  }
}

function bytesOf(data: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof data === "string") return convertBase64ToUint8Array(data);
  return data instanceof Uint8Array ? data : new Uint8Array(data);
}

function bytesPart(bytes: Uint8Array): WholePart {
  const text = textOfBytes(bytes);
  return text === undefined ? { type: "bytes", bytes, mediaType: mediaTypeOf(bytes) } : { type: "text", text };
}

/** An address that holds the bytes themselves is bytes: as text it would be cut, and be nothing. */
function filePart(part: Part): WholePart {
  const [, type, data] =
    (part.type === "file" && /^data:([^;,]*);base64,([A-Za-z0-9+/=_-]*)$/.exec(part.url ?? "")) || [];
  if (part.type !== "file" || data === undefined) return part;
  const named = part.filename === undefined ? {} : { filename: part.filename };
  return { type: "bytes", mediaType: part.mediaType || type || anyBytes, ...named, bytes: bytesOf(data) };
}

function isContent(value: unknown): value is { content: Part[]; isError?: unknown } {
  const parts = (value as { content?: unknown } | null | undefined)?.content;
  return typeof value === "object" && parts !== undefined && content.check(parts, "content") === undefined;
}

/** A value that JSON cannot carry, or that is too deep for a record, is told as its text: a result that cannot be recorded would be no result. */
function dataPart(value: unknown): Part {
  try {
    const text = JSON.stringify(value);
    const data = text === undefined ? undefined : (JSON.parse(text) as Json);
    if (data !== undefined)
      return json().check(data, "result") === undefined ? { type: "data", data } : { type: "text", text };
  } catch {
    // Cyclic, or a bigint somewhere.
  }
  return { type: "text", text: String(value) };
}
