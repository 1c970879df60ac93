import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Entry, type Finish, PROTOCOLS, type Protocol } from "../src/index.ts";
import { contentOf, errorsOf, finishOf, HELLO, modelOf, plain, read, serving, typesOf } from "./provider.ts";

const ANSWER: Entry = [
  { reason: "Look first, then act.", chunks: 3 },
  { text: "I will list and read.", chunks: [1, 6] },
  { call: "list", input: { path: "/srv/données" }, split: [2, 9, 17] },
  { call: "read", input: '{"path": "a.txt"}' },
  { usage: { input: 100, output: 40, reasoning: 15, cacheRead: 60, cacheWrite: 20 } },
];

const CONTENT = [
  ["reasoning", "Look first, then act."],
  ["text", "I will list and read."],
  ["call", "list", '{"path":"/srv/données"}'],
  ["call", "read", '{"path": "a.txt"}'],
];

function reparse(content: unknown[]): unknown[] {
  return content.map((part) =>
    Array.isArray(part) && part[0] === "call" ? [...part.slice(0, 2), JSON.parse(part[2])] : part,
  );
}

for (const protocol of PROTOCOLS) {
  describe(`${protocol}: an answer through the published provider package`, () => {
    it("streams reasoning, text and calls in order, whatever the deltas", async () => {
      await serving({ script: [ANSWER] }, async (server) => {
        const { parts, thrown } = await read(modelOf(server, protocol));
        assert.equal(thrown, undefined);
        assert.deepEqual(errorsOf(parts), []);
        assert.deepEqual(plain(contentOf(parts)), CONTENT);
        assert.equal(finishOf(parts), "tool-calls");
        assert.equal(parts.filter((part) => part.type === "text-delta").length, 3);
        assert.equal(server.requests[0]?.status, 200);
      });
    });

    it("gives the same answer as one body", async () => {
      await serving({ script: [ANSWER] }, async (server) => {
        const result = await modelOf(server, protocol).doGenerate({ prompt: HELLO });
        assert.deepEqual(reparse(plain(result.content)), reparse(CONTENT));
        assert.equal(result.finishReason.unified, "tool-calls");
        assert.equal(result.usage.inputTokens.total, 100);
      });
    });

    it("reports usage with its cached and reasoning parts", async () => {
      await serving({ script: [ANSWER] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        const usage = parts.find((part) => part.type === "finish")?.usage;
        assert.equal(usage?.inputTokens.total, 100);
        assert.equal(usage?.inputTokens.cacheRead, 60);
        // Chat has no word for cache writes.
        assert.equal(usage?.inputTokens.cacheWrite, protocol === "chat" ? undefined : 20);
        assert.equal(usage?.outputTokens.total, 40);
        assert.equal(usage?.outputTokens.reasoning, 15);
      });
    });

    it("counts usage from the lengths when the script gives none, the same each time", async () => {
      await serving({ script: [[{ text: "12345678" }], [{ text: "12345678" }]] }, async (server) => {
        const first = await modelOf(server, protocol).doGenerate({ prompt: HELLO });
        const second = await modelOf(server, protocol).doGenerate({ prompt: HELLO });
        assert.equal(first.usage.outputTokens.total, 2);
        assert.ok((first.usage.inputTokens.total ?? 0) > 0);
        assert.deepEqual(first.usage, second.usage);
      });
    });

    it("leaves usage out for usage: null (zeros where the protocol demands the field)", async () => {
      await serving({ script: [[{ text: "x" }, { usage: null }]] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        const usage = parts.find((part) => part.type === "finish")?.usage;
        assert.equal(usage?.outputTokens.total, protocol === "anthropic" ? 0 : undefined);
        assert.deepEqual(errorsOf(parts), []);
      });
    });

    it("maps every finish", async () => {
      const finishes: [Finish, string][] = [
        ["stop", "stop"],
        ["length", "length"],
        ["content-filter", "content-filter"],
        ["refusal", "content-filter"],
        [{ raw: "something_new" }, "other"],
      ];
      await serving({ script: finishes.map(([finish]) => [{ text: "x" }, { finish }]) }, async (server) => {
        for (const [finish, unified] of finishes) {
          const { parts } = await read(modelOf(server, protocol));
          assert.equal(finishOf(parts), unified, JSON.stringify(finish));
        }
      });
    });

    it("passes over pings, comments and waits", async () => {
      const steps: Entry = [
        { headers: true },
        { start: true },
        { ping: true },
        { text: "a" },
        { wait: 1 },
        { comment: "b\nc" },
        { text: "d" },
      ];
      await serving({ script: [steps] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        const texts = contentOf(parts).map((part) => (part.type === "text" ? part.text : part.type));
        assert.equal(texts.join(""), "ad");
        assert.equal(finishOf(parts), "stop");
      });
    });

    it("survives a body written byte by byte, cut inside characters", async () => {
      await serving({ script: [{ steps: [{ text: "größer 🙂" }], pieces: 1 }] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        assert.deepEqual(plain(contentOf(parts)), [["text", "größer 🙂"]]);
      });
    });

    it("stops a part at upTo and goes on with more", async () => {
      const steps: Entry = [
        { text: "abcdef", chunks: 6, upTo: 2 },
        { ping: true },
        { more: 1 },
        { comment: "still here" },
        { more: true },
        { call: "run", input: { a: 1 } },
      ];
      await serving({ script: [steps] }, async (server) => {
        const { parts } = await read(modelOf(server, protocol));
        assert.deepEqual(plain(contentOf(parts)), [
          ["text", "abcdef"],
          ["call", "run", '{"a":1}'],
        ]);
      });
    });

    it("sends a script of entries in order, then says that it is used up", async () => {
      await serving({ script: [[{ text: "only" }]] }, async (server) => {
        await read(modelOf(server, protocol));
        const { thrown } = await read(modelOf(server, protocol));
        assert.match(String(thrown), /The script is used up: request 2 has no entry/);
      });
    });
  });
}

describe("frames, byte for byte", () => {
  const request: Record<Protocol, unknown> = {
    chat: { model: "m", stream: true, messages: [{ role: "user", content: "hi" }] },
    responses: { model: "m", stream: true, input: "hi", include: ["reasoning.encrypted_content"] },
    anthropic: { model: "m", stream: true, max_tokens: 9, messages: [{ role: "user", content: "hi" }] },
  };
  const path: Record<Protocol, string> = { chat: "chat/completions", responses: "responses", anthropic: "messages" };

  async function raw(entry: Entry, protocol: Protocol): Promise<string> {
    let text = "";
    await serving({ script: [entry] }, async (server) => {
      const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
      const body = JSON.stringify(request[protocol]);
      text = await (await fetch(`${server.url}/v1/${path[protocol]}`, { method: "POST", headers, body })).text();
    });
    return text;
  }

  function events(text: string): string[] {
    return [...text.matchAll(/^event: (.*)$/gm)].map((match) => match[1] ?? "");
  }

  it("chat ends with a finish chunk and [DONE], with no usage unless asked for", async () => {
    const text = await raw([{ text: "x" }], "chat");
    assert.ok(text.endsWith("data: [DONE]\n\n"));
    assert.match(text, /"delta":\{\},"logprobs":null,"finish_reason":"stop"/);
    assert.doesNotMatch(text, /usage/);
  });

  it("responses numbers its events and ends with response.completed", async () => {
    const text = await raw([{ reason: "r" }, { text: "x" }, { call: "f", input: {} }], "responses");
    assert.deepEqual(events(text), [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map((match) => Number(match[1]));
    assert.deepEqual(numbers, [...numbers.keys()]);
  });

  it("anthropic signs thinking before its block stops and ends with message_stop", async () => {
    const text = await raw([{ reason: "r" }, { ping: true }, { call: "f", input: {} }], "anthropic");
    assert.deepEqual(events(text), [
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "ping",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    assert.match(text, /signature_delta","signature":"Eq/);
  });

  it("an empty list of steps is an empty answer, not an empty body", async () => {
    for (const protocol of PROTOCOLS) assert.notEqual(await raw([], protocol), "");
  });

  it("the same script gives the same bytes on a new server", async () => {
    const entry: Entry = [{ reason: "r" }, { text: "x" }, { call: "f", input: {} }];
    for (const protocol of PROTOCOLS) assert.equal(await raw(entry, protocol), await raw(entry, protocol));
  });
});

describe("quirks of compatible servers, over chat", () => {
  const quirks: [string, Entry, RegExp][] = [
    ["an absent id", [{ call: "f", input: {}, id: null }], /"tool_calls":\[\{"index":0,"type":"function"/],
    ["an empty id", [{ call: "f", input: {}, id: "" }], /"id":"","type":"function"/],
    [
      "an index used twice",
      [
        { call: "f", input: {} },
        { call: "g", input: {}, index: 0 },
      ],
      /"index":0,"id":"call_2"/,
    ],
    ["arguments as an object", [{ call: "f", input: { a: 1 }, asObject: true }], /"arguments":\{"a":1\}/],
    ["empty arguments", [{ call: "f", input: "" }], /"name":"f","arguments":""/],
    [
      "no arguments at all",
      [{ call: "f", input: null }],
      /"name":"f","arguments":""\}\}\]\},"logprobs":null,"finish_reason":null\}\]\}\n\ndata: [^\n]*"delta":\{\}/,
    ],
  ];
  for (const [name, entry, expected] of quirks) {
    it(name, async () => {
      await serving({ script: [entry] }, async (server) => {
        const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "hi" }] });
        const text = await (await fetch(`${server.baseUrl("chat")}/chat/completions`, { method: "POST", body })).text();
        assert.match(text, expected);
      });
    });
  }

  it("redacted reasoning is an opaque block on anthropic and responses, and nothing on chat", async () => {
    const script = { entries: [[{ reason: "secret", redacted: true }, { text: "x" }]], loop: true };
    await serving({ script }, async (server) => {
      const anthropic = await read(modelOf(server, "anthropic"));
      assert.match(JSON.stringify(anthropic.parts), /redactedData/);
      assert.doesNotMatch(JSON.stringify(anthropic.parts), /"secret"/);
      const responses = await read(modelOf(server, "responses"));
      assert.ok(typesOf(responses.parts).includes("reasoning-start"));
      const chat = await read(modelOf(server, "chat"));
      assert.ok(!typesOf(chat.parts).includes("reasoning-start"));
    });
  });
});
