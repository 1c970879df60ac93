/** Conversations that other programs have kept: as the lines of a file, and as messages in memory. */
import assert from "node:assert/strict";
import { importTranscript, openSession, repairMessages } from "@pawl/core";
import { memoryRuntime } from "@pawl/core/node";
import { finish, say, scriptedModel } from "@pawl/core/testing";
import { assertLawful, bytesOf, refusedWith, type Target, textOf } from "./fuzz-target.ts";

const call = (id: string) => ({ type: "tool-call", toolCallId: id, toolName: "bash", input: { command: "ls" } });
const result = (id: string) => ({
  type: "tool-result",
  toolCallId: id,
  toolName: "bash",
  output: { type: "text", value: "a b" },
});

const aiSdk = [
  { role: "system", content: "be brief" },
  {
    role: "user",
    content: [
      { type: "text", text: "list" },
      { type: "file", data: "AAEC", mediaType: "image/png" },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm", providerOptions: { anthropic: { signature: "s" } } },
      { type: "text", text: "I look." },
      call("c1"),
      call("c2"),
      { type: "tool-approval-request", approvalId: "p1", toolCallId: "c2" },
    ],
  },
  {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId: "p1", approved: true }, result("c1"), result("c2")],
  },
  {
    role: "assistant",
    content: [{ ...call("c3"), providerExecuted: true }, result("c3"), { type: "text", text: "Two." }],
  },
  { role: "user", content: "thanks" },
  { role: "assistant", content: "Welcome." },
];

const chat = [
  { role: "developer", content: "be brief" },
  {
    role: "user",
    content: [
      { type: "text", text: "see" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAEC" } },
    ],
  },
  {
    role: "assistant",
    content: null,
    reasoning_content: "hm",
    tool_calls: [{ id: "c1", type: "function", function: { name: "bash", arguments: '{"command":"ls"}' } }],
  },
  { role: "tool", tool_call_id: "c1", content: "a b" },
  { role: "assistant", content: "Two files.", refusal: null },
];

const anthropic = {
  system: [{ type: "text", text: "be brief" }],
  model: "claude-opus-4-5",
  messages: [
    { role: "user", content: [{ type: "text", text: "list" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "s" },
        { type: "redacted_thinking", data: "AAEC" },
        { type: "tool_use", id: "t1", name: "bash", input: { command: "ls" } },
        { type: "server_tool_use", id: "t2", name: "web_search", input: {} },
        { type: "web_search_tool_result", tool_use_id: "t2", content: [] },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", is_error: true, content: [{ type: "text", text: "a b" }] },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "AAEC" } },
        { type: "document", source: { type: "url", url: "https://x.test/a.pdf" } },
      ],
    },
  ],
};

const words = [
  '"role":"tool"',
  '"role":"user"',
  '"role":"assistant"',
  '"content":',
  '"type":"',
  '"toolCallId":"c1"',
  '"output":',
];
const lines = (messages: readonly unknown[]) => bytesOf(messages.map((message) => JSON.stringify(message)).join("\n"));

export function importTarget(): Target {
  const seeds = [lines(aiSdk), lines(chat), bytesOf(JSON.stringify(anthropic)), lines(anthropic.messages)];
  return { seeds, words: [...words, '"tool_calls":[', '"tool_use_id":"t1"'], run: (input) => takeIn(textOf(input)) };
}

/** What is taken in keeps the laws, and goes on: one turn, and the laws again. */
async function takeIn(text: string): Promise<void> {
  const runtime = memoryRuntime();
  const model = scriptedModel([[...say("Here I am."), finish()]]);
  const ref = { provider: model.provider, id: model.modelId };
  const options = text.length % 2 === 0 ? {} : { model: ref };
  const taken = await refusedWith(["INVALID_INPUT"], () => importTranscript(runtime, text.split("\n"), options));
  if (!taken) {
    assert.deepEqual(await runtime.store.list(), [], "what was refused is not there");
    return;
  }
  const session = await openSession(runtime, taken.session);
  assertLawful(await session.entries(), "in what was taken in");
  const { outcome } = await session.run({ model }, "go on").result;
  assert.equal(outcome.type, "completed", "it goes on");
  assertLawful(await session.entries(), "after another turn");
  assert.doesNotThrow(() => JSON.stringify(model.requests[0]?.prompt), "the request is JSON");
}

export function repairTarget(): Target {
  return { seeds: [bytesOf(JSON.stringify(aiSdk))], words, run: async (input) => repair(textOf(input)) };
}

type Messages = Parameters<typeof repairMessages>[0];

async function repair(text: string): Promise<void> {
  const given = parsed(text) as Messages;
  const providerState = text.length % 3 === 0 ? "drop" : "keep";
  const before = JSON.stringify(given);
  const repaired = await refusedWith(["INVALID_INPUT"], () => repairMessages(given, { providerState }));
  assert.equal(JSON.stringify(given), before, "nothing is changed in place");
  if (!repaired) return assert.ok(!Array.isArray(given), "an array is taken");
  assertPaired(repaired.messages);
  const again = repairMessages(repaired.messages, { providerState });
  assert.deepEqual(again.repairs, [], "repairing twice is repairing once");
  assert.ok(
    again.messages.every((message, at) => message === repaired.messages[at]),
    "what is whole stays the same objects",
  );
}

/** L1: each call that the client runs has one result, directly after its message; one that was just answered has it next. */
function assertPaired(messages: Messages): void {
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== "assistant") continue;
    const behind = messages.slice(at + 1);
    const other = behind.findIndex((message) => message.role !== "tool");
    const answers = (other < 0 ? behind : behind.slice(0, other)).flatMap((message) => partsOf(message.content));
    const last = other < 0 ? partsOf(messages.at(-1)?.content) : [];
    const responses = idsOf(last, "tool-approval-response", "approvalId");
    const requests = partsOf(content).filter(
      ({ approvalId }) => approvalId !== undefined && responses.includes(approvalId),
    );
    const waiting = idsOf(requests, "tool-approval-request");
    const results = idsOf(answers, "tool-result");
    const own = partsOf(content).filter((part) => part["providerExecuted"] !== true);
    for (const id of idsOf(own, "tool-call")) {
      const count = results.filter((answer) => answer === id).length;
      assert.ok(count === 1 || (count === 0 && waiting.includes(id)), `a call has one result, not ${count}`);
    }
  }
}

type Fields = Record<string, unknown>;

const partsOf = (content: unknown): Fields[] => (Array.isArray(content) ? content : []);

const idsOf = (parts: readonly Fields[], type: string, name = "toolCallId"): unknown[] =>
  parts.filter((part) => part["type"] === type).map((part) => part[name]);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
