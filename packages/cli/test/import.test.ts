/** `pawl import` of conversations that other programs have kept, through the real binary. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { lastLine, World } from "./pawl-world.ts";

const user = { role: "user", content: "build it" };
const kept = {
  "ai-sdk": [
    user,
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "make", input: {} }] },
  ],
  "openai-chat": [
    user,
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "make", arguments: "{" } }],
    },
  ],
  anthropic: [
    user,
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "of another server" },
        { type: "tool_use", id: "c1", name: "make", input: {} },
      ],
    },
  ],
};

function jsonLines(messages: readonly unknown[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join("");
}

/** Writes a file and imports it. */
async function imported(world: World, text: string, ...options: string[]) {
  const file = join(world.root, "kept.jsonl");
  writeFileSync(file, text);
  return world.pawl(["import", file, "--store", world.store, ...options]);
}

test("--workspace: a session that is made needs it; one that keeps its id keeps what it needs", async (t) => {
  const world = new World(t);
  const needs = async (session: string) => {
    const events = (await world.shown(session)).map((text) => JSON.parse(text) as { type: string; workspace?: string });
    return events.findLast(({ type }) => type === "session.created")?.workspace;
  };
  const summaryOf = async (session: string) => {
    const { stdout } = await world.pawl(["sessions", "--json", "--store", world.store]);
    const lines = stdout.trimEnd().split("\n");
    return lines.map((text) => JSON.parse(text)).find((one) => one.session === session);
  };
  const taken = await imported(world, jsonLines(kept.anthropic), "--session", "a", "--workspace", "disk-7");
  assert.equal(taken.code, 0, taken.stderr);
  assert.equal(await needs("a"), "disk-7");
  assert.equal((await summaryOf("a")).head.workspace, "disk-7");
  const exported = (await world.pawl(["export", "a", "--store", world.store])).stdout;
  const copy = await imported(world, exported, "--session", "b", "--workspace", "disk-8");
  assert.equal(copy.code, 0, copy.stderr);
  assert.equal(await needs("b"), "disk-8");
  assert.equal((await summaryOf("b")).head.workspace, "disk-8");
  assert.equal((await imported(world, exported, "--session", "c")).code, 0);
  assert.equal(await needs("c"), "disk-7", "a copy needs what its original did");
  const other = new World(t);
  const refused = await imported(other, exported, "--workspace", "disk-8");
  assert.equal(refused.code, 2, refused.stdout);
  assert.match(refused.stderr, /session a needs workspace "disk-7", for good; under another id \(--session\)/);
  assert.equal((await imported(other, exported, "--workspace", "disk-7")).code, 0, "what it needs anyway may be said");
  const odd = await imported(other, jsonLines(kept.anthropic), "--workspace", "");
  assert.equal(odd.code, 2);
  assert.match(odd.stderr, /"" cannot be a workspace/);
});

describe("R40: a conversation that was cut inside a tool goes on", () => {
  // Every format with every protocol is in core; here, each once over a real connection.
  const pairs = [
    ["ai-sdk", "anthropic"],
    ["openai-chat", "responses"],
    ["anthropic", "chat"],
  ] as const;
  for (const [format, protocol] of pairs) {
    test(`${format}: read as such, and the next request is accepted (${protocol})`, async (t) => {
      const world = new World(t);
      const taken = await imported(world, jsonLines(kept[format]), "--session", "s");
      assert.deepEqual([taken.code, taken.stderr], [0, ""]);
      assert.match(taken.stdout, new RegExp(`^imported session s from 2 messages of .*, read as ${format}\n$`));
      const server = await world.server({ entries: [[{ text: "It is built." }]] });
      const ran = await world.pawl(["run", "is it?", ...world.place(server, protocol), "--json", "--session", "s"]);
      assert.deepEqual([ran.code, lastLine(ran.stdout).text], [0, "It is built."], ran.stderr);
      assert.equal((await world.verified("s")).code, 0);
    });
  }
});

test("a session of messages is listed by its first words, shown as a timeline, exported and imported as any other", async (t) => {
  const world = new World(t);
  const messages = [
    ...kept.anthropic,
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "ok" }] },
  ];
  const text = JSON.stringify({ model: "claude-opus-4-5", system: "be brief", messages }, null, 2);
  const taken = await imported(world, text, "--json", "--session", "s");
  const told = JSON.parse(taken.stdout);
  assert.deepEqual(told, { ok: true, session: "s", file: told.file, format: "anthropic", messages: 4 });
  const listed = await world.pawl(["sessions", "--store", world.store]);
  assert.match(listed.stdout, /interrupted.*build it/);
  const shown = await world.pawl(["show", "s", "--store", world.store]);
  assert.match(shown.stdout, /build it[\s\S]*make[\s\S]*ok/);

  const file = join(world.root, "s.jsonl");
  assert.equal((await world.pawl(["export", "s", "--out", file, "--store", world.store])).code, 0);
  const other = join(world.root, "other");
  const again = await world.pawl(["import", file, "--store", other, "--json"]);
  assert.deepEqual(JSON.parse(again.stdout), { ok: true, session: "s", file });
  assert.equal((await world.pawl(["verify", "s", "--store", other])).code, 0);
});

test("--model keeps the signatures of the model that gave the answers", async (t) => {
  const world = new World(t);
  assert.equal((await imported(world, jsonLines(kept.anthropic), "--session", "a")).code, 0);
  const named = ["--session", "b", "--model", "anthropic:claude-opus-4-5"];
  assert.equal((await imported(world, jsonLines(kept.anthropic), ...named)).code, 0);
  assert.doesNotMatch((await world.shown("a")).join("\n"), /of another server/);
  const events = (await world.shown("b")).join("\n");
  assert.match(events, /"signature":"of another server"/);
  assert.match(events, /"model":\{"provider":"anthropic\.messages","id":"claude-opus-4-5"\}/);
});

test("what is wrong is said in one line, with its place, and there is no session", async (t) => {
  const world = new World(t);
  const cases: [string, RegExp, string[]?][] = [
    [`${jsonLines([user])}{oops\n`, /^pawl: line 2: is not JSON: "\{oops"; nothing was imported\n$/],
    [
      jsonLines([user, { role: "tool", content: "ok" }]),
      /^pawl: line 2: is a message of no format .*; name the format \(--format/,
    ],
    [
      jsonLines(kept["ai-sdk"]),
      /^pawl: line 2: content\[0\]\.type must be one of text, .* \(read as anthropic\)/,
      ["--format", "anthropic"],
    ],
    [jsonLines([user]), /^pawl: line 1: is neither a header, a record.*nothing was imported/, ["--format", "pawl"]],
    [
      jsonLines([user]),
      /^pawl: --format "chatml": write one of pawl, ai-sdk, openai-chat, anthropic\n$/,
      ["--format", "chatml"],
    ],
    [jsonLines([user]), /^pawl: --model "gpt": write PROVIDER:ID/, ["--model", "gpt"]],
    ["", /^pawl: there is no message in it; nothing was imported\n$/],
  ];
  for (const [text, stderr, options = []] of cases) {
    const refused = await imported(world, text, ...options);
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, stderr);
    assert.equal(refused.stdout, "");
  }
  assert.equal((await world.pawl(["sessions", "--json", "--store", world.store])).stdout, "");
});
