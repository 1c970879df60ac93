/** What the baselines of the stream rows do: read a model's stream to its end and count. No runtime, nothing kept. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { promptText } from "./model.ts";

export async function drain(model: LanguageModelV4, onDelta: (text: string) => void): Promise<void> {
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: promptText }] }];
  const { stream } = await model.doStream({ prompt });
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (value.type === "text-delta") onDelta(value.delta);
  }
}
