import { repairMessages } from "@pawl/core";

// A history as a loop of one's own keeps it, after a bad day: the process was killed inside a tool, a server gives every
// call the same id, a result came twice. Each of these makes every later request a 400.
const { messages, repairs } = repairMessages([
  { role: "user", content: "Build it and say how long it took." },
  { role: "assistant", content: [{ type: "tool-call", toolCallId: "call_0", toolName: "build", input: {} }] },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "call_0", toolName: "build", output: { type: "text", value: "built" } },
      {
        type: "tool-result",
        toolCallId: "call_0",
        toolName: "build",
        output: { type: "error-text", value: "aborted" },
      },
    ],
  },
  { role: "assistant", content: [{ type: "tool-call", toolCallId: "call_0", toolName: "time", input: {} }] },
  { role: "user", content: "Are you there?" },
]);

for (const { at, what } of repairs) console.log(`message ${at}: ${what}`);
console.log(messages.map(({ role }) => role).join(" "));

// What is valid comes back as it is, the same objects: call it before every request, `streamText({ model, messages })`.
const again = repairMessages(messages);
const untouched = again.repairs.length === 0 && again.messages.every((message, at) => message === messages[at]);
if (repairs.length !== 3 || !untouched) process.exitCode = 1;
