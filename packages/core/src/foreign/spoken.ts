/** What a person or the program itself said, in a history that somebody else has kept: system and user messages. Pure. */
import type { ModelMessage } from "@ai-sdk/provider-utils";
import { isBlank, userMessage } from "../context/message.ts";
import { type Fields, isFields, shown, type Tell } from "./repair-list.ts";

/** Undefined: nothing of it can be sent. The same object where nothing was wrong. */
export function spokenMessage(message: Fields, at: number, tell: Tell): ModelMessage | undefined {
  const said = message["role"] === "system" ? systemText(message, at, tell) : userContent(message["content"], at, tell);
  if (said === undefined) return undefined;
  return (said === message["content"] ? message : { ...message, content: said }) as unknown as ModelMessage;
}

function systemText({ content }: Fields, at: number, tell: Tell): string | undefined {
  let text = content;
  if (Array.isArray(content)) {
    text = content
      .flatMap((part) => (isFields(part) && typeof part["text"] === "string" ? part["text"] : []))
      .join("\n");
    tell(at, "form", "the parts of a system message are joined: it takes one text");
  }
  if (typeof text !== "string") {
    tell(at, "form", `a system message without text is left out: its content is ${shown(content)}`);
    return undefined;
  }
  if (!isBlank(text)) return text;
  tell(at, "blank", "a blank system message is left out");
  return undefined;
}

/** A message of blanks is still somebody's turn: without it, the request might end with the model's own words. */
function userContent(content: unknown, at: number, tell: Tell): unknown {
  if (typeof content === "string") {
    if (!isBlank(content)) return content;
    tell(at, "blank", "a blank user message says that it is one");
    return userMessage([]).content;
  }
  if (!Array.isArray(content)) {
    tell(at, "form", `a user message has no content, it says so: ${shown(content)}`);
    return userMessage([]).content;
  }
  const parts = content.map((part) => userPart(part, at, tell)).filter((part) => part !== undefined);
  if (parts.length === 0) {
    tell(at, "blank", "a user message that holds nothing says so");
    return userMessage([]).content;
  }
  return parts.length === content.length && parts.every((part, index) => part === content[index]) ? content : parts;
}

function userPart(part: unknown, at: number, tell: Tell): unknown {
  if (typeof part === "string") return userPart({ type: "text", text: part }, at, tell);
  if (isFields(part) && part["type"] === "text" && typeof part["text"] === "string") {
    if (!isBlank(part["text"])) return part;
    tell(at, "blank", "a blank text is left out of a user message");
    return undefined;
  }
  if (isShowable(part)) return part;
  tell(at, "form", `a part is left out of a user message, which cannot hold it: ${shown(part)}`);
  return undefined;
}

/** A picture or a file, as a user message takes it. */
export function isShowable(part: unknown): part is Fields {
  if (!isFields(part)) return false;
  if (part["type"] === "image") return isData(part["image"]);
  return part["type"] === "file" && typeof part["mediaType"] === "string" && isData(part["data"]);
}

function isData(data: unknown): boolean {
  return typeof data === "string" ? data !== "" : typeof data === "object" && data !== null;
}
