/** `pawl follow`: real processes on one store; the model server says when words come. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { openSession } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import type { Entry } from "@pawl/model-server";
import { eventsOf, type Running, World } from "./pawl-world.ts";

const noScript = spawnSync("script", ["--version"]).status === 0 ? false : "there is no script(1) here";

const answer = "The answer is forty-two, I think.";
/** Half of the answer, then nothing until the test says so. */
const held = (hold: string): Entry => [
  { reason: "Let me think.", chunks: 2 },
  { text: answer, chunks: 4, upTo: 2 },
  { hold },
  { more: true },
];

/** Resolves with the first line of standard output that has such words. */
async function lineWith(running: Running, words: RegExp): Promise<string> {
  for (;;) {
    const count = running.lines.length;
    const found = running.lines.find((line) => words.test(line));
    if (found !== undefined) return found;
    await running.linesSeen(count + 1);
    if (running.lines.length === count) throw new Error(`no line with ${words}; standard error: ${running.stderr}`);
  }
}

interface Line {
  seq?: number;
  type: string;
  part?: string;
  text?: string;
}

const linesOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

/** By part, in order. */
function wordsOf(stdout: string): string[] {
  const parts = new Map<string, string>();
  for (const { type, part = "", text = "" } of linesOf(stdout))
    if (type === "part.delta") parts.set(part, (parts.get(part) ?? "") + text);
  return [...parts.values()];
}

const facts = (stdout: string) => linesOf(stdout).filter(({ seq }) => seq !== undefined);

test("a session that another process drives: its words before they are committed, its facts, and its end", async (t) => {
  const world = new World(t);
  const server = await world.server([held("here")]);
  const running = world.start(["run", "Ask", "--session", "s", "--json", ...world.place(server)]);
  await server.held("here");
  const follower = world.start(["follow", "s", "--json", "--store", world.store]);
  const piped = world.start(["follow", "s", "--store", world.store]);
  await lineWith(follower, /"part.delta".*The answer is fort"/);
  await piped.said(/> Ask/);
  assert.equal(piped.lines.length, 0, "a pipe gets what is committed");
  server.release("here");
  const [driver, watcher, story] = await Promise.all([running.ended, follower.ended, piped.ended]);
  assert.deepEqual([driver.code, watcher.code, story.code], [0, 0, 0], watcher.stderr);
  assert.deepEqual(facts(watcher.stdout), eventsOf(driver.stdout).slice(1), "all but the creation");
  assert.deepEqual(wordsOf(watcher.stdout), ["Let me think.", answer]);
  assert.match(watcher.stderr, new RegExp(`is driven by process ${running.process.pid} on `));
  assert.equal(story.stdout, `${answer}\n`);
  assert.match(story.stderr, /following session s: Ask\n.*> Ask\n.*✓ done · 1 request/s);
});

test("the driver is killed and a third process takes over: who watches sees all of it, each word once", async (t) => {
  const world = new World(t);
  const server = await world.server([held("here"), held("there")]);
  const place = [...world.place(server), "--json"];
  const killed = world.start(["run", "Ask", "--session", "s", ...place]);
  await server.held("here");
  const follower = world.start(["follow", "s", "--json", "--store", world.store]);
  const story = world.start(["follow", "s", "--store", world.store]);
  const shown = Promise.withResolvers<void>();
  const reads = () => {
    shown.resolve();
    return "";
  };
  const follow = ["follow", "s", "--store", world.store];
  const screen = noScript ? undefined : world.atTerminal([[/answer is fort/, reads]], follow);
  if (screen) await shown.promise;
  await lineWith(follower, /"part.delta".*The answer is fort"/);
  await story.said(/is driven by/);
  killed.kill("SIGKILL");
  await killed.ended;
  await follower.said(
    /has left it within a turn; nobody drives it\n +A worker goes on inside the turn, or: pawl resume s --model openai-chat:scripted/,
  );
  const next = world.start(["resume", "s", ...place]);
  await server.held("there");
  await follower.said(new RegExp(`is driven now by process ${next.process.pid} on `));
  server.release("there");
  const [driver, watcher, told] = await Promise.all([next.ended, follower.ended, story.ended]);
  assert.deepEqual([driver.code, watcher.code, told.code], [0, 0, 0], watcher.stderr);
  assert.deepEqual(
    linesOf(watcher.stdout)
      .filter(({ seq }) => seq !== undefined)
      .map((line) => JSON.stringify(line)),
    (await world.shown("s")).slice(1),
  );
  assert.deepEqual(wordsOf(watcher.stdout), ["Let me think.", "The answer is fort", "Let me think.", answer]);
  assert.equal(told.stdout, `${answer}\n`, "what was withdrawn is not in the pipe");
  assert.match(told.stderr, new RegExp(`process ${killed.process.pid} on .* has left it within a turn`));
  if (screen) assert.match((await screen).stdout, /The answer is fort\n.*── the words above are withdrawn ──\n/s);
  assert.equal((await world.verified("s")).code, 0);
});

test("on a terminal words are written as they come and once; Ctrl-C leaves, and the turn goes on", {
  skip: noScript,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([held("here")]);
  const running = world.start(["run", "Ask", "--session", "s", "--json", ...world.place(server)]);
  await server.held("here");
  const follow = ["follow", "s", "--store", world.store];
  const left = await world.atTerminal([[/answer is fort/, "\u0003"]], follow);
  assert.equal(left.code, 0, left.stdout);
  assert.match(left.stdout, /thinking: Let me think\.\n\nThe answer is fort/);
  const release = () => {
    server.release("here");
    return "";
  };
  const { code, stdout } = await world.atTerminal([[/answer is fort/, release]], follow);
  assert.equal((await running.ended).code, 0);
  assert.equal(code, 0, stdout);
  assert.equal(stdout.split("The answer is").length, 2, stdout);
  assert.match(stdout, /The answer is forty-two, I think\.\n.*✓ done/s);
});

test("a question that waits is told with who is asked, and what comes of it is seen", { skip: noScript }, async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ call: "bash", input: { command: "echo hi > made.txt" } }],
    [{ text: "Made." }],
  ]);
  const asking = Promise.withResolvers<void>();
  const typed = () => {
    asking.resolve();
    return "";
  };
  const run = ["run", "Make it", "--session", "s", ...world.place(server)];
  const asked = world.atTerminal([[/Allow this\?/, typed]], run);
  await asking.promise;
  const follower = world.start(["follow", "s", "--store", world.store]);
  await follower.said(/\? bash echo hi > made\.txt waits for an answer, asked by process \d+ on /);
  await allowAll(world, "s");
  assert.equal((await asked).code, 0);
  const { code, stdout, stderr } = await follower.ended;
  assert.deepEqual([code, stdout], [0, "Made.\n"], stderr);
  assert.match(stderr, /✓ bash echo hi > made\.txt/);
  assert.equal(stderr.split("waits for an answer").length, 2);
});

/** Somebody says yes, in yet another process. */
async function allowAll(world: World, id: string): Promise<void> {
  const runtime = await openRuntime({ dir: world.store });
  try {
    const session = await openSession(runtime, id);
    for (const { approval } of await session.pendingApprovals()) await session.answer(approval, "allow", { by: "ann" });
  } finally {
    await runtime.store.close();
  }
}

test("a session where nothing runs: said, and shown from where one likes; what is not there is an error", async (t) => {
  const world = new World(t);
  const server = await world.server({ entries: [], fallback: [{ text: "Done." }], loop: false });
  const place = [...world.place(server), "--json"];
  await world.pawl(["run", "One", "--session", "s", ...place]);
  const store = ["--store", world.store];
  const idle = await world.pawl(["follow", "s", ...store]);
  assert.deepEqual([idle.code, idle.stdout], [0, ""]);
  assert.match(idle.stderr, /no turn is open, its last turn ended as completed; --forever waits/);
  const all = await world.pawl(["follow", "s", "--after", "0", "--json", ...store]);
  const logged = await world.shown("s");
  assert.deepEqual(
    facts(all.stdout).map((line) => JSON.stringify(line)),
    logged,
  );
  assert.deepEqual(wordsOf(all.stdout), ["Done."]);
  const beyond = await world.pawl(["follow", "s", "--after", "99", ...store]);
  assert.equal(beyond.code, 2, beyond.stderr);
  assert.match(beyond.stderr, /^pawl: --after 99: session s has records 1 to \d+; .*\n$/);
  assert.equal((await world.pawl(["follow", "none-such", ...store])).code, 3);
  assert.deepEqual(await world.shown("s"), logged, "looking writes nothing");
});

test("--forever goes on with the next turn, until it is told to leave", async (t) => {
  const world = new World(t);
  const server = await world.server({ entries: [], fallback: [{ text: "Done." }], loop: false });
  const place = [...world.place(server), "--json"];
  await world.pawl(["run", "One", "--session", "s", ...place]);
  const follower = world.start(["follow", "s", "--forever", "--json", "--store", world.store]);
  await follower.said(/following/);
  for (const words of ["Two", "Three"]) {
    await world.pawl(["run", words, "--session", "s", ...place]);
    await lineWith(follower, new RegExp(`"input.accepted".*${words}`));
  }
  await lineWith(follower, /"turn.ended"/);
  follower.kill("SIGINT");
  const { code, stdout } = await follower.ended;
  assert.equal(code, 0);
  assert.deepEqual(wordsOf(stdout).at(-1), "Done.");
});
