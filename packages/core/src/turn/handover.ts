/**
 * The prompt as it is given to a provider package: copies, since packages write cache markers into messages and parts,
 * and the next request begins with the same bytes (L10).
 *
 * A copy is made once a message and used again as long as nobody wrote into it; to copy a whole conversation at each
 * step would cost its square. Copied, and looked at, as deep as markers go: messages and parts.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";

/** One message as it was given, and beside it what its copy held then: for a check that touches little memory. */
interface Given {
  from: LanguageModelV4Message;
  copy: LanguageModelV4Message;
  content: LanguageModelV4Message["content"];
  options: unknown;
  /** Of each part: itself, its options, its body. */
  parts: readonly unknown[];
}

export class Handover {
  readonly #given: Given[] = [];

  of(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
    return prompt.map((from, at) => {
      const given = this.#given[at];
      if (given !== undefined && given.from === from && isUntouched(given)) return given.copy;
      const made = giving(from);
      this.#given[at] = made;
      return made.copy;
    });
  }
}

function giving(from: LanguageModelV4Message): Given {
  const copy =
    from.role === "system"
      ? { ...from }
      : ({ ...from, content: from.content.map((part) => ({ ...part })) } as LanguageModelV4Message);
  const parts: unknown[] = [];
  if (copy.role !== "system") for (const part of copy.content) parts.push(part, part.providerOptions, bodyOf(part));
  return { from, copy, content: copy.content, options: copy.providerOptions, parts };
}

function isUntouched({ from, copy, content, options, parts }: Given): boolean {
  if (copy.role !== from.role || copy.providerOptions !== options || copy.content !== content) return false;
  if (typeof content === "string") return true;
  if (content.length * 3 !== parts.length) return false;
  for (let at = 0; at < content.length; at += 1) {
    const part = content[at] as Part;
    if (part !== parts[at * 3] || part.providerOptions !== parts[at * 3 + 1]) return false;
    if (bodyOf(part) !== parts[at * 3 + 2]) return false;
  }
  return true;
}

type Part = Exclude<LanguageModelV4Message["content"], string>[number];

function bodyOf(part: Part): unknown {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool-call":
      return part.input;
    case "tool-result":
      return part.output;
    case "file":
    case "reasoning-file":
      return part.data;
    default:
      return undefined;
  }
}
