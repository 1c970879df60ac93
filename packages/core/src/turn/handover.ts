/**
 * The prompt as it is given to a provider package: copies, since packages write cache markers into messages and parts,
 * and the next request begins with the same bytes (L10).
 *
 * A copy is made once a message and used again as long as nobody wrote into it; to copy a whole conversation at each
 * step would cost its square. Copied, and looked at, as deep as markers go: messages and parts.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";

/** The fields of parts that hold their content or a marker. */
interface Looked {
  providerOptions?: unknown;
  text?: unknown;
  input?: unknown;
  output?: unknown;
}

export class Handover {
  #given: { from: LanguageModelV4Message; copy: LanguageModelV4Message }[] = [];

  of(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
    const copies: LanguageModelV4Prompt = [];
    for (let at = 0; at < prompt.length; at += 1) {
      const from = prompt[at];
      if (!from) continue;
      const given = this.#given[at];
      const copy = given && given.from === from && untouched(given.copy, from) ? given.copy : copyOf(from);
      if (copy !== given?.copy) this.#given[at] = { from, copy };
      copies.push(copy);
    }
    return copies;
  }
}

function copyOf(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === "system") return { ...message };
  return { ...message, content: message.content.map((part) => ({ ...part })) } as LanguageModelV4Message;
}

function untouched(copy: LanguageModelV4Message, from: LanguageModelV4Message): boolean {
  if (copy.role !== from.role || copy.providerOptions !== from.providerOptions) return false;
  if (copy.role === "system" || from.role === "system") return copy.content === from.content;
  const parts: readonly Looked[] = copy.content;
  const originals: readonly Looked[] = from.content;
  if (parts.length !== originals.length) return false;
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at];
    const original = originals[at];
    if (part?.providerOptions !== original?.providerOptions || part?.text !== original?.text) return false;
    if (part?.input !== original?.input || part?.output !== original?.output) return false;
  }
  return true;
}
