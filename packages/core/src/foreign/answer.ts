/**
 * One result of a history that somebody else has kept, as every endpoint takes it. Pure.
 *
 * Whatever form it was kept in, what the tool said is told; a result that says nothing says so.
 */
import type { JSONValue } from "@ai-sdk/provider";
import type { ToolResultPart } from "@ai-sdk/provider-utils";
import { isBlank } from "../context/message.ts";
import { type Fields, isFields } from "./repair-list.ts";

type Output = ToolResultPart["output"];

/** Endpoints refuse a blank result, and `mkdir` has nothing to say. */
const nothing = { type: "text" as const, value: "(no output)" } satisfies Output;

/** Parts of a result of kind `content` that the AI SDK knows, besides text. */
const shown: ReadonlySet<unknown> = new Set([
  "file",
  "file-data",
  "file-url",
  "file-id",
  "file-reference",
  "image-data",
  "image-url",
  "image-file-id",
  "image-file-reference",
  "custom",
]);

/** The same object where nothing was wrong. */
export function answerOutput(part: Fields): Output {
  const { output } = part;
  // Before version 5 of the SDK, a result stood in `result`, bare.
  if (output === undefined && part["result"] !== undefined) return anyOutput(part["result"], part["isError"] === true);
  if (!isFields(output)) return anyOutput(output, false);
  const { value } = output;
  switch (output["type"]) {
    case "text":
    case "error-text":
      if (typeof value === "string" && !isBlank(value)) return output as Output;
      if (typeof value === "string" || value === undefined || value === null)
        return { type: output["type"], value: nothing.value };
      return { type: output["type"], value: textOf(value) };
    case "json":
    case "error-json":
      return jsonText(value) === undefined ? nothing : (output as Output);
    case "content":
      return Array.isArray(value) ? contentOutput(output, value) : anyOutput(value, false);
    case "execution-denied":
      return output as Output;
    default:
      return anyOutput(output, false);
  }
}

function anyOutput(value: unknown, isError: boolean): Output {
  const text = typeof value === "string" ? value : undefined;
  if (value === undefined || value === null || (text !== undefined && isBlank(text))) return nothing;
  if (text !== undefined) return { type: isError ? "error-text" : "text", value: text };
  if (jsonText(value) === undefined) return nothing;
  return { type: isError ? "error-json" : "json", value: value as JSONValue };
}

function contentOutput(output: Fields, parts: readonly unknown[]): Output {
  const kept = parts.map(contentPart).filter((part) => part !== undefined);
  if (kept.length === 0) return nothing;
  if (kept.length === parts.length && kept.every((part, at) => part === parts[at])) return output as Output;
  return { ...output, value: kept } as Output;
}

function contentPart(part: unknown): unknown {
  if (!isFields(part)) return textPart(textOf(part));
  if (shown.has(part["type"])) return part;
  if (part["type"] === "text" && typeof part["text"] === "string") return isBlank(part["text"]) ? undefined : part;
  if (part["type"] === "media" && typeof part["data"] === "string") return mediaPart(part["mediaType"], part["data"]);
  return textPart(textOf(part));
}

/** How version 5 of the SDK wrote a picture. */
function mediaPart(mediaType: unknown, data: string): unknown {
  if (data === "") return undefined;
  if (typeof mediaType !== "string") return textPart("[file of an unknown type]");
  return { type: "file", mediaType, data: { type: "data", data } };
}

function textPart(text: string): unknown {
  return isBlank(text) ? undefined : { type: "text", text };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (jsonText(value) ?? "");
}

function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
