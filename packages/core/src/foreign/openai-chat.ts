/** Messages of OpenAI's chat protocol, as many servers and libraries keep them. Pure. */
import type { WholePart } from "../tool/returned.ts";
import { bytesPart, filePart, type Heard, jsonText, listField, type SaidPart, textField, wrong } from "./heard.ts";
import { type Fields, isFields } from "./repair-list.ts";

export function openaiChatMessage(message: Fields): Heard[] {
  switch (message["role"]) {
    case "system":
    case "developer":
      return [{ kind: "instructions", text: textOf(contentParts(message)) }];
    case "user":
      return [{ kind: "input", content: contentParts(message) }];
    case "assistant":
      return [{ kind: "answer", parts: saidParts(message) }];
    case "tool":
      return [resultOf(textField(message, "tool_call_id", "message"), message)];
    case "function":
      // The protocol's first form: a result is for the last call of that name.
      return [resultOf(`function:${textField(message, "name", "message")}`, message)];
    default:
      throw wrong(
        "message.role must be one of system, developer, user, assistant, tool, function",
        message["role"] ?? null,
      );
  }
}

function resultOf(id: string, message: Fields): Heard {
  return { kind: "results", results: [{ id, output: { parts: contentParts(message), isError: false } }] };
}

function textOf(parts: readonly WholePart[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

function contentParts(message: Fields): WholePart[] {
  const { content } = message;
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (content === null || content === undefined) return [];
  return listField(message, "content", "message").map((part, at) => contentPart(part, `content[${at}]`));
}

function contentPart(part: unknown, where: string): WholePart {
  if (!isFields(part)) throw wrong(`${where} must be an object`, part ?? null);
  switch (part["type"]) {
    case "text":
      return { type: "text", text: textField(part, "text", where) };
    case "refusal":
      return { type: "text", text: textField(part, "refusal", where) };
    case "image_url":
      return filePart(textField(innerOf(part, "image_url", where), "url", `${where}.image_url`), "image/*");
    case "input_audio": {
      const audio = innerOf(part, "input_audio", where);
      return bytesPart(textField(audio, "data", `${where}.input_audio`), `audio/${String(audio["format"] ?? "wav")}`);
    }
    case "file": {
      const file = innerOf(part, "file", where);
      const data = file["file_data"];
      if (typeof data === "string") return filePart(data, "application/pdf", file["filename"]);
      return { type: "text", text: `[file ${String(file["filename"] ?? file["file_id"] ?? "without a name")}]` };
    }
    default:
      throw wrong(`${where}.type must be one of text, refusal, image_url, input_audio, file`, part["type"] ?? null);
  }
}

function innerOf(part: Fields, name: string, where: string): Fields {
  const inner = part[name];
  if (!isFields(inner)) throw wrong(`${where}.${name} must be an object`, inner ?? null);
  return inner;
}

function saidParts(message: Fields): SaidPart[] {
  const {
    reasoning_content: thought = message["reasoning"],
    refusal,
    tool_calls: calls,
    function_call: first,
  } = message;
  const text = contentParts(message).map((part): SaidPart => {
    if (part.type === "text") return part;
    throw wrong("message.content of an assistant must be text", part.type);
  });
  return [
    ...(typeof thought === "string" && thought !== "" ? [{ type: "reasoning" as const, text: thought }] : []),
    ...text,
    ...(typeof refusal === "string" ? [{ type: "text" as const, text: refusal }] : []),
    ...(calls === undefined || calls === null ? [] : listField(message, "tool_calls", "message").map(callOf)),
    ...(isFields(first) ? [firstCallOf(first)] : []),
  ];
}

function callOf(call: unknown, at: number): SaidPart {
  const where = `tool_calls[${at}]`;
  if (!isFields(call)) throw wrong(`${where} must be an object`, call ?? null);
  const custom = call["type"] === "custom";
  const called = innerOf(call, custom ? "custom" : "function", where);
  const input = called[custom ? "input" : "arguments"];
  return {
    type: "tool-call",
    providerId: textField(call, "id", where),
    tool: textField(called, "name", `${where}.function`),
    // Some servers hand the arguments over as an object.
    input: typeof input === "string" ? input : jsonText(input),
  };
}

function firstCallOf(call: Fields): SaidPart {
  const tool = textField(call, "name", "function_call");
  const input = textField(call, "arguments", "function_call");
  return { type: "tool-call", providerId: `function:${tool}`, tool, input };
}
