/** Messages of the AI SDK (`ModelMessage`), as a program keeps them. Pure. */
import type { ToolResultPart } from "@ai-sdk/provider-utils";
import { type WholeOutput, type WholePart, wholeOfModel } from "../tool/returned.ts";
import { answerOutput } from "./answer.ts";
import {
  bytesPart,
  filePart,
  type Heard,
  jsonOf,
  jsonText,
  listField,
  metaOf,
  type SaidPart,
  textField,
  wrong,
} from "./heard.ts";
import { type Fields, isFields } from "./repair-list.ts";

/** `approvals`: which call a person was asked about, from one message to a later one. */
export function aiSdkMessages(approvals: Map<unknown, unknown> = new Map()): (message: Fields) => Heard[] {
  return (message) => {
    switch (message["role"]) {
      case "system":
        return [{ kind: "instructions", text: textField(message, "content", "message") }];
      case "user":
        return [{ kind: "input", content: userContent(message) }];
      case "assistant":
        return answer(message, approvals);
      case "tool": {
        const parts = listField(message, "content", "message").map((part, at) => fieldsOf(part, `content[${at}]`));
        return [{ kind: "results", results: parts.flatMap((part, at) => resultOf(part, `content[${at}]`, approvals)) }];
      }
      default:
        throw wrong("message.role must be one of system, user, assistant, tool", message["role"] ?? null);
    }
  };
}

function fieldsOf(part: unknown, where: string): Fields {
  if (!isFields(part)) throw wrong(`${where} must be an object`, part ?? null);
  return part;
}

function userContent(message: Fields): WholePart[] {
  if (typeof message["content"] === "string") return [{ type: "text", text: message["content"] }];
  return listField(message, "content", "message").map((value, at): WholePart => {
    const where = `content[${at}]`;
    const part = fieldsOf(value, where);
    switch (part["type"]) {
      case "text":
        return { type: "text", text: textField(part, "text", where) };
      case "image":
        return dataPart(part["image"], part["mediaType"] ?? "image/png", part, where);
      case "file":
        return dataPart(part["data"], textField(part, "mediaType", where), part, where);
      default:
        throw wrong(`${where}.type must be one of text, image, file`, part["type"] ?? null);
    }
  });
}

/** A file in any form the SDK takes it: an address, base64, bytes, or one of them with a tag. */
function dataPart(given: unknown, mediaType: unknown, { filename }: Fields, where: string): WholePart {
  const type = String(mediaType);
  const tag = isFields(given) ? given["type"] : undefined;
  if (isFields(given) && tag === "text") return { type: "text", text: textField(given, "text", where) };
  const data = isFields(given) && (tag === "url" || tag === "data") ? given[tag] : given;
  if (data instanceof URL) return filePart(data.href, type, filename);
  if (typeof data === "string") {
    return tag === "url" || /^(?:https?|data):/.test(data)
      ? filePart(data, type, filename)
      : bytesPart(data, type, filename);
  }
  const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
  if (bytes instanceof Uint8Array) {
    return { type: "bytes", mediaType: type, bytes, ...(typeof filename === "string" ? { filename } : {}) };
  }
  if (isFields(data)) return { type: "data", data: jsonOf(data) };
  throw wrong(`${where} must hold base64 or an address`, data ?? null);
}

function answer(message: Fields, approvals: Map<unknown, unknown>): Heard[] {
  if (typeof message["content"] === "string")
    return [{ kind: "answer", parts: [{ type: "text", text: message["content"] }] }];
  const executed = new Set<unknown>();
  const strays: Fields[] = [];
  const parts = listField(message, "content", "message").flatMap((value, at): SaidPart[] => {
    const part = fieldsOf(value, `content[${at}]`);
    if (part["type"] === "tool-call" && part["providerExecuted"] === true) executed.add(part["toolCallId"]);
    if (part["type"] === "tool-result" && !executed.has(part["toolCallId"])) {
      strays.push(part);
      return [];
    }
    if (part["type"] === "tool-approval-request") {
      approvals.set(part["approvalId"], part["toolCallId"]);
      return [];
    }
    return [saidPart(part, `content[${at}]`)];
  });
  const results = strays.flatMap((part) => resultOf(part, "content", approvals));
  return [{ kind: "answer", parts }, ...(results.length > 0 ? [{ kind: "results" as const, results }] : [])];
}

function saidPart(part: Fields, where: string): SaidPart {
  const meta = metaOf(part["providerOptions"]);
  switch (part["type"]) {
    case "text":
    case "reasoning":
      return { type: part["type"], text: textField(part, "text", where), ...meta };
    case "tool-call": {
      const executed = part["providerExecuted"] === true ? { providerExecuted: true } : {};
      const { input } = part;
      return {
        type: "tool-call",
        providerId: textField(part, "toolCallId", where),
        tool: textField(part, "toolName", where),
        input: typeof input === "string" ? input : jsonText(input),
        ...executed,
        ...meta,
      };
    }
    case "tool-result": {
      const output = answerOutput(part);
      return {
        type: "tool-result",
        call: textField(part, "toolCallId", where),
        tool: textField(part, "toolName", where),
        result: jsonOf("value" in output ? output.value : output),
        ...(output.type.startsWith("error") ? { isError: true } : {}),
        ...meta,
      };
    }
    case "file": {
      const file = dataPart(part["data"], textField(part, "mediaType", where), part, where);
      const mediaType = "mediaType" in file ? file.mediaType : "text/plain";
      if (file.type === "bytes")
        return { type: "file", mediaType, data: Buffer.from(file.bytes).toString("base64"), ...meta };
      return { type: "file", mediaType, ...(file.type === "file" && file.url ? { url: file.url } : {}), ...meta };
    }
    case "custom":
      return { type: "custom", kind: textField(part, "kind", where), ...meta };
    case "reasoning-file":
      return { type: "custom", kind: "reasoning-file", ...meta };
    default:
      throw wrong(
        `${where}.type must be one of text, reasoning, tool-call, tool-result, file, custom, tool-approval-request`,
        part["type"] ?? null,
      );
  }
}

function resultOf(
  part: Fields,
  where: string,
  approvals: Map<unknown, unknown>,
): { id: string; output: WholeOutput }[] {
  if (part["type"] === "tool-approval-response") {
    const id = approvals.get(part["approvalId"]);
    // What was allowed ran, or is not known to have; what was denied is told so.
    if (part["approved"] !== false || typeof id !== "string") return [];
    const reason = typeof part["reason"] === "string" ? { reason: part["reason"] } : {};
    return [{ id, output: wholeOfModel({ type: "execution-denied", ...reason }) }];
  }
  if (part["type"] !== "tool-result") {
    throw wrong(`${where}.type must be one of tool-result, tool-approval-response`, part["type"] ?? null);
  }
  const output = answerOutput(part) as ToolResultPart["output"];
  return [{ id: textField(part, "toolCallId", where), output: wholeOfModel(output) }];
}
