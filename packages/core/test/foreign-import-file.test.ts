/** Files of foreign messages: lines and documents, what is wrong in them, and how they are read. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ImportMessagesOptions, importTranscript, isPawlError, openSession, verify } from "../src/index.ts";
import { limit } from "../src/limit.ts";
import { memoryRuntime } from "../src/node.ts";

const user = { role: "user", content: "build" };
const chatCall = { role: "assistant", tool_calls: [{ id: "c1", function: { name: "make", arguments: "{}" } }] };
const toolUse = { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "make", input: {} }] };

function lines(...values: unknown[]): string[] {
  return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
}

async function read(given: readonly string[], options: ImportMessagesOptions = {}) {
  const runtime = memoryRuntime();
  const taken = await importTranscript(runtime, given, { session: "s", ...options });
  const entries = await (await openSession(runtime, "s")).entries();
  assert.deepEqual(
    verify(entries).flatMap(({ violations }) => violations),
    [],
  );
  return { ...taken, entries, head: (await runtime.store.get("s"))?.head };
}

describe("a file of messages", () => {
  const messages = [
    user,
    chatCall,
    { role: "tool", tool_call_id: "c1", content: "ok" },
    { role: "assistant", content: "Built." },
  ];
  const forms: Record<string, string[]> = {
    "one a line": lines(...messages),
    "one a line, with empty lines and a mark at the beginning": [
      "\ufeff",
      ...lines(...messages).flatMap((text) => ["", text]),
      "",
    ],
    "a list on one line": lines(messages),
    "a list over many": JSON.stringify(messages, null, 2).split("\n"),
    "a request body on one line": lines({ model: "gpt-5", messages }),
    "a request body over many": JSON.stringify({ model: "gpt-5", messages }, null, 2).split("\n"),
  };
  for (const [form, given] of Object.entries(forms)) {
    test(form, async () => {
      const { format, messages: count, head, entries } = await read(given);
      assert.deepEqual([format, count], ["openai-chat", 4]);
      assert.deepEqual(head, { title: "build", outcome: "completed" });
      const step = entries.find(({ event }) => event.type === "step.started")?.event;
      const id = form.includes("body") ? "gpt-5" : "unknown";
      assert.deepEqual(step?.type === "step.started" && step.header?.model, { provider: "imported", id });
    });
  }

  test("`system` beside the messages becomes the instructions", async () => {
    for (const system of ["be brief", [{ type: "text", text: "be brief" }]]) {
      const { entries } = await read(lines({ system, messages: [user, toolUse] }));
      assert.match(JSON.stringify(entries), /"instructions":"be brief"/);
    }
  });
});

describe("what is wrong is said with its place, and nothing is there afterwards", () => {
  const cases: [string, string[], RegExp, ImportMessagesOptions?][] = [
    ["no JSON in the middle", lines(user, "{oops", user), /^line 2: is not JSON: "\{oops"; nothing/],
    ["no JSON at all", lines("hello", "world"), /^line 1: is not JSON, and neither is the file as a whole: "hello"/],
    ["cut in the middle of a document", lines("[", JSON.stringify(user)), /^line 1: is not JSON, and neither/],
    ["nothing", [""], /^there is no message in it/],
    ["an empty list", lines("[]"), /^there is no message in it/],
    ["another document", lines('"hello"'), /^line 1: is no message: "hello"/],
    ["an object of something else", lines({ a: 1 }), /^line 1: is a message of no format .*\{"a":1\}; name the format/],
    [
      "two conversations",
      lines({ messages: [user] }, { messages: [user] }),
      /^line 2: comes after a whole conversation/,
    ],
    ["a conversation amid messages", lines(user, { messages: [user] }), /^line 2: is another conversation/],
    ["two formats", lines(user, chatCall, toolUse), /^line 3: looks like anthropic, but line 2 like openai-chat; name/],
    ["a UIMessage", lines({ id: "1", role: "user", parts: [] }), /^line 1: is a UIMessage; .*convertToModelMessages/],
    ["a result of nobody's form", lines({ role: "tool", content: "ok" }), /^line 1: is a message of no format/],
    [
      "an item of the responses protocol",
      lines({ type: "function_call", call_id: "c1" }),
      /^line 1: is a message of no format that is known here/,
    ],
    ["an unknown role", lines({ role: "robot", content: "hi" }), /^line 1: is a message of no format .*"robot"/],
    [
      "a call without a name",
      lines(user, { role: "assistant", tool_calls: [{ id: "c1", function: { arguments: "{}" } }] }),
      /^line 2: tool_calls\[0\]\.function\.name must be a string, is null \(read as openai-chat\)/,
    ],
    [
      "a part that the named format does not have",
      lines(user, toolUse),
      /^line 2: content\[0\]\.type must be one of text, reasoning, .*, is "tool_use" \(read as ai-sdk\)/,
      { format: "ai-sdk" },
    ],
    [
      "a value nested without end",
      lines(
        user,
        `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"x","input":${"[".repeat(50_000)}${"]".repeat(50_000)}}]}`,
      ),
      /^line 2: a value is no JSON, or is nested too deep/,
    ],
    [
      "a format that is none",
      lines(user),
      /^format "chatml" is none of ai-sdk, openai-chat, anthropic/,
      { format: "chatml" as "ai-sdk" },
    ],
    ["an id that is none", lines(user), /^"a\/b" cannot be a session id/, { session: "a/b" }],
    [
      "more than a record holds",
      lines(user, { role: "assistant", content: "x".repeat(limit.recordBytes) }),
      /^line 2: cannot record message\.committed: \d+ bytes, at most/,
    ],
  ];
  for (const [title, given, message, options] of cases) {
    test(title, async () => {
      const runtime = memoryRuntime();
      await assert.rejects(importTranscript(runtime, given, { session: "s", ...options }), (error) => {
        assert.ok(isPawlError(error, "INVALID_INPUT"), String(error));
        assert.match(error.message, message);
        return true;
      });
      assert.deepEqual(await runtime.store.list(), []);
    });
  }

  test("an id that is taken", async () => {
    const runtime = memoryRuntime();
    await importTranscript(runtime, lines(user), { session: "s" });
    const again = importTranscript(runtime, lines(user), { session: "s" });
    await assert.rejects(
      again,
      (error) => isPawlError(error, "SESSION_EXISTS") && /session s exists/.test(error.message),
    );
  });
});

test("a long file is written as it is read, in batches within their bound", async () => {
  const runtime = memoryRuntime();
  const restore = runtime.store.restore.bind(runtime.store);
  let given = 0;
  let most = 0;
  const seenAt: number[] = [];
  runtime.store.restore = (session) =>
    restore({
      ...session,
      batches: (async function* () {
        for await (const batch of session.batches) {
          seenAt.push(given);
          most = Math.max(most, batch.length);
          yield batch;
        }
      })(),
    });
  function* source() {
    for (; given < 6_000; given += 2)
      yield* lines({ ...user, content: `question ${given}` }, { role: "assistant", content: "Answer." });
  }
  const { messages } = await importTranscript(runtime, source(), { session: "s" });
  assert.equal(messages, 6_000);
  assert.ok(most <= limit.batchRecords);
  assert.ok(seenAt.length > 20 && (seenAt[0] ?? 0) < 400, `the first batch came after ${seenAt[0]} messages`);
});
