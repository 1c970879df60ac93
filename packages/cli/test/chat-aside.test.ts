/** What a chat does beside its own conversation, at a terminal: undo and its way back, tasks, questions in words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { noTerminal, PersonsTerminal } from "./chat-terminal-world.ts";
import { World } from "./pawl-world.ts";

const size = { cols: 100, rows: 40 };
const write = { call: "write", input: { path: "made.txt", content: "hi\n" } };

test("/diff, /undo and /redo lend the terminal to pawl itself, and the chat goes on in the session that comes of it", {
  skip: noTerminal,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([[write], [{ text: "Made." }], [{ text: "I see no file." }]]);
  const terminal = new PersonsTerminal(t, world, [...world.place(server), "--yes"], size);
  await terminal.until(/idle ·/);
  terminal.type("make it\r");
  await terminal.until(/Made\.\n\n✓ done[\s\S]*idle ·/);
  terminal.type("/diff\r");
  await terminal.until(/\+hi\n[\s\S]*idle ·/);
  terminal.type("/undo\r");
  await terminal.said(/Undo it\?/);
  terminal.type("y\r");
  await terminal.until(/1 file removed; the log until now is kept[\s\S]*idle ·/);
  assert.throws(() => world.read("made.txt"));
  terminal.type("what is there?\r");
  await terminal.until(/I see no file\.\n\n✓ done[\s\S]*idle ·/);
  assert.doesNotMatch(server.requests.at(-1)?.body ?? "", /make it/);
  terminal.type("\u0004");
  assert.equal(await terminal.exited, 0);
});

test("a task's question is asked in the chat, an always is remembered, and a question in words takes the next line", {
  skip: noTerminal,
}, async (t) => {
  const world = new World(t);
  const ls = { call: "bash", input: { command: "ls -a" } };
  const server = await world.server([
    [{ call: "task", input: { agent: "general", prompt: "Look." } }],
    [ls],
    [{ text: "Seen." }],
    [{ call: "ask", input: { question: "Which colour?", choices: ["red", "blue"] } }],
    [{ text: "Blue it is." }],
    [ls],
    [ls],
    [{ text: "Twice." }],
  ]);
  const terminal = new PersonsTerminal(t, world, world.place(server), size);
  await terminal.until(/idle ·/);
  terminal.type("go\r");
  await terminal.until(/↳ general: asks whether it may: bash ls -a[\s\S]*Allow this\?/);
  terminal.type("y\r");
  await terminal.until(/\? Which colour\?\n[\s\S]*2\. blue/);
  terminal.type("2\r");
  await terminal.until(/Blue it is\.\n\n✓ done[\s\S]*idle ·/);
  assert.match(server.requests.at(-1)?.body ?? "", /"content":"blue"/);
  terminal.type("/mode plan\r");
  await terminal.until(/from the next turn on: mode plan[\s\S]*idle ·.*mode plan/);
  terminal.type("/mode sometimes\r");
  await terminal.until(/"sometimes" is no mode; use one of plan, ask, accept-edits, all/);
  terminal.type("/mode ask\r");
  await terminal.until(/from the next turn on: mode ask/);
  terminal.type("again\r");
  await terminal.until(/Allow this\?[^\n]*always \(ls \*\)/);
  terminal.type("a\r");
  await terminal.until(/Twice\.\n\n✓ done[\s\S]*idle ·/);
  terminal.type("\u0004");
  assert.equal(await terminal.exited, 0);
  assert.equal(server.requests.length, 8, "the second call was not asked about");
});
