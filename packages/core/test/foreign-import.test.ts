/** Conversations that other programs have kept, as sessions: what holds for all, and each format's own. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import fc from "fast-check";
import {
  type ImportMessagesOptions,
  importMessages,
  isPawlError,
  type LogEntry,
  openSession,
  type Runtime,
  transcriptOf,
  verify,
} from "../src/index.ts";
import { memoryRuntime } from "../src/node.ts";
import { finish, say, scriptedModel } from "../src/testing.ts";
import { anyHistory, validHistory } from "./repair-arbitrary.ts";
import { refusals } from "./repair-judge.ts";

interface Taken {
  entries: LogEntry[];
  /** The request of the next turn. */
  prompt: LanguageModelV4Prompt;
  runtime: Runtime;
  format: string | undefined;
}

/** Imports, checks the laws, runs one turn on it, and checks them again. */
async function taken(messages: readonly unknown[], options: ImportMessagesOptions = {}): Promise<Taken> {
  const runtime = memoryRuntime();
  const { session, format } = await importMessages(runtime, messages, options);
  const imported = await openSession(runtime, session);
  const entries = await imported.entries();
  lawful(entries);
  const model = scriptedModel([[...say("Here I am."), finish()]], options.model?.id);
  Object.assign(model, { provider: options.model?.provider ?? "test" });
  const { outcome } = await imported.run({ model }, "go on").result;
  assert.equal(outcome.type, "completed");
  lawful(await imported.entries());
  const prompt = model.requests[0]?.prompt;
  assert.ok(prompt);
  return { entries, prompt, runtime, format };
}

function lawful(entries: readonly LogEntry[]): void {
  assert.deepEqual(
    verify(entries).flatMap(({ violations }) => violations),
    [],
  );
}

/** Who said what, and the results, in order: what has to be the same whatever the format was. */
function told(prompt: LanguageModelV4Prompt): unknown[] {
  return prompt.map(({ role, content }) => [
    role,
    typeof content === "string"
      ? content
      : content.map((part) =>
          part.type === "text"
            ? part.text
            : part.type === "tool-call"
              ? [part.toolCallId, part.toolName, part.input]
              : part.type === "tool-result"
                ? [part.toolCallId, part.output]
                : part.type,
        ),
  ]);
}

const same: Record<string, unknown[]> = {
  "ai-sdk": [
    { role: "system", content: "be brief" },
    { role: "user", content: "list" },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "I look." },
        { type: "tool-call", toolCallId: "c1", toolName: "bash", input: { command: "ls" } },
        { type: "tool-call", toolCallId: "c2", toolName: "bash", input: { command: "pwd" } },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c1", toolName: "bash", output: { type: "text", value: "a b" } },
        { type: "tool-result", toolCallId: "c2", toolName: "bash", output: { type: "text", value: "/home" } },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: "Two files." }] },
    { role: "user", content: [{ type: "text", text: "thanks" }] },
    { role: "assistant", content: "Welcome." },
  ],
  "openai-chat": [
    { role: "developer", content: "be brief" },
    { role: "user", content: "list" },
    {
      role: "assistant",
      content: "I look.",
      reasoning_content: "hm",
      tool_calls: [
        { id: "c1", type: "function", function: { name: "bash", arguments: '{"command":"ls"}' } },
        { id: "c2", type: "function", function: { name: "bash", arguments: '{"command":"pwd"}' } },
      ],
    },
    { role: "tool", tool_call_id: "c1", content: "a b" },
    { role: "tool", tool_call_id: "c2", content: [{ type: "text", text: "/home" }] },
    { role: "assistant", content: "Two files." },
    { role: "user", content: [{ type: "text", text: "thanks" }] },
    { role: "assistant", content: "Welcome." },
  ],
  anthropic: [
    { role: "system", content: [{ type: "text", text: "be brief" }] },
    { role: "user", content: "list" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "sig" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "c1", name: "bash", input: { command: "ls" } },
        { type: "tool_use", id: "c2", name: "bash", input: { command: "pwd" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "c2", content: [{ type: "text", text: "/home" }] },
        { type: "tool_result", tool_use_id: "c1", content: "a b" },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: "Two files." }] },
    { role: "user", content: [{ type: "text", text: "thanks" }] },
    { role: "assistant", content: "Welcome." },
  ],
};

describe("import of messages", () => {
  for (const [format, messages] of Object.entries(same)) {
    test(`${format}: the same conversation is the same session, read without being told the format`, async () => {
      const { entries, prompt, format: read } = await taken(messages);
      assert.equal(read, format);
      assert.deepEqual(told(prompt), [
        ["user", ["list"]],
        ["assistant", ["I look.", ["c1", "bash", { command: "ls" }], ["c2", "bash", { command: "pwd" }]]],
        [
          "tool",
          [
            ["c1", { type: "text", value: "a b" }],
            ["c2", { type: "text", value: "/home" }],
          ],
        ],
        ["assistant", ["Two files."]],
        ["user", ["thanks"]],
        ["assistant", ["Welcome."]],
        ["user", ["go on"]],
      ]);
      const events = entries.map(({ event }) => event);
      const step = events.find((event) => event.type === "step.started");
      assert.equal(step?.header?.instructions, "be brief");
      assert.deepEqual(
        events.flatMap((event) => (event.type === "turn.ended" ? event.outcome.type : [])),
        ["completed", "completed"],
      );
      assert.ok(events.every((event) => event.type !== "attempt.ended" || event.usage.measure === "unknown"));
      assert.match(JSON.stringify(transcriptOf(entries)), /I look\..*Two files\..*Welcome\./);
      assert.match(JSON.stringify(events.at(-1)), new RegExp(`imported [78] messages in the format ${format}`));
    });
  }

  test("whatever was kept: it is refused by its place, or the session is lawful and goes on", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(validHistory, anyHistory), async (history) => {
        try {
          await taken(history);
        } catch (error) {
          if (!isPawlError(error, "INVALID_INPUT")) throw error;
          assert.match(error.message, /^(message \d+: |there is no message)/);
        }
      }),
      { numRuns: 300 },
    );
  });
});

const folder = fileURLToPath(new URL("./fixtures/history/", import.meta.url));
/** Not a message of the SDK's at all: what it holds is said where it is refused. */
const refused = new Set(["R48-image-among-results.json"]);

describe("broken histories as sessions", () => {
  for (const name of readdirSync(folder)) {
    const { title, messages } = JSON.parse(readFileSync(`${folder}${name}`, "utf8")) as {
      title: string;
      messages: unknown[];
    };
    test(title, async () => {
      if (refused.has(name)) {
        await assert.rejects(taken(messages), /message 3: content\[1\]\.type must be one of tool-result/);
        return;
      }
      const { prompt } = await taken(messages);
      assert.deepEqual(await refusals(() => prompt), {});
    });
  }
});

const user = { role: "user", content: "build" };

describe("R40: an unanswered call of another program", () => {
  const kept: Record<string, unknown> = {
    "ai-sdk": { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "make", input: {} }] },
    "openai-chat": {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", function: { name: "make", arguments: "{}" } }],
    },
    anthropic: { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "make", input: {} }] },
  };
  for (const [format, call] of Object.entries(kept)) {
    test(`R40: ${format}: the next request is taken by every endpoint, at the end and with words after it`, async () => {
      for (const messages of [
        [user, call],
        [user, call, { role: "user", content: "hi" }],
        [user, call, { role: "assistant", content: "well" }],
      ]) {
        const { prompt, entries } = await taken(messages);
        assert.deepEqual(await refusals(() => prompt), {});
        assert.match(JSON.stringify(prompt[2]), /TOOL_OUTCOME_UNKNOWN/);
        const settled = entries.flatMap(({ event }) => (event.type === "tool.settled" ? event : []));
        assert.deepEqual(
          settled.map(({ by, output }) => [by, output.code]),
          [["recovery", "TOOL_OUTCOME_UNKNOWN"]],
        );
      }
    });
  }
});

describe("state of a provider", () => {
  const thinking = same["anthropic"] ?? [];
  const model = { provider: "anthropic.messages", id: "claude-opus-4-5" };

  test("R45: signatures are kept for the model that is named, and go to no other", async () => {
    const { prompt, runtime, entries } = await taken(thinking, { model });
    assert.match(JSON.stringify(prompt), /"signature":"sig"/);
    const other = scriptedModel([[...say("Hm."), finish()]]);
    const session = await openSession(runtime, entries[0]?.session ?? "");
    await session.run({ model: other }, "and you?").result;
    assert.doesNotMatch(JSON.stringify(other.requests[0]?.prompt), /"sig"/);
  });

  test("R45: where nobody says which model it was, no signature is kept", async () => {
    const { entries } = await taken(thinking);
    assert.doesNotMatch(JSON.stringify(entries), /"sig"/);
    assert.match(JSON.stringify(entries), /"reasoning".*"hm"/);
  });

  test("a tool that the provider ran is kept for people, and not replayed in a form that is not the provider's", async () => {
    const answer = {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "sig" },
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "doors" } },
        {
          type: "web_search_tool_result",
          tool_use_id: "srvtoolu_1",
          content: [{ type: "web_search_result", url: "https://a.example" }],
        },
        { type: "text", text: "Found it." },
      ],
    };
    const { prompt, entries } = await taken([user, answer], { model });
    assert.match(JSON.stringify(entries), /https:\/\/a\.example/);
    assert.deepEqual(told(prompt)[1], ["assistant", ["Found it."]]);
  });
});

describe("what turns were", () => {
  const call = (id: string) => ({
    role: "assistant",
    content: null,
    tool_calls: [{ id, function: { name: "look", arguments: "{}" } }],
  });
  const result = (id: string, content = "ok") => ({ role: "tool", tool_call_id: id, content });
  const shape = (entries: readonly LogEntry[]) =>
    entries
      .map(({ event }) => event)
      .flatMap((event) => {
        if (event.type === "input.accepted") return [event.kind];
        if (event.type === "turn.ended") return [event.outcome.type];
        return event.type === "message.committed" ? ["answer"] : [];
      });

  test("an input amid answered calls steers, after an unanswered one it finds the turn interrupted", async () => {
    const steered = await taken([
      user,
      call("c1"),
      result("c1"),
      { role: "user", content: "faster" },
      { role: "assistant", content: "done" },
    ]);
    assert.deepEqual(shape(steered.entries), ["prompt", "answer", "steer", "answer", "completed"]);
    const broken = await taken([
      user,
      call("c1"),
      { role: "user", content: "hello?" },
      { role: "assistant", content: "done" },
    ]);
    assert.deepEqual(shape(broken.entries), ["prompt", "answer", "interrupted", "prompt", "answer", "completed"]);
    const open = await taken([user]);
    assert.deepEqual(shape(open.entries), ["prompt", "interrupted"]);
  });

  test("R33 R48: by occurrence, the first result wins, any other is a note that says what it was", async () => {
    const { prompt, entries } = await taken([
      user,
      call("c"),
      result("c", "first"),
      result("c", "again"),
      call("c"),
      result("c", "second"),
      { role: "assistant", content: "done" },
      result("c", "late"),
    ]);
    assert.match(JSON.stringify(prompt), /"first".*"second"/);
    assert.doesNotMatch(JSON.stringify(prompt), /again|late/);
    const notes = entries.flatMap(({ event }) => (event.type === "note.recorded" ? [[event.text, event.data]] : []));
    assert.deepEqual(notes.slice(0, 2), [
      ['message 4: a result for call "c" was left out: it had one already', "again"],
      ['message 8: a result for call "c" was left out: no open call has that id', "late"],
    ]);
  });

  test("later system messages stay where they were said", async () => {
    const { prompt } = await taken([
      { role: "system", content: "be brief" },
      user,
      { role: "assistant", content: "ok" },
      { role: "system", content: "the door is open" },
    ]);
    assert.deepEqual(told(prompt).slice(0, 3), [
      ["user", ["build"]],
      ["assistant", ["ok"]],
      ["user", ["[system] the door is open"]],
    ]);
  });

  test("files are kept beside the log, addresses in it; a long result is capped and kept whole", async () => {
    const png = Buffer.from("\x89PNG\r\n").toString("base64");
    const { entries, runtime } = await taken([
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
          { type: "image_url", image_url: { url: "https://a.example/b.png" } },
        ],
      },
      call("c1"),
      result("c1", "x".repeat(200_000)),
    ]);
    const input = entries.find(({ event }) => event.type === "input.accepted")?.event;
    assert.ok(input?.type === "input.accepted");
    const [kept, linked] = input.content;
    assert.ok(kept?.type === "file" && linked?.type === "file" && kept.blob !== undefined);
    assert.equal(Buffer.from((await runtime.store.getBlob(kept.blob)) ?? "").toString("base64"), png);
    assert.equal(linked.url, "https://a.example/b.png");
    const settled = entries.find(({ event }) => event.type === "tool.settled")?.event;
    assert.ok(JSON.stringify(settled).length < 70_000);
    assert.match(JSON.stringify(settled), /"filename":"output-/);
  });
});
