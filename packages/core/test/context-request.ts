/** Prompts as the provider packages write them, and what the endpoints say of that: no sockets, the same bytes. */
import assert from "node:assert/strict";
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { type Issued, judge, type Protocol, type ReasoningMood } from "@pawl/model-server";
import { contextFold, promptOf } from "../src/context/projection.ts";
import { type Target, targetOf } from "../src/context/target.ts";
import type { LogEntry } from "../src/log/envelope.ts";
import type { MessagePart, ProviderMeta } from "../src/log/event.ts";
import { runFold } from "../src/log/fold.ts";
import type { ModelRef, ReasoningReplay } from "../src/log/value.ts";
import { modelAt } from "./wire-provider.ts";

export type Options = Pick<LanguageModelV4CallOptions, "providerOptions">;

/** The body of the request that the package of this protocol makes of a prompt. */
export async function bodyOf(protocol: Protocol, prompt: LanguageModelV4Prompt, options: Options = {}) {
  let body: string | undefined;
  const model = modelAt("http://127.0.0.1:9", protocol, "bare", async (_, init) => {
    body = String(init?.body);
    throw new Error("the body is all we want");
  });
  const failure = await Promise.resolve(model.doGenerate({ prompt, ...options })).then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(body !== undefined, `no request was made: ${failure}`);
  return JSON.parse(body) as { [key: string]: unknown };
}

export function modelRefOf(protocol: Protocol): ModelRef {
  const { provider, modelId } = modelAt("http://127.0.0.1:9", protocol, "bare");
  return { provider, id: modelId };
}

export function targetFor(model: ModelRef, reasoning?: ReasoningReplay): Target {
  return targetOf({ model, tools: [], ...(reasoning ? { reasoning } : {}) });
}

export function promptsOf(entries: Iterable<LogEntry>, target: Target): LanguageModelV4Prompt {
  return promptOf(runFold(contextFold(target), entries), "Be brief.");
}

/** What the endpoint would refuse in a request for this prompt. */
export async function refusals(
  protocol: Protocol,
  prompt: LanguageModelV4Prompt,
  { issued, mood, ...options }: Options & { issued?: Issued; mood?: ReasoningMood } = {},
): Promise<string[]> {
  const body = await bodyOf(protocol, prompt, options);
  const { violations } = judge(protocol, body, {
    ...(issued ? { issued } : {}),
    ...(mood ? { reasoningMood: mood } : {}),
  });
  return violations.map(({ rule, message }) => `${rule}: ${message}`);
}

export function reasoning(id: string, words: string, meta?: ProviderMeta): MessagePart {
  return { type: "reasoning", id, text: words, ...(meta ? { meta } : {}) };
}
