/** What is the same over all three wire protocols. */
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Entry, PROTOCOLS, type Protocol } from "@pawl/model-server";
import { eventsOf, type LoggedEvent, lastLine, World } from "./pawl-world.ts";

const script: Entry[] = [
  [{ reason: "First see what is there.", chunks: 4 }, { hold: "thinking" }, { reset: true }],
  [
    { reason: "First see what is there, then count.", chunks: 3 },
    { text: "I'll look at it first.", chunks: 4 },
    { call: "ls", input: {} },
    { call: "read", input: { path: "a.txt" }, split: [3, 7] },
    { call: "bash", input: { command: "wc -l < a.txt" } },
  ],
  [{ text: "It has two lin", chunks: 2 }, { hold: "speaking" }, { reset: true }],
  [{ text: "It has two lines.", chunks: 3 }],
];

/** What differs between protocols or runs, by the name of the field. */
const varying = new Set([
  "time",
  "at",
  "delayMs",
  "durationMs",
  "firstPartMs",
  "usage",
  "model",
  "header",
  "meta",
  "providerId",
  "responseId",
  "digest",
  "cwd",
  "raw",
  // Signatures and item ids exist in two of the three.
  "clientState",
]);

/** Ids become their order of appearance, what varies goes. */
function normalised(events: readonly LoggedEvent[]): unknown {
  const ids = new Map<string, string>();
  const text = JSON.stringify(events, (name, value: unknown) => (varying.has(name) ? undefined : value));
  return JSON.parse(
    text.replace(/\b(?:in|t|st|a|s)_[0-9A-HJKMNP-TV-Z]{21}(?:-\d+)?\b/g, (id) => {
      const known = ids.get(id) ?? `id${ids.size + 1}`;
      ids.set(id, known);
      return known;
    }),
  ) as unknown;
}

async function told(world: World, protocol: Protocol): Promise<LoggedEvent[]> {
  const server = await world.server(script);
  const args = ["run", "How long is it?", "--json", "--yes", "--session", protocol, ...world.place(server, protocol)];
  const running = world.start(args);
  for (const name of ["thinking", "speaking"]) {
    await server.held(name);
    server.release(name);
  }
  const { code, stdout, stderr } = await running.ended;
  assert.equal(code, 0, `${protocol}: ${stderr}`);
  assert.equal(lastLine(stdout).text, "It has two lines.");
  assert.deepEqual(
    server.requests.map(({ verdict }) => verdict.ok),
    [true, true, true, true],
  );
  const shown = (await world.shown(protocol)).map((line) => JSON.parse(line) as LoggedEvent);
  assert.deepEqual(shown, eventsOf(stdout));
  return shown;
}

test("the same script gives the same transcript over all three protocols", async (t) => {
  const world = new World(t);
  writeFileSync(join(world.work, "a.txt"), "one\ntwo\n");
  const [chat, responses, anthropic] = await Promise.all(PROTOCOLS.map((protocol) => told(world, protocol)));
  assert.ok(chat && responses && anthropic);
  const types = chat.map(({ type }) => type);
  assert.ok(types.includes("message.committed") && types.filter((type) => type === "tool.settled").length === 3);
  assert.deepEqual(normalised(responses), normalised(chat));
  assert.deepEqual(normalised(anthropic), normalised(chat));
});

/** What is left of the arguments is another command, and a worse one: `touch target`. */
const asked = '{"command":"touch target/tmp/old"}';
const split = [24, 32];
const lost: [string, Entry][] = [
  [
    "a frame inside the arguments is garbled",
    [{ call: "bash", input: asked, split, upTo: 1, drop: 1 }, { garbage: true }, { more: true }],
  ],
  ["the stream ends inside the arguments", [{ call: "bash", input: asked, split, upTo: 1 }, { end: true }]],
];

for (const protocol of PROTOCOLS) {
  for (const [what, entry] of lost) {
    test(`${protocol}: ${what}: nothing of the call is executed`, async (t) => {
      const world = new World(t);
      const server = await world.server([entry, [{ text: "Nothing was done." }]]);
      const { code, stdout } = await world.pawl(["run", "Do it", "--json", "--yes", ...world.place(server, protocol)]);
      assert.deepEqual([code, lastLine(stdout).text], [0, "Nothing was done."]);
      assert.ok(!existsSync(join(world.work, "target")), "half a command was executed");
      const events = eventsOf(stdout);
      assert.ok(!events.some(({ type }) => type === "tool.entered"));
      assert.equal(events.find(({ type }) => type === "attempt.ended")?.["end"], "discarded");
    });
  }
}
