import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { type Entry, PROTOCOLS, type Protocol } from "../src/index.ts";
import { contentOf, finishOf, HELLO, modelOf, plain, read, serving } from "./provider.ts";

const SCRIPT: Entry[] = [
  [
    { reason: "I need the list.", chunks: 3 },
    { text: "Listing." },
    { call: "list", input: { dir: "." } },
    { call: "read", input: { file: "a" } },
  ],
  [{ reason: "Now I know." }, { text: "Two files." }],
  [{ text: "You are welcome." }],
];

/** What each package wants to be told so that reasoning comes back to the model. */
const OPTIONS: Record<Protocol, Partial<LanguageModelV4CallOptions>> = {
  chat: {},
  responses: { providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } } },
  anthropic: { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } },
};

type AssistantMessage = Extract<LanguageModelV4Prompt[number], { role: "assistant" }>;

/** An assistant message and its results, as a runtime sends them back: each part with the metadata it came with. */
function replay(
  content: readonly LanguageModelV4Content[],
  reasoning: (text: string) => string = (text) => text,
): LanguageModelV4Prompt {
  const parts: AssistantMessage["content"] = [];
  const results: LanguageModelV4Prompt = [];
  for (const part of content) {
    const metadata =
      "providerMetadata" in part && part.providerMetadata !== undefined
        ? { providerOptions: part.providerMetadata }
        : {};
    if (part.type === "text") parts.push({ type: "text", text: part.text, ...metadata });
    if (part.type === "reasoning") parts.push({ type: "reasoning", text: reasoning(part.text), ...metadata });
    if (part.type !== "tool-call") continue;
    const { toolCallId, toolName } = part;
    parts.push({ type: "tool-call", toolCallId, toolName, input: JSON.parse(part.input), ...metadata });
    results.push({
      role: "tool",
      content: [{ type: "tool-result", toolCallId, toolName, output: { type: "text", value: "ok" } }],
    });
  }
  return [{ role: "assistant", content: parts }, ...results];
}

async function step(protocol: Protocol, server: Parameters<typeof modelOf>[0], prompt: LanguageModelV4Prompt) {
  const { parts, thrown } = await read(modelOf(server, protocol), { prompt, ...OPTIONS[protocol] });
  return { content: contentOf(parts), finish: finishOf(parts as LanguageModelV4StreamPart[]), thrown };
}

for (const protocol of PROTOCOLS) {
  describe(`${protocol}: a conversation replayed through the published provider package`, () => {
    it("is accepted over two steps and a second turn, reasoning included", async () => {
      await serving({ script: SCRIPT }, async (server) => {
        const first = await step(protocol, server, HELLO);
        assert.equal(first.finish, "tool-calls");
        const history = [...HELLO, ...replay(first.content)];
        const second = await step(protocol, server, history);
        assert.equal(second.thrown, undefined, String(second.thrown));
        assert.deepEqual(plain(second.content).at(-1), ["text", "Two files."]);
        const turn: LanguageModelV4Prompt = [...history, ...replay(second.content), ...HELLO];
        const third = await step(protocol, server, turn);
        assert.equal(third.thrown, undefined, String(third.thrown));
        assert.match(server.requests[1]?.body ?? "", /I need the list\./);
        assert.deepEqual(
          server.requests.flatMap(({ verdict }) => verdict.violations),
          [],
        );
      });
    });

    it("with a result missing is refused in the endpoint's own words, and no entry is spent", async () => {
      await serving({ script: SCRIPT }, async (server) => {
        const first = await step(protocol, server, HELLO);
        const history = [...HELLO, ...replay(first.content).slice(0, -1)];
        const refused = await step(protocol, server, history);
        const words = {
          chat: /did not have response messages/,
          responses: /No tool output found/,
          anthropic: /ids were found without/,
        };
        assert.match(String(refused.thrown), words[protocol]);
        assert.equal(server.requests[1]?.status, 400);
        assert.equal((await step(protocol, server, [...HELLO, ...replay(first.content)])).finish, "stop");
      });
    });
  });
}

describe("provider-held state that was changed", () => {
  it("anthropic: modified thinking is refused", async () => {
    await serving({ script: SCRIPT }, async (server) => {
      const first = await step("anthropic", server, HELLO);
      const { thrown } = await step("anthropic", server, [
        ...HELLO,
        ...replay(first.content, (text) => text.trim().slice(1)),
      ]);
      assert.match(String(thrown), /blocks in the latest assistant message cannot be modified/);
    });
  });

  it("responses: a modified summary is refused", async () => {
    await serving({ script: SCRIPT }, async (server) => {
      const first = await step("responses", server, HELLO);
      const { thrown } = await step("responses", server, [...HELLO, ...replay(first.content, () => "other")]);
      assert.match(String(thrown), /could not be verified/);
    });
  });

  it("a judging server that only records lets it pass and keeps the verdict", async () => {
    await serving({ script: SCRIPT, judging: "record" }, async (server) => {
      const first = await step("anthropic", server, HELLO);
      const second = await step("anthropic", server, [...HELLO, ...replay(first.content, () => "other")]);
      assert.equal(second.finish, "stop");
      assert.equal(server.requests[1]?.verdict.violations[0]?.rule, "signature-modified");
    });
  });
});

describe("responses kept by the server", () => {
  const stored = {};

  it("are found by item reference once complete", async () => {
    await serving({ script: SCRIPT }, async (server) => {
      const model = modelOf(server, "responses");
      const first = await read(model, stored);
      const prompt = [...HELLO, ...replay(contentOf(first.parts))];
      const second = await read(model, { prompt, ...stored });
      assert.equal(second.thrown, undefined, String(second.thrown));
      assert.match(server.requests[1]?.body ?? "", /item_reference/);
    });
  });

  it("are unknown when the stream broke before its terminal frame", async () => {
    const broken: Entry = [{ reason: "hm" }, { text: "x" }, { end: true }];
    await serving({ script: [broken, [{ text: "y" }]] }, async (server) => {
      const model = modelOf(server, "responses");
      const first = await read(model, stored);
      const prompt: LanguageModelV4Prompt = [...HELLO, ...replay(contentOf(first.parts)), ...HELLO];
      const { thrown } = await read(model, { prompt, ...stored });
      assert.match(String(thrown), /not found\. Items are not persisted/);
      assert.equal(server.requests[1]?.status, 404);
    });
  });

  it("go on from previous_response_id, with the pairing of the whole conversation", async () => {
    await serving({ script: SCRIPT }, async (server) => {
      const model = modelOf(server, "responses");
      const first = await read(model, stored);
      const previous = { providerOptions: { openai: { previousResponseId: "resp_1" } } };
      const unanswered = await read(model, { prompt: HELLO, ...previous });
      assert.match(String(unanswered.thrown), /No tool output found for function call call_1/);
      const results = replay(contentOf(first.parts)).slice(1);
      const second = await read(model, { prompt: results, ...previous });
      assert.equal(finishOf(second.parts), "stop", String(second.thrown));
    });
  });
});
