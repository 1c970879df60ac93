import { ModelCallFailed } from "@pawl/core";
import { recover } from "@pawl/core/node";
import { finish, say, scriptedModel, think } from "@pawl/core/testing";

// For programs that call the AI SDK themselves. A recovered model is a model: streamText({ model: recover(openai("gpt-5")) }).
// This one plays a script: its connection breaks in a thought, is refused, and then breaks in a sentence.
const dropped = { fail: new TypeError("terminated") };
const busy = { reject: Object.assign(new Error("busy"), { status: 503 }) };
const script = [
  [...think("Oslo, in January…"), dropped],
  busy,
  [...think("Cold."), ...say("It is cold."), finish()],
  [...say("And tomorrow it"), dropped],
];
const model = recover(scriptedModel(script), {
  recovery: { backoff: { firstMs: 1, factor: 1, capMs: 1 } },
  onAttempt: ({ number, end, failure }) => console.log(`  attempt ${number}: ${end} ${failure?.message ?? ""}`),
});

async function ask(question: string): Promise<string> {
  const { stream } = await model.doStream({ prompt: [{ role: "user", content: [{ type: "text", text: question }] }] });
  let answer = "";
  for await (const part of stream) {
    if (part.type === "text-delta") answer += part.delta;
    if (part.type === "error") throw part.error; // never a `finish` that says "stop" for half an answer
  }
  return answer;
}

// Nothing was let out when the first two broke: they are asked again, unseen.
const answer = await ask("How is the weather in Oslo?");
console.log(answer);

// Half a sentence was let out, and nobody here can take it back: an error, not a retry.
const error = await ask("And tomorrow?").catch((thrown: unknown) => thrown);
if (!(error instanceof ModelCallFailed)) throw error;
console.log(`${error.name}: ${error.failure.kind}, ${error.decision.reason}`);
if (answer !== "It is cold." || error.attempts !== 1) process.exitCode = 1;
