/** How large a message is, by our own estimate: close enough to decide when to compact and to enter into books. */
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { limit } from "../limit.ts";

/** Models count a picture by its pixels, at most about this many tokens; its bytes as text would be far too many. */
const fileChars = 1_600 * limit.charsPerToken;

export function messageChars(message: LanguageModelV4Message): number {
  if (message.role === "system") return message.content.length;
  let chars = 0;
  for (const part of message.content) chars += part.type === "file" ? fileChars : JSON.stringify(part).length;
  return chars;
}

export function tokensOf(chars: number): number {
  return Math.ceil(chars / limit.charsPerToken);
}
