/**
 * A model that plays a script of stream parts, and may break anywhere: the AI SDK's own mocks cannot fail midway.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";

/** One thing a scripted stream does. */
export type ScriptStep =
  | LanguageModelV4StreamPart
  /** The reader throws this. */
  | { fail: unknown }
  /** Waits for a promise: a test opens it when it likes. */
  | { until: Promise<unknown> }
  /** Never goes on by itself. */
  | { silence: true };

/** One request's answer: steps, or an error that `doStream` rejects with. */
export type ScriptEntry = ScriptStep[] | { reject: unknown };

export interface ScriptedModel extends LanguageModelV4 {
  /** The options of every request so far. */
  readonly requests: LanguageModelV4CallOptions[];
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

/** Parts of a whole text answer. */
export function say(text: string, id = "1"): LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id },
    { type: "text-delta", id, delta: text },
    { type: "text-end", id },
  ];
}

export function think(text: string, id = "r"): LanguageModelV4StreamPart[] {
  return [
    { type: "reasoning-start", id },
    { type: "reasoning-delta", id, delta: text },
    { type: "reasoning-end", id },
  ];
}

/** Parts of one whole tool call. */
export function call(tool: string, input: unknown, id = `call_${tool}`): LanguageModelV4StreamPart[] {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return [
    { type: "tool-input-start", id, toolName: tool },
    { type: "tool-input-delta", id, delta: text },
    { type: "tool-input-end", id },
    { type: "tool-call", toolCallId: id, toolName: tool, input: text },
  ];
}

export function finish(
  reason: "stop" | "tool-calls" | "length" | "content-filter" | "interrupted" | "error" | "other" = "stop",
): LanguageModelV4StreamPart {
  return { type: "finish", usage, finishReason: { unified: reason, raw: reason } };
}

/** Plays one entry per request; a request beyond the script is rejected. */
export function scriptedModel(script: readonly ScriptEntry[], name = "scripted"): ScriptedModel {
  const requests: LanguageModelV4CallOptions[] = [];
  return {
    specificationVersion: "v4",
    provider: "test",
    modelId: name,
    supportedUrls: {},
    requests,
    doGenerate: () => Promise.reject(new Error("the scripted model only streams")),
    doStream: async (options) => {
      requests.push(options);
      const entry = script[requests.length - 1];
      if (!entry) throw new Error(`the script has ${script.length} entries, this is request ${requests.length}`);
      if (!Array.isArray(entry)) throw entry.reject;
      return { stream: streamOf(entry, options.abortSignal) };
    },
  };
}

function streamOf(
  steps: readonly ScriptStep[],
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let at = 0;
  return new ReadableStream({
    start(controller) {
      signal?.addEventListener("abort", () => controller.error(signal.reason), { once: true });
    },
    async pull(controller) {
      for (;;) {
        const step = steps[at++];
        if (!step) return controller.close();
        if ("fail" in step) return controller.error(step.fail);
        if ("silence" in step) return new Promise(() => {});
        if (!("until" in step)) return controller.enqueue(step);
        await step.until;
      }
    },
  });
}
