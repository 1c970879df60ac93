/** A recovered model over a script, in a world without time, and what its consumer got. */
import assert from "node:assert/strict";
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { ModelCallFailed } from "../src/attempt/model-call-failed.ts";
import type { AttemptReport } from "../src/attempt/recovered-call.ts";
import { type RecoverOptions, recover } from "../src/attempt/recovering.ts";
import { FakeEffects } from "../src/testing/fake.ts";
import { type ScriptEntry, type ScriptedModel, scriptedModel } from "../src/testing/model.ts";
import { hello } from "./wire-provider.ts";

export type StreamPart = LanguageModelV4StreamPart;

export const dropped = { fail: new TypeError("terminated") };

/** What a consumer got of one call. */
export interface Got {
  parts: StreamPart[];
  /** What `doStream` rejected with, or the stream was errored with. */
  thrown?: unknown;
}

export interface RecoveredWorld {
  effects: FakeEffects;
  inner: ScriptedModel;
  reports: AttemptReport[];
  stream(call?: Partial<LanguageModelV4CallOptions>): Promise<Got>;
  model: ReturnType<typeof recover>;
}

export function recovered(script: readonly ScriptEntry[], options: RecoverOptions = {}): RecoveredWorld {
  const effects = new FakeEffects();
  const inner = scriptedModel(script);
  const reports: AttemptReport[] = [];
  const model = recover(inner, { effects, onAttempt: (report) => reports.push(report), ...options });
  return { effects, inner, reports, model, stream: (call) => effects.run(consume(model, call)) };
}

export async function consume(
  model: ReturnType<typeof recover>,
  call: Partial<LanguageModelV4CallOptions> = {},
  heard: (part: StreamPart) => void = () => {},
): Promise<Got> {
  const parts: StreamPart[] = [];
  try {
    const { stream } = await model.doStream({ ...hello, ...call });
    for await (const part of stream) {
      parts.push(part);
      heard(part);
    }
    return { parts };
  } catch (thrown) {
    return { parts, thrown };
  }
}

export function wordsOf(parts: readonly StreamPart[], kind: "text" | "reasoning" = "text"): string {
  return parts.map((part) => (part.type === `${kind}-delta` && "delta" in part ? part.delta : "")).join("");
}

/** The failure that a call ended with, however it was told. */
export function failedWith({ parts, thrown }: Got): ModelCallFailed {
  const last = parts.at(-1);
  const error = last?.type === "error" ? last.error : thrown;
  assert.ok(error instanceof ModelCallFailed, `ended with ${String(error ?? last?.type)}`);
  return error;
}

/** What holds for every call, however it went: one end, and nothing behind it. */
export function assertOneEnd({ parts, thrown }: Got): "good" | "failed" {
  const ends = parts.flatMap(({ type }, at) => (type === "finish" || type === "error" ? [at] : []));
  if (thrown !== undefined) {
    assert.deepEqual(ends, [], "what throws gave no end");
    return "failed";
  }
  assert.deepEqual(ends, [parts.length - 1], parts.map(({ type }) => type).join(" "));
  return parts.at(-1)?.type === "finish" ? "good" : "failed";
}
