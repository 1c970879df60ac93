/**
 * Models that cost next to nothing, the same for baseline and ours. They keep no request: a model that did would grow
 * with the prompts and be measured in place of the runtime.
 */
import { setImmediate } from "node:timers/promises";
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";

/** Parts handed over per pull: a read from a socket brings several, and it makes the baseline hard to be near to. */
const partsPerPull = 16;
/** The event loop turns after so many pulls, so that timers, the store's answers and the journal have their say. */
const pullsPerTurn = 64;

/** Five or so characters, as tokens are. */
const words = ["the ", "quick ", "brown ", "fox ", "jumps "] as const;
const wordAt = (at: number): string => words[at % words.length] ?? "";

export const promptText = "Go on.";

/** Answers every request with one text of so many deltas. */
export function deltaModel(deltas: number): LanguageModelV4 {
  return modelOf(() => {
    let at = -1;
    return () => {
      at += 1;
      if (at === 0) return { type: "text-start", id: "1" };
      if (at <= deltas) return { type: "text-delta", id: "1", delta: wordAt(at) };
      if (at === deltas + 1) return { type: "text-end", id: "1" };
      return at === deltas + 2 ? finish("stop") : undefined;
    };
  });
}

/** Characters of a {@link deltaModel}'s answer. */
export function charsOf(deltas: number): number {
  let chars = 0;
  for (let at = 1; at <= deltas; at += 1) chars += wordAt(at).length;
  return chars;
}

/**
 * Answers so many requests with a sentence and one tool call, the next one with text only. About one kilobyte of own
 * content a step: 200 characters said, 100 of arguments, 700 of result ({@link lookUp}).
 */
export function stepModel(steps: number, onRequest: (request: number) => void = () => {}): LanguageModelV4 {
  let requests = 0;
  return modelOf(() => {
    const request = requests++;
    onRequest(request);
    const parts = request < steps ? stepParts(request) : lastParts();
    let at = 0;
    return () => parts[at++];
  });
}

/**
 * Answers a person with so many deltas and one tool call, and the call's result with a word. It looks at the prompt and
 * keeps no count, so that any number of sessions may share it.
 */
export function chatModel(deltas: number): LanguageModelV4 {
  return modelOf(({ prompt }) => {
    const parts = prompt.at(-1)?.role === "tool" ? lastParts() : chatParts(deltas);
    let at = 0;
    return () => parts[at++];
  });
}

function chatParts(deltas: number): LanguageModelV4StreamPart[] {
  const [text, call] = ["1", "call_1"];
  return [
    { type: "text-start", id: text },
    ...Array.from({ length: deltas }, (_, at) => ({ type: "text-delta" as const, id: text, delta: wordAt(at) })),
    { type: "text-end", id: text },
    ...callParts(call, argumentsOf(1)),
    finish("tool-calls"),
  ];
}

export const said = "I look at the next part of the file to see how it handles this. ".repeat(4).slice(0, 200);

export function argumentsOf(step: number): string {
  return JSON.stringify({ path: `src/part-${step}.ts`, pattern: "x".repeat(60) }).padEnd(100, " ");
}

/** The tool's body: what it returns is about as long as a short piece of a file. */
export function lookUp(input: { path: string }): string {
  return `${input.path}: `.padEnd(700, "const value = compute(input); ");
}

/** By step, made once: to make them takes longer than to read them. */
const made: LanguageModelV4StreamPart[][] = [];

function stepParts(step: number): LanguageModelV4StreamPart[] {
  const parts = made[step] ?? freshParts(step);
  made[step] = parts;
  return parts;
}

function freshParts(step: number): LanguageModelV4StreamPart[] {
  const call = `call_${step}`;
  const input = argumentsOf(step);
  return [
    { type: "text-start", id: "1" },
    ...slices(said, 25).map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
    { type: "text-end", id: "1" },
    ...callParts(call, input),
    finish("tool-calls"),
  ];
}

function callParts(call: string, input: string): LanguageModelV4StreamPart[] {
  return [
    { type: "tool-input-start", id: call, toolName: "look" },
    ...slices(input, 25).map((delta) => ({ type: "tool-input-delta" as const, id: call, delta })),
    { type: "tool-input-end", id: call },
    { type: "tool-call", toolCallId: call, toolName: "look", input },
  ];
}

function lastParts(): LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "Done." },
    { type: "text-end", id: "1" },
    finish("stop"),
  ];
}

function slices(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
}

function finish(reason: "stop" | "tool-calls"): LanguageModelV4StreamPart {
  return {
    type: "finish",
    finishReason: { unified: reason, raw: reason },
    usage: {
      inputTokens: { total: 1_000, noCache: 1_000, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 80, text: 80, reasoning: undefined },
    },
  };
}

type Request = Pick<LanguageModelV4CallOptions, "prompt">;

function modelOf(answer: (request: Request) => () => LanguageModelV4StreamPart | undefined): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the bench's model only streams")),
    doStream: async (request) => ({ stream: streamOf(answer(request)) }),
  };
}

function streamOf(next: () => LanguageModelV4StreamPart | undefined): ReadableStream<LanguageModelV4StreamPart> {
  let pulls = 0;
  const fill = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): void => {
    for (let n = 0; n < partsPerPull; n += 1) {
      const part = next();
      if (!part) return controller.close();
      controller.enqueue(part);
    }
  };
  return new ReadableStream({
    pull(controller) {
      pulls += 1;
      if (pulls % pullsPerTurn !== 0) return fill(controller);
      return setImmediate().then(() => fill(controller));
    },
  });
}
