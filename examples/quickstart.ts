import { createSession, defineTool, openSession } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";
import { z } from "zod";

// Sessions live in a folder. Any AI SDK model works; this one plays a script, so that the example needs no key.
const runtime = await openRuntime({ dir: process.argv[2] ?? "./sessions" });
const model = scriptedModel([
  [...call("weather", { city: "Oslo" }), finish("tool-calls")],
  [...say("It is cold in "), { fail: new TypeError("terminated") }], // the connection breaks in the middle of a sentence
  [...say("It is cold in Oslo."), finish()],
]);

const weather = defineTool({
  description: "The weather in a city",
  inputSchema: z.object({ city: z.string() }),
  effect: "read", // may run again after a crash; without this it counts as a write and never would
  execute: async ({ city }) => `${city}: -4 degrees`,
});

const session = await createSession(runtime);
const turn = session.run({ model, tools: { weather } }, "How is the weather in Oslo?");
for await (const item of turn) {
  if (item.type === "part.delta" && item.kind === "text") process.stdout.write(item.text);
  if (item.type === "entry" && item.entry.event.type === "attempt.ended" && item.entry.event.end === "discarded") {
    process.stdout.write("\n[withdrawn, trying again]\n");
  }
}
const { outcome, text } = await turn.result;
console.log(`\n${outcome.type}: ${text}`);

// Everything is in the log: another process could have read it while it happened, or go on with it now.
const later = await openSession(runtime, session.id);
console.log(`${(await later.entries()).length} events`);
await runtime.store.close();
