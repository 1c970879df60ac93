/** What people, models and tools said, in the conventions' message form. Only where `content: "record"` asks for it. */
import type { MessagePart, Part } from "@pawl/core";
import { contentChars } from "./span.ts";

export function cut(text: string): string {
  return text.length > contentChars ? `${text.slice(0, contentChars)} [cut, ${text.length} characters]` : text;
}

type Said = { type: string; [field: string]: unknown };

function handed(part: Part): Said {
  switch (part.type) {
    case "text":
      return { type: "text", content: cut(part.text) };
    case "file":
      return {
        type: "file",
        mime_type: part.mediaType,
        ...(part.filename === undefined ? {} : { name: part.filename }),
      };
    case "data":
      return { type: "text", content: cut(JSON.stringify(part.data)) };
  }
}

function spoken(part: MessagePart): Said[] {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [{ type: part.type, content: cut(part.text) }];
    case "tool-call":
      return [{ type: "tool_call", id: part.id, name: part.tool, arguments: cut(part.input) }];
    case "tool-result":
      return [{ type: "tool_call_response", id: part.call, response: cut(JSON.stringify(part.result)) }];
    case "file":
      return [{ type: "file", mime_type: part.mediaType }];
    case "source":
    case "custom":
      return [];
  }
}

export function inputMessages(inputs: readonly (readonly Part[])[]): string {
  return JSON.stringify(inputs.map((parts) => ({ role: "user", parts: parts.map(handed) })));
}

export function outputMessages(parts: readonly MessagePart[], finish: string): string {
  return JSON.stringify([{ role: "assistant", parts: parts.flatMap(spoken), finish_reason: finish }]);
}

export function resultText(parts: readonly Part[]): string {
  return cut(parts.map((part) => (part.type === "text" ? part.text : JSON.stringify(handed(part)))).join("\n"));
}
