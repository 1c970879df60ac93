/** The three provider packages, pointed at a model server or at any fetch, with and without our edge of the wire. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { type ModelServer, type ModelServerOptions, type Protocol, startModelServer } from "@pawl/model-server";
import { type AttemptResult, runAttempt } from "../src/attempt/run.ts";
import { defaultWatch, type WatchPolicy } from "../src/attempt/watchdog.ts";
import { watchedFetch } from "../src/attempt/watched-fetch.ts";
import type { Effects } from "../src/effects.ts";
import { nodeEffects } from "../src/node/effects.ts";

export type Edge = "watched" | "bare";
type Fetch = typeof globalThis.fetch;

export function modelAt(
  baseURL: string,
  protocol: Protocol,
  edge: Edge,
  fetch: Fetch = globalThis.fetch,
): LanguageModelV4 {
  const settings = { baseURL, apiKey: "test", fetch: edge === "watched" ? watchedFetch(fetch) : fetch };
  switch (protocol) {
    case "chat":
      return createOpenAICompatible({ name: "scripted", includeUsage: true, ...settings })("scripted");
    case "responses":
      return createOpenAI(settings).responses("gpt-5");
    case "anthropic":
      return createAnthropic(settings)("claude-opus-4-5");
  }
}

export function modelOf(
  server: ModelServer,
  protocol: Protocol,
  edge: Edge = "watched",
  fetch?: Fetch,
): LanguageModelV4 {
  return modelAt(server.baseUrl(protocol), protocol, edge, fetch);
}

/** A server for the length of one callback. */
export async function serving(
  options: ModelServerOptions,
  body: (server: ModelServer) => Promise<void>,
): Promise<void> {
  const server = await startModelServer(options);
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

export const hello: LanguageModelV4CallOptions = {
  prompt: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
};

export interface AttemptOptions {
  effects?: Effects;
  signal?: AbortSignal;
  watch?: Partial<WatchPolicy>;
  options?: Partial<LanguageModelV4CallOptions>;
  onDelta?: (text: string) => void;
}

/** One attempt, nothing recorded. */
export function attemptOf(model: LanguageModelV4, given: AttemptOptions = {}): Promise<AttemptResult> {
  return runAttempt(
    {
      attempt: "a_1",
      model,
      options: { ...hello, ...given.options },
      signal: given.signal ?? new AbortController().signal,
      watch: { ...defaultWatch, ...given.watch },
      sink: { started: () => {}, delta: (_, text) => given.onDelta?.(text), ended: () => {} },
    },
    given.effects ?? nodeEffects(),
  );
}

export function textOf(result: AttemptResult): string {
  return result.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
