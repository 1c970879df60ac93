import { tool } from "@ai-sdk/provider-utils";
import { createSession, type ToolSet } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { call, finish, say, scriptedModel } from "@pawl/core/testing";
import { z } from "zod";

// Tools of the AI SDK work as they are, beside ours. What they leave out is assumed for the worst: they write, and
// they lock everything. Spread one to say more about it.
const add = tool({
  description: "Adds two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => a + b,
});
const tools: ToolSet = { add, quickAdd: { ...add, effect: "read", locks: () => [] } };

const model = scriptedModel([
  [...call("add", { a: 1, b: 2 }), ...call("quickAdd", { a: 3, b: 4 }), finish("tool-calls")],
  [...say("3 and 7."), finish()],
]);
const session = await createSession(memoryRuntime());
const { text, books } = await session.run({ model, tools }, "Add them.").result;
console.log(text, `${books.tools} tool runs`);
