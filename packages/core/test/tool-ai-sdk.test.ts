/** Tools made for the AI SDK work as they are: `tool()`, any schema, streaming bodies, `toModelOutput`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { anthropic } from "@ai-sdk/anthropic";
import { jsonSchema, lazySchema, tool, zodSchema } from "@ai-sdk/provider-utils";
import { z } from "zod";
import { isPawlError } from "../src/error.ts";
import { call, finish, type ScriptEntry, say } from "../src/testing/model.ts";
import { defineTool, type ToolSet } from "../src/tool/tool.ts";
import type { Agent } from "../src/turn/agent.ts";
import { agentOf, assertLawful, eventsOf, outputText, TurnWorld } from "./turn-world.ts";

async function resultOf(
  given: ToolSet[string],
  input: unknown,
  rest: Partial<Agent> = {},
): Promise<{ text: string; progress: unknown[] }> {
  const world = new TurnWorld();
  const session = await world.session();
  const script: ScriptEntry[] = [
    [...call("given", input), finish()],
    [...say("done"), finish()],
  ];
  const turn = session.run(agentOf(script, { tools: { given }, ...rest }), "go");
  const done = world.effects.run(turn.result);
  const progress: unknown[] = [];
  for await (const item of turn) if (item.type === "tool.progress") progress.push(item.data);
  await done;
  const entries = await session.entries();
  assertLawful(entries);
  return {
    text: eventsOf(entries, "tool.settled")
      .map(({ output }) => outputText(output))
      .join("|"),
    progress,
  };
}

/** A schema of the Standard Schema kind, by hand. */
const standard = {
  "~standard": {
    version: 1 as const,
    vendor: "hand",
    validate: (value: unknown) => {
      const n = (value as { n?: unknown } | null)?.n;
      return typeof n === "number"
        ? { value: { n: n * 2 } }
        : { issues: [{ message: "must be a number", path: ["n"] }] };
    },
    jsonSchema: {
      input: () => ({ type: "object", properties: { n: { type: "number" } } }),
      output: () => ({ type: "object" }),
    },
  },
};

const n = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
const schemas = {
  zod: z.object({ n: z.number() }),
  "zodSchema()": zodSchema(z.object({ n: z.number() })),
  "jsonSchema()": jsonSchema<{ n: number }>(n),
  "lazySchema()": lazySchema(() => jsonSchema<{ n: number }>(n)),
};

describe("AI SDK tools", () => {
  for (const [title, inputSchema] of Object.entries(schemas)) {
    test(`${title}: declared, validated, and the model is told what is wrong`, async () => {
      const given = tool({
        description: "adds one",
        inputSchema: inputSchema as typeof schemas.zod,
        execute: async ({ n: number }) => number + 1,
      });
      assert.equal((await resultOf(given, { n: 1 })).text, '{"type":"data","data":2}');
      assert.match((await resultOf(given, { n: "one" })).text, /^TOOL_INPUT_INVALID: .*n.*Not run\.$/);
    });
  }

  test("Standard Schema: its own validation counts, and what it transforms is what the body gets", async () => {
    const given = defineTool<{ n: number }>({
      inputSchema: standard as never,
      execute: ({ n: number }) => `${number}`,
    });
    assert.equal((await resultOf(given, { n: 2 })).text, "4");
    assert.match((await resultOf(given, {})).text, /n: must be a number/);
  });

  test("bare JSON Schema: validated by the effect", async () => {
    const given = defineTool<{ n: number }>({ inputSchema: n, execute: ({ n: number }) => `${number}` });
    assert.equal((await resultOf(given, { n: 3 })).text, "3");
    assert.match((await resultOf(given, {})).text, /TOOL_INPUT_INVALID/);
  });

  test("a streaming body: what it yields is progress, the last is the result; also behind a promise", async () => {
    const inputSchema = z.object({});
    async function* steps() {
      yield "one";
      yield "two";
    }
    const streaming = await resultOf(tool({ inputSchema, execute: steps }), {});
    assert.deepEqual(streaming, { text: "two", progress: ["one", "two"] });
    assert.equal(
      (await resultOf(tool({ inputSchema, execute: async () => steps() as unknown as string }), {})).text,
      "two",
    );
  });

  test("toModelOutput: the model is told that, an error as an error", async () => {
    const given = tool({
      inputSchema: z.object({}),
      execute: async () => ({ secret: 1, shown: "yes" }),
      toModelOutput: ({ output }) => ({ type: "text", value: `shown: ${output.shown}` }),
    });
    assert.equal((await resultOf(given, {})).text, "shown: yes");
  });

  test("the options that AI SDK bodies know: call id, signal, messages, context", async () => {
    const given = tool({
      inputSchema: z.object({}),
      execute: async (_, { toolCallId, abortSignal, messages, context }) =>
        [
          typeof toolCallId,
          abortSignal instanceof AbortSignal,
          messages.length,
          Object.keys(context ?? {}).length,
        ].join(),
    });
    assert.equal((await resultOf(given, {})).text, "string,true,0,0");
  });

  test("needsApproval asks a person even where the policy allows", async () => {
    const execute = async () => "ran";
    const always = tool({ inputSchema: z.object({}), needsApproval: true, execute });
    assert.match((await resultOf(always, {})).text, /TOOL_DENIED/);
    const approver: Agent["approver"] = async () => ({ answer: "allow", by: "ann" });
    assert.equal((await resultOf(always, {}, { approver })).text, "ran");
    const large = tool({
      inputSchema: z.object({ n: z.number() }),
      needsApproval: ({ n: number }) => number > 9,
      execute,
    });
    assert.equal((await resultOf(large, { n: 1 })).text, "ran");
    assert.match((await resultOf(large, { n: 10 })).text, /TOOL_DENIED/);
  });

  test("R35: blank, absent and null arguments are an empty object", async () => {
    const given = tool({ inputSchema: z.object({}), execute: async (input) => JSON.stringify(input) });
    for (const input of ["", " ", "null"]) assert.equal((await resultOf(given, input)).text, "{}");
  });

  test("a tool that the provider defines is offered as that, with or without a body of ours; the log says so", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const searched: ScriptEntry = [
      ...call("shell", { command: "date" }),
      ...call("search", { query: "x" }),
      { type: "tool-call", toolCallId: "s1", toolName: "search", input: "{}", providerExecuted: true },
      { type: "tool-result", toolCallId: "s1", toolName: "search", result: { found: 1 } },
      finish("tool-calls"),
    ];
    const agent = agentOf([searched, [...say("done"), finish()]], {
      tools: {
        search: anthropic.tools.webSearch_20250305({ maxUses: 3 }),
        shell: anthropic.tools.bash_20250124({ execute: async ({ command }) => `ran ${command}` }),
      },
    });
    await world.effects.run(session.run(agent, "go").result);
    const entries = await session.entries();
    assertLawful(entries);
    assert.deepEqual(agent.model.requests[0]?.tools, [
      { type: "provider", id: "anthropic.web_search_20250305", name: "search", args: { maxUses: 3 } },
      { type: "provider", id: "anthropic.bash_20250124", name: "shell", args: {} },
    ]);
    assert.deepEqual(
      eventsOf(entries, "tool.settled")
        .map(({ output }) => output.code ?? outputText(output))
        .toSorted(),
      ["TOOL_UNKNOWN", "ran date"],
    );
    assert.match(JSON.stringify(agent.model.requests[1]?.prompt), /"found":1/);
  });

  test("a tool without a body is refused before anything is posted", async () => {
    await assert.rejects(
      resultOf(tool({ inputSchema: z.object({}) }), {}),
      (error) => isPawlError(error, "INVALID_INPUT") && /"given"/.test(error.message),
    );
  });
});
