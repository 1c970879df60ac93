/** Our edge of the wire, through the published packages: whole answers are kept, sloppy calls are mended. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PROTOCOLS, type Step } from "@pawl/model-server";
import type { AttemptResult } from "../src/attempt/run.ts";
import { attemptOf, type Edge, modelAt, modelOf, serving, textOf } from "./wire-provider.ts";

const edges: Edge[] = ["watched", "bare"];

function calls(result: AttemptResult): [string, string][] {
  return result.parts.flatMap((part): [string, string][] =>
    part.type === "tool-call" ? [[part.tool, part.input]] : [],
  );
}

/** Bytes as a chat endpoint sends them. */
function chatStream(frames: unknown[]): typeof fetch {
  const body = frames.map((frame) => `data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`).join("");
  return async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const chunk = (...tool_calls: unknown[]) => ({ choices: [{ index: 0, delta: { tool_calls } }] });
const ends = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };

function chatAttempt(frames: unknown[], edge: Edge = "watched"): Promise<AttemptResult> {
  return attemptOf(modelAt("http://nowhere/v1", "chat", edge, chatStream(frames)));
}

describe("the terminal frame decides, not what the connection does next", () => {
  const behind: Record<string, Step[]> = {
    "a reset": [{ hold: "whole" }, { reset: true }],
    silence: [{ silence: true }],
    "a clean end": [{ end: true }],
    "an error frame": [{ error: { type: "server_error", message: "late" } }],
    garbage: [{ garbage: true }],
  };
  for (const edge of edges) {
    for (const [what, steps] of Object.entries(behind)) {
      it(`R20: ${what} behind a finish reason is a note (chat, ${edge})`, async () => {
        const answers: Step[][] = [
          [{ text: "All of it." }],
          [{ text: "See:" }, { call: "read", input: { path: "a" } }],
        ];
        for (const answer of answers) {
          const finish: Step = { finish: answer.length > 1 ? "tool-calls" : "stop" };
          await serving(
            { script: [[...answer, finish, { usage: { input: 7, output: 3 } }, ...steps]] },
            async (server) => {
              const result = attemptOf(modelOf(server, "chat", edge), { onDelta: () => server.release("whole") });
              const { failure, parts, exposure } = await result;
              assert.deepEqual([failure, exposure.terminal], [undefined, true], JSON.stringify(failure));
              assert.equal(textOf(await result), answer.length > 1 ? "See:" : "All of it.");
              if (answer.length > 1)
                assert.deepEqual(parts.at(-1)?.type === "tool-call" && parts.at(-1), {
                  ...parts.at(-1),
                  tool: "read",
                  input: '{"path":"a"}',
                });
            },
          );
        }
      });
    }
  }

  it("R20: message_stop and response.completed end the answer, whatever follows", async () => {
    for (const [protocol, frame] of [
      ["anthropic", { type: "message_stop" }],
      ["responses", { type: "response.completed" }],
    ] as const) {
      await serving({ script: [[{ text: "All of it." }]] }, async (server) => {
        const late: typeof fetch = async (input, init) => {
          const real = await fetch(input, init);
          const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
          real.body?.pipeTo(writable, { preventClose: true }).then(() => writable.abort(new TypeError("terminated")));
          return new Response(readable, { headers: real.headers });
        };
        const { failure, usage } = await attemptOf(modelOf(server, protocol, "watched", late));
        assert.deepEqual([failure, usage.measure], [undefined, "reported"], frame.type);
      });
    }
  });

  it("a chat that hangs behind its answer waits for usage a moment, not for the watchdog", async () => {
    for (const edge of edges) {
      await serving({ script: [[{ text: "ok" }, { finish: "stop" }, { silence: true }]] }, async (server) => {
        const { failure, durationMs } = await attemptOf(modelOf(server, "chat", edge));
        assert.equal(failure, undefined);
        assert.ok(durationMs < 10_000);
      });
    }
  });
});

describe("frames in pieces", () => {
  for (const protocol of PROTOCOLS) {
    it(`the same message however the bytes are cut (${protocol})`, async () => {
      const steps: Step[] = [
        { reason: "Hm… 🤔" },
        { text: "Grüße 👋", chunks: 3 },
        { call: "read", input: { path: "ä.txt" }, split: [3, 9] },
      ];
      const messages: unknown[] = [];
      for (const pieces of [undefined, 1, 7, 64]) {
        for (const edge of edges) {
          await serving({ script: [{ steps, ...(pieces ? { pieces } : {}) }] }, async (server) => {
            const { failure, parts } = await attemptOf(modelOf(server, protocol, edge));
            assert.equal(failure, undefined);
            messages.push(
              parts.map((part) => ("text" in part ? part.text : part.type === "tool-call" ? part.input : part.type)),
            );
          });
        }
      }
      for (const message of messages) assert.deepEqual(message, ["Hm… 🤔", "Grüße 👋", '{"path":"ä.txt"}']);
    });
  }
});

describe("tool calls of sloppy servers", () => {
  const named = (index: number, id: string | null, name: string, input: unknown) => ({
    index,
    ...(id === null ? {} : { id }),
    function: { name, arguments: input },
  });
  const table: [string, unknown[], [string, string][]][] = [
    [
      "R30: one index, two ids",
      [chunk(named(0, "a", "read", '{"path":"a"}')), chunk(named(0, "b", "read", '{"path":"b"}')), ends],
      [
        ["read", '{"path":"a"}'],
        ["read", '{"path":"b"}'],
      ],
    ],
    [
      "R30: one index, two ids, in pieces",
      [
        chunk(named(0, "a", "read", "")),
        chunk({ index: 0, id: "a", function: { arguments: '{"path":"a"}' } }),
        chunk(named(0, "b", "read", "")),
        chunk({ index: 0, function: { arguments: '{"path":"b"}' } }),
        ends,
      ],
      [
        ["read", '{"path":"a"}'],
        ["read", '{"path":"b"}'],
      ],
    ],
    [
      "R30: one index, two calls without arguments",
      [chunk(named(0, "a", "ls", "")), chunk(named(0, "b", "ls", "")), ends],
      [
        ["ls", ""],
        ["ls", ""],
      ],
    ],
    [
      "R31: no ids, one index",
      [
        chunk(named(0, null, "read", '{"p":0}')),
        chunk(named(0, null, "write", '{"p":1}')),
        chunk(named(0, null, "read", '{"p":2}')),
        ends,
      ],
      [
        ["read", '{"p":0}'],
        ["write", '{"p":1}'],
        ["read", '{"p":2}'],
      ],
    ],
    [
      "R31: a blank id and name on a continuation",
      [
        chunk(named(0, "a", "read", '{"p"')),
        chunk({ index: 0, id: "  ", function: { name: " ", arguments: ":1}" } }),
        ends,
      ],
      [["read", '{"p":1}']],
    ],
    [
      "R31: neither id nor index",
      [
        chunk({ function: { name: "read", arguments: '{"p":0}' } }),
        chunk({ function: { name: "read", arguments: '{"p":1}' } }),
        ends,
      ],
      [
        ["read", '{"p":0}'],
        ["read", '{"p":1}'],
      ],
    ],
    [
      "R33: one id twice in a message",
      [chunk(named(0, "x", "read", '{"p":1}')), chunk(named(1, "x", "read", '{"p":2}')), ends],
      [
        ["read", '{"p":1}'],
        ["read", '{"p":2}'],
      ],
    ],
    ["R35: empty arguments", [chunk(named(0, "x", "ls", "")), ends], [["ls", ""]]],
    ["R35: absent arguments", [chunk({ index: 0, id: "x", function: { name: "ls" } }), ends], [["ls", ""]]],
    ["R35: null arguments", [chunk(named(0, "x", "ls", null)), ends], [["ls", ""]]],
    ["R36: arguments as an object", [chunk(named(0, "x", "read", { path: "a" })), ends], [["read", '{"path":"a"}']]],
    [
      "R36: numbers and text in each other's place",
      [chunk({ index: "0", id: 7, function: { name: "read", arguments: "{}" } }), ends],
      [["read", "{}"]],
    ],
    ["R37: an empty name", [chunk(named(0, "x", "", '{"p":1}')), ends], [["unnamed_tool", '{"p":1}']]],
    [
      "a name that comes late",
      [
        chunk({ index: 0, id: "a", function: { arguments: '{"p":' } }),
        chunk({ index: 0, function: { name: "read", arguments: "1}" } }),
        ends,
      ],
      [["read", '{"p":1}']],
    ],
    [
      "calls in a message instead of a delta",
      [
        {
          choices: [
            {
              index: 0,
              message: { role: "assistant", tool_calls: [{ id: "x", function: { name: "read", arguments: "{}" } }] },
              finish_reason: "tool_calls",
            },
          ],
        },
      ],
      [["read", "{}"]],
    ],
  ];
  for (const [name, frames, expected] of table) {
    it(name, async () => {
      const result = await chatAttempt([...frames, "[DONE]"]);
      assert.equal(result.failure, undefined, JSON.stringify(result.failure));
      assert.deepEqual(calls(result), expected);
      const ids = result.parts.map((part) => part.id);
      assert.equal(new Set(ids).size, ids.length);
    });
  }

  it("R33: our own ids differ even where a package repeats the provider's", async () => {
    for (const protocol of PROTOCOLS) {
      await serving(
        {
          script: [
            [
              { call: "read", input: { p: 1 }, id: "same" },
              { call: "read", input: { p: 2 }, id: "same" },
            ],
          ],
        },
        async (server) => {
          const result = await attemptOf(modelOf(server, protocol));
          assert.deepEqual(calls(result), [
            ["read", '{"p":1}'],
            ["read", '{"p":2}'],
          ]);
          assert.equal(new Set(result.parts.map((part) => part.id)).size, 2);
        },
      );
    }
  });

  it("R39: arguments that are no JSON arrive as they are", async () => {
    for (const protocol of PROTOCOLS) {
      await serving({ script: [[{ call: "read", input: '{"a":' }, { finish: "tool-calls" }]] }, async (server) => {
        const result = await attemptOf(modelOf(server, protocol));
        assert.deepEqual([result.failure, calls(result)], [undefined, [["read", '{"a":']]]);
      });
    }
  });
});
