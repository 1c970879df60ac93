/**
 * Calls that the provider runs itself, over a whole history.
 *
 * Their results stand in the assistant's own messages, sometimes in a later one. A call that has none when the user
 * speaks again never gets one, and is refused; at the end of the history it may still be under way. Pure.
 */
import { type Fields, isFields } from "./repair-list.ts";
import { isShowable } from "./spoken.ts";

/** The places (`message:part`) of the calls that nothing answers. */
export function unansweredCalls(history: readonly { at: number; message: Fields }[]): Set<string> {
  const unanswered = new Set<string>();
  let open = new Map<unknown, string[]>();
  for (const { at, message } of history) {
    if (speaks(message)) {
      for (const place of [...open.values()].flat()) unanswered.add(place);
      open = new Map();
    }
    if (message["role"] !== "assistant" || !Array.isArray(message["content"])) continue;
    for (const [index, part] of message["content"].entries()) {
      if (!isFields(part)) continue;
      const { type, toolCallId: id } = part;
      const waiting = open.get(id) ?? [];
      if (type === "tool-call" && part["providerExecuted"] === true) open.set(id, [...waiting, `${at}:${index}`]);
      else if (type === "tool-result") open.set(id, waiting.slice(1));
    }
  }
  return unanswered;
}

/** Whether the user speaks: also what stands in a tool message and is none of its results. */
function speaks({ role, content }: Fields): boolean {
  if (role === "user") return true;
  if (role !== "tool" || !Array.isArray(content)) return false;
  return content.some((part) => isShowable(part) || (isFields(part) && part["type"] === "text"));
}
