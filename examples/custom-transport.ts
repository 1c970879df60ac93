import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createSession, watchedFetch } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";

// A transport of your own: say, a WebSocket to a gateway, shown to the provider package as a `fetch`. When it drops, it
// knows whether asking again makes sense, and when. It says so on the error: that is the whole contract.
class LineDropped extends Error {
  readonly isRetryable = true;
  readonly responseHeaders = { "retry-after-ms": "20" };
}

const frame = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

let lines = 0;
const overTheLine: typeof fetch = async () => {
  lines += 1;
  if (lines === 1) throw new LineDropped("the line dropped before it was open"); // thrown instead of an answer
  const drops = lines === 2;
  const body = new ReadableStream<string>({
    start(controller) {
      controller.enqueue(frame({ role: "assistant", content: "Hello " }));
      if (drops) return controller.error(new LineDropped("the line dropped")); // or by the body, at any byte
      controller.enqueue(frame({ content: "there." }));
      controller.enqueue(frame({}, "stop"));
      controller.enqueue("data: [DONE]\n\n");
      controller.close();
    },
  });
  return new Response(body.pipeThrough(new TextEncoderStream()), { headers: { "content-type": "text/event-stream" } });
};

const provider = createOpenAICompatible({
  name: "gateway",
  baseURL: "http://gateway.invalid/v1",
  fetch: watchedFetch(overTheLine), // notes the transport's own word before the package can wrap it
});
const session = await createSession(memoryRuntime());
const { outcome, text, books } = await session.run(
  { model: provider("model"), recovery: { backoff: { firstMs: 1, factor: 1, capMs: 1 } } },
  "Say hello",
).result;
console.log(`${outcome.type}: ${text} (${lines} lines, ${books.discarded.attempts} attempts lost)`);
if (outcome.type !== "completed" || text !== "Hello there." || lines !== 3) process.exitCode = 1;
