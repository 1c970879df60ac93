/** What every endpoint refuses in a conversation, told apart from the runtime's own rules. */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";

/** What is wrong with a prompt. Empty: nothing. */
export function judge(prompt: LanguageModelV4Prompt): string[] {
  const wrong: string[] = [];
  const ids = new Set<string>();
  let asked: string[] = [];
  prompt.forEach((message, at) => {
    if (message.role !== "tool" && asked.length > 0)
      wrong.push(`message ${at}: calls ${asked.join(" ")} have no result`);
    if (message.role === "tool") {
      const answered = message.content.flatMap((part) => (part.type === "tool-result" ? part.toolCallId : []));
      if (answered.join(" ") !== asked.join(" "))
        wrong.push(`message ${at}: [${answered.join(" ")}] answers [${asked.join(" ")}]`);
    }
    asked = [];
    if (message.role === "assistant") {
      asked = message.content.flatMap((part) =>
        part.type === "tool-call" && !part.providerExecuted ? part.toolCallId : [],
      );
      for (const id of asked) {
        if (ids.has(id)) wrong.push(`message ${at}: id ${id} appears twice`);
        if (!/^[A-Za-z0-9_-]{1,40}$/.test(id)) wrong.push(`message ${at}: id ${JSON.stringify(id)} is none`);
        ids.add(id);
      }
    }
    if (message.role !== "system" && message.content.length === 0) wrong.push(`message ${at} is empty`);
    for (const text of textsOf(message)) {
      if (text.trim() === "") wrong.push(`message ${at} has a blank text`);
      if (!text.isWellFormed()) wrong.push(`message ${at} has half a character`);
    }
  });
  if (asked.length > 0) wrong.push(`calls ${asked.join(" ")} at the end have no result`);
  const last = prompt.at(-1);
  if (last?.role !== "user" && last?.role !== "tool") wrong.push(`the request ends with ${last?.role ?? "nothing"}`);
  return wrong;
}

function textsOf({ role, content }: LanguageModelV4Prompt[number]): string[] {
  if (role === "system") return [content];
  return content.flatMap((part) => {
    if (part.type === "text") return part.text;
    if (part.type !== "tool-result" || !("value" in part.output)) return [];
    return typeof part.output.value === "string" ? part.output.value : [];
  });
}
