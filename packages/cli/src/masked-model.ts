/**
 * A model whose faults are told without this process's secrets. Some providers and gateways repeat the key that they refuse, and what a
 * fault says is logged, shown, and told to the agent that gave a task.
 */
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { SecretMask } from "./tools/secret-mask.ts";

export function maskedModel(model: LanguageModelV4, mask: SecretMask): LanguageModelV4 {
  const doStream: LanguageModelV4["doStream"] = async (options) => {
    try {
      const { stream, ...rest } = await model.doStream(options);
      return { ...rest, stream: stream.pipeThrough(errorsMasked(mask)) };
    } catch (error) {
      throw mask.error(error);
    }
  };
  // Not a copy: what a provider's class gives by getters and private fields stays its own.
  return new Proxy(model, {
    get(target, name) {
      if (name === "doStream") return doStream;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** What breaks the stream itself is the transport's word, which has seen no key. */
function errorsMasked(mask: SecretMask): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> {
  return new TransformStream({
    transform(part, controller) {
      controller.enqueue(part.type === "error" ? { ...part, error: mask.error(part.error) } : part);
    },
  });
}
