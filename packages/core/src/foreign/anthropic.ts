/** Messages of Anthropic's protocol: roles user and assistant, with blocks. Pure. */
import type { WholeOutput, WholePart } from "../tool/returned.ts";
import {
  bytesPart,
  filePart,
  type Heard,
  jsonOf,
  jsonText,
  listField,
  type SaidPart,
  textField,
  wrong,
} from "./heard.ts";
import { type Fields, isFields } from "./repair-list.ts";

export function anthropicMessage(message: Fields): Heard[] {
  const blocks = blocksOf(message["content"], "content");
  switch (message["role"]) {
    case "system":
      return [{ kind: "instructions", text: instructionsOf(message["content"]) }];
    case "user":
      return userSaid(blocks);
    case "assistant": {
      const parts = blocks.map(saidPart);
      // A tool that the provider ran: its package writes these blocks in a form of its own.
      const sealed = parts.some((part) => part.type === "custom");
      return [{ kind: "answer", parts, ...(sealed ? { sealed } : {}) }];
    }
    default:
      throw wrong("message.role must be one of user, assistant", message["role"] ?? null);
  }
}

/** What `system` of a request says, as a text or as blocks. */
function instructionsOf(system: unknown): string {
  return blocksOf(system, "system")
    .map((block, at) => textField(block, "text", `system[${at}]`))
    .join("\n\n");
}

function blocksOf(content: unknown, of: string): Fields[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return listField({ [of]: content }, of, "message").map((block, at) => {
    if (!isFields(block)) throw wrong(`${of}[${at}] must be an object`, block ?? null);
    return block;
  });
}

/** The results of a message come first, wherever they stand in it; what else it holds is the user's. */
function userSaid(blocks: readonly Fields[]): Heard[] {
  const results = blocks.flatMap((block, at) =>
    block["type"] === "tool_result" ? resultOf(block, `content[${at}]`) : [],
  );
  const content = blocks.flatMap((block, at) =>
    block["type"] === "tool_result" ? [] : [wholePart(block, `content[${at}]`)],
  );
  return [
    ...(results.length > 0 ? [{ kind: "results" as const, results }] : []),
    ...(content.length > 0 || results.length === 0 ? [{ kind: "input" as const, content }] : []),
  ];
}

function resultOf(block: Fields, where: string): { id: string; output: WholeOutput } {
  const { content } = block;
  const parts = content === undefined || content === null ? [] : blocksOf(content, "content").map(wholePartOf(where));
  return { id: textField(block, "tool_use_id", where), output: { parts, isError: block["is_error"] === true } };
}

function wholePartOf(where: string): (block: Fields, at: number) => WholePart {
  return (block, at) => wholePart(block, `${where}.content[${at}]`);
}

function wholePart(block: Fields, where: string): WholePart {
  switch (block["type"]) {
    case "text":
      return { type: "text", text: textField(block, "text", where) };
    case "image":
      return sourcePart(block, "image/*", where);
    case "document":
      return sourcePart(block, "application/pdf", where);
    case "search_result":
    case "container_upload":
    case "tool_reference":
      return { type: "data", data: jsonOf(block) };
    default:
      throw wrong(`${where}.type must be one of text, image, document, tool_result`, block["type"] ?? null);
  }
}

function sourcePart({ source, title }: Fields, mediaType: string, where: string): WholePart {
  if (!isFields(source)) throw wrong(`${where}.source must be an object`, source ?? null);
  const type = typeof source["media_type"] === "string" ? source["media_type"] : mediaType;
  switch (source["type"]) {
    case "base64":
      return bytesPart(textField(source, "data", `${where}.source`), type, title);
    case "url":
      return filePart(textField(source, "url", `${where}.source`), type, title);
    case "text":
      return { type: "text", text: textField(source, "data", `${where}.source`) };
    default:
      return { type: "data", data: jsonOf(source) };
  }
}

function saidPart(block: Fields, at: number): SaidPart {
  const where = `content[${at}]`;
  const type = block["type"];
  switch (type) {
    case "text":
      return { type: "text", text: textField(block, "text", where) };
    case "thinking": {
      const { signature } = block;
      const meta = typeof signature === "string" && signature !== "" ? { meta: { anthropic: { signature } } } : {};
      return { type: "reasoning", text: textField(block, "thinking", where), ...meta };
    }
    case "redacted_thinking":
      return { type: "reasoning", text: "", meta: { anthropic: { redactedData: textField(block, "data", where) } } };
    case "tool_use":
      return {
        type: "tool-call",
        providerId: textField(block, "id", where),
        tool: textField(block, "name", where),
        input: typeof block["input"] === "string" ? block["input"] : jsonText(block["input"]),
      };
    default:
      if (
        typeof type !== "string" ||
        !/^(?:server_tool_use|mcp_tool_use|compaction|container_upload|\w+_tool_result)$/.test(type)
      ) {
        throw wrong(`${where}.type must be one of text, thinking, redacted_thinking, tool_use`, type ?? null);
      }
      return { type: "custom", kind: `anthropic.${type}`, meta: { anthropic: { block: jsonOf(block) } } };
  }
}
