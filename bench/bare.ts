/** What the baselines of the stream rows do: read a model's stream to its end and count. No runtime, nothing kept. */
import type { LanguageModelV4, LanguageModelV4Message } from "@ai-sdk/provider";
import { promptText } from "./model.ts";

const asked: LanguageModelV4Message = { role: "user", content: [{ type: "text", text: promptText }] };

/** What a `chatModel` says before its tool and after it. */
export async function drainChat(model: LanguageModelV4, onDelta: (text: string) => void): Promise<void> {
  await drain(model, onDelta);
  await drain(model, onDelta, [asked, { role: "tool", content: [] }]);
}

export async function drain(
  model: LanguageModelV4,
  onDelta: (text: string) => void,
  prompt: LanguageModelV4Message[] = [asked],
): Promise<void> {
  const { stream } = await model.doStream({ prompt });
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (value.type === "text-delta") onDelta(value.delta);
  }
}
