/**
 * A person at a real terminal: a whole turn with a retry, an answer that breaks off, an approval, a steer and an interrupt,
 * then a crash and the resume. What the screen shows at each moment is a fixture; `PAWL_WRITE_FIXTURES=1` writes it anew.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Entry } from "@pawl/model-server";
import { noTerminal, PersonsTerminal } from "./chat-terminal-world.ts";
import { World } from "./pawl-world.ts";

const usage = { usage: { input: 10, output: 5 } };
const waiter = "echo began\nuntil [ -e $1 ]; do sleep 0.05; done\necho ended\n";
const waitFor = (file: string) => `sh wait.sh ${file}`;

const script: Entry[] = [
  { status: 503, headers: { "retry-after": "60" } },
  [{ reason: "A person wants a greeting." }, { text: "I will look at the " }, { hold: "mid" }, { reset: true }],
  [{ text: "I would **run** this:" }, { call: "bash", input: { command: waitFor("first") } }, usage],
  [{ text: "As you say:\n\n- hello\n- wor", upTo: 3, chunks: 3 }, { hold: "list" }, { text: "ld" }],
  [{ call: "bash", input: { command: waitFor("second") } }, usage],
  [{ text: "The command ended. All is done." }, usage],
];

async function scene(
  t: TestContext,
  columns: number,
  env: NodeJS.ProcessEnv = {},
): Promise<{ moments: string; raw: string }> {
  const world = new World(t, env);
  const server = await world.server(script);
  const place = world.place(server);
  writeFileSync(join(world.work, "wait.sh"), waiter);
  const size = { cols: columns, rows: 30 };
  const moments: string[] = [];
  const first = new PersonsTerminal(t, world, place, size);
  const seen = async (name: string, words: RegExp, terminal = first) => {
    moments.push(`===== ${name} =====\n${plain(await terminal.until(words), world)}`);
  };
  await seen("the first frame", /idle · openai-chat:scripted/);
  first.type("Greet me\r");
  await seen("waiting to try again", /trying again in .* Enter or r tries\s+now/);
  first.type("r");
  await server.held("mid");
  await seen("words that are not committed", /I will look at the\n/);
  server.release("mid");
  await seen("the words are withdrawn, and a question is asked", /withdrawn[\s\S]*Allow this\? y yes/);
  first.type("y\r");
  await first.until(/allowed by terminal[\s\S]*began/);
  first.type("In a list, please\r");
  await seen("a command runs, a steer waits", /» steers next: In a list, please\n[\s\S]*1 waiting/);
  writeFileSync(join(world.work, "first"), "");
  await server.held("list");
  await seen("the steer is taken up", /As you say:[\s\S]*• hello/);
  first.type("\u001b");
  await seen("stopped", /✗ stopped on request[\s\S]*Enter goes on from there[\s\S]*idle ·/);
  first.type("Once more\r");
  await first.until(/second[\s\S]*Allow this\?/);
  first.type("y\r");
  await first.until(/second[\s\S]*allowed by terminal[\s\S]*began/);
  first.kill("SIGKILL");
  await first.exited;

  const second = new PersonsTerminal(t, world, place, size);
  await seen("after a crash", /interrupted: the process[\s\S]*idle ·/, second);
  second.type("\r");
  await second.until(/looking for the result of bash/);
  writeFileSync(join(world.work, "second"), "");
  await seen("resumed", /All is done\.\n[\s\S]*✓ done[\s\S]*idle ·/, second);
  second.type("\u0004");
  assert.equal(await second.exited, 0);
  moments.push(`===== left =====\n${plain(second.text, world)}`);
  const [verdict] = await Promise.all([world.pawl(["sessions", "--json", "--store", world.store])]);
  const { session } = JSON.parse(verdict.stdout.split("\n")[0] ?? "{}") as { session: string };
  assert.equal((await world.verified(session)).code, 0);
  return { moments: `${moments.join("\n\n")}\n`, raw: first.raw + second.raw };
}

/** Without what differs from run to run: folders, ids, times, and figures that depend on them. */
function plain(text: string, world: World): string {
  return text
    .replaceAll(world.work, "FOLDER")
    .replace(/pawl in .*/g, "pawl in FOLDER")
    .replace(/The connection broke: .*/g, "The connection broke: WHY")
    .replace(/\bs_[0-9A-Z]{10,}/g, "SESSION")
    .replace(/(stopped on request|done) · [^✓✗›]*?\bout\n/g, "$1 · FIGURES\n")
    .replace(
      / {2}and \d+ requests? lost on the way ·[^✓✗›]*?(out|figure|unknown)\n/g,
      "  and requests LOST on the way\n",
    )
    .replace(
      /trying again in [^·]*· ([^›]*?)\n›/g,
      (_, rest: string) => `trying again in TIME · ${rest.replace(/\s+/g, " ")}\n›`,
    )
    .replace(/in (\d+ ms|[\d.]+ s|1 min \d+ s)\b/g, "in TIME")
    .replace(/ · [\d.]+ (ms|s)$/gm, "")
    .replace(/ for \d+ s\b/g, "")
    .replace(/^(running bash|waiting for the model)\b.*/gm, "$1 · STATUS")
    .replace(/· [\d.]+ s · reconcile/g, "· reconcile")
    .replace(/context [\d,]+/g, "context N")
    .replace(/· [\d,]+ out\b/g, "· N out");
}

function held(name: string, moments: string): void {
  const file = new URL(`fixtures/${name}.txt`, import.meta.url);
  if (process.env["PAWL_WRITE_FIXTURES"]) writeFileSync(file, moments);
  assert.equal(moments, readFileSync(file, "utf8"));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what it looks for
const colours = /\u001b\[[\d;]*m/;

for (const columns of [60, 200]) {
  test(`a retry, a withdrawn answer, an approval, a steer, a stop, a crash and the resume at ${columns} columns`, {
    skip: noTerminal,
  }, async (t) => {
    const { moments, raw } = await scene(t, columns);
    held(`chat-${columns}`, moments);
    assert.match(raw, colours);
    assert.doesNotMatch(raw, /\?1049|\[2J|\[3J/, "the screen and its history are never cleared");
  });
}

test("with NO_COLOR the same words, and not one colour", { skip: noTerminal }, async (t) => {
  const { moments, raw } = await scene(t, 60, { NO_COLOR: "1" });
  held("chat-60", moments);
  assert.doesNotMatch(raw, colours);
});

test("Ctrl-Z where no shell could bring it back: the chat goes on", { skip: noTerminal }, async (t) => {
  const world = new World(t);
  const terminal = new PersonsTerminal(t, world, ["--store", world.store], { cols: 80, rows: 24 });
  await terminal.until(/idle · no model/);
  terminal.type("\u001a");
  await terminal.said(/\?2004l[\s\S]*\?2004h/);
  terminal.type("still here");
  await terminal.until(/› still here/);
  terminal.type("\u0015\u0004");
  assert.equal(await terminal.exited, 0);
});

test("a screen that becomes narrow and wide again in the middle of an answer keeps every word", {
  skip: noTerminal,
}, async (t) => {
  const world = new World(t);
  const words = Array.from({ length: 60 }, (_, at) => `Paragraph ${at}.`).join("\n\n");
  const [first, second] = [words.slice(0, 500), words.slice(500)];
  const server = await world.server([[{ text: first }, { hold: "half" }, { text: second }]]);
  const terminal = new PersonsTerminal(t, world, world.place(server), { cols: 80, rows: 20 });
  await terminal.until(/idle ·/);
  terminal.type("go\r");
  await server.held("half");
  await terminal.until(/answering/);
  terminal.resize(40, 12);
  await terminal.until(/answering/);
  terminal.resize(100, 30);
  server.release("half");
  const text = await terminal.until(/✓ done[\s\S]*idle ·/);
  for (let at = 0; at < 60; at += 1) assert.match(text, new RegExp(`Paragraph ${at}\\.`));
  terminal.type("\u0004");
  assert.equal(await terminal.exited, 0);
});

test("without a model nothing is lost: it is said, and the words stand there to be sent again", {
  skip: noTerminal,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Hello." }]]);
  const mine = { protocol: "openai-chat", baseUrl: server.baseUrl("chat") };
  world.configure({ sandbox: "off", providers: { mine } });
  const terminal = new PersonsTerminal(t, world, ["--store", world.store], { cols: 80, rows: 24 });
  await terminal.until(/idle · no model/);
  terminal.type("greet me\r");
  await terminal.until(/no model: set one of[\s\S]*› greet me\n/);
  terminal.type("\u0015/model mine:scripted\r");
  await terminal.until(/from the next turn on: mine:scripted/);
  terminal.type("\u001b[A\u001b[A\r");
  await terminal.until(/Hello\.\n\n✓ done[\s\S]*idle · mine:scripted/);
  terminal.type("\u0004");
  assert.equal(await terminal.exited, 0);
});

test("a question is answered at another terminal than the one that drives, and the command runs once", {
  skip: noTerminal,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ call: "bash", input: { command: "echo ran >> made.txt" } }],
    [{ text: "Made." }],
  ]);
  const size = { cols: 80, rows: 24 };
  const driver = new PersonsTerminal(t, world, world.place(server), size);
  await driver.until(/idle ·/);
  driver.type("go\r");
  await driver.until(/Allow this\?/);
  const watcher = new PersonsTerminal(t, world, world.place(server), size);
  await watcher.until(/you are watching[\s\S]*Allow this\?[\s\S]*watching: asks you/);
  watcher.type("y\r");
  for (const terminal of [driver, watcher])
    await terminal.until(/allowed by terminal[\s\S]*Made\.\n\n✓ done[\s\S]*idle ·/);
  assert.equal(world.read("made.txt"), "ran\n");
  for (const terminal of [driver, watcher]) {
    terminal.type("\u0004");
    assert.equal(await terminal.exited, 0);
  }
});
