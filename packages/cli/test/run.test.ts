/** One turn through the real binary: what is printed, where, and what ends it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventsOf, firstLineOf, type LastLine, lastLine, World } from "./pawl-world.ts";

const keys = ["ok", "outcome", "text", "session", "turn", "usage", "error"];

test("--json: events with ascending seq, then a summary of exactly seven fields", async (t) => {
  const world = new World(t);
  const usage = { input: 100, output: 20 };
  const server = await world.server([
    [{ text: "Let me look.", chunks: 2 }, { usage }, { call: "ls", input: {} }],
    [{ text: "It is empty.", chunks: 3 }, { usage: { input: 130, output: 5 } }],
  ]);
  const { code, stdout, stderr } = await world.pawl(["run", "What is here?", "--json", ...world.place(server)]);
  assert.equal(code, 0);
  assert.equal(stderr, "");
  const last = lastLine(stdout);
  assert.deepEqual(Object.keys(last), keys);
  const seqs = eventsOf(stdout).map(({ seq }) => seq);
  assert.deepEqual(
    seqs,
    seqs.map((_, index) => index + 1),
  );
  const { session, turn, ...rest } = last;
  assert.match(`${session} ${turn}`, /^s_\w+ t_\w+$/);
  assert.deepEqual(rest, {
    ok: true,
    outcome: "completed",
    text: "It is empty.",
    usage: { input: 230, output: 25 },
    error: null,
  });
});

test("the summary counts the tokens of lost attempts, too", async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ text: "Half an ans" }, { usage: { input: 100, output: 7 } }, { error: { type: "server_error", message: "no" } }],
    [{ text: "A whole answer." }, { usage: { input: 100, output: 9 } }],
  ]);
  const { stdout } = await world.pawl(["run", "Say it", "--json", ...world.place(server, "responses")]);
  const { usage, ok } = lastLine(stdout);
  const lost = eventsOf(stdout).find(({ type, end }) => type === "attempt.ended" && end === "discarded");
  const { output = 0 } = (lost?.["usage"] ?? {}) as { output?: number };
  assert.deepEqual([ok, usage.output], [true, 9 + output]);
});

test("a session is gone on with: the model gets its history, the log grows", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Hello, Ada." }], [{ text: "You are Ada." }]]);
  const run = (prompt: string) => world.pawl(["run", prompt, "--json", "--session", "names", ...world.place(server)]);
  assert.equal((await run("I am Ada.")).code, 0);
  const second = await run("Who am I?");
  assert.equal(lastLine(second.stdout).text, "You are Ada.");
  assert.match(server.requests[1]?.body ?? "", /I am Ada\..*Hello, Ada\..*Who am I\?/s);
  const first = eventsOf(second.stdout)[0]?.seq ?? 0;
  assert.ok(first > 1, `the second run prints its own events, from ${first} on`);
});

test("a pipe gets committed text only, each sentence once; the story goes to standard error", async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ reason: "Hm, let me think." }, { text: "The first half is " }, { hold: "cut" }, { reset: true }],
    [{ text: "The first half is here. " }, { call: "ls", input: {} }],
    [{ text: "And the second." }],
  ]);
  const running = world.start(["run", "Say it", ...world.place(server)]);
  await server.held("cut");
  server.release("cut");
  const { code, stdout, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "The first half is here.\nAnd the second.\n");
  assert.match(stderr, /The connection broke/);
  assert.match(stderr, /Trying again in \d+ ms \(attempt 2 of \d\)/);
  assert.match(stderr, /✓ ls · \d line/);
  assert.match(stderr, /✓ done · .* · 2 requests/);
  assert.match(stderr, /1 request lost on the way/);
});

test("escape sequences of a model and of a tool never reach the output", async (t) => {
  const world = new World(t);
  const evil = "\u001b]0;owned\u0007\u001b[2Jplain\u009b31m\u202eback\r";
  const server = await world.server([
    [{ text: `A ${evil}` }, { call: "bash", input: { command: `echo '${evil}'; printf '\\033[31mred\\n'` } }],
    { status: 400, error: { type: "invalid_request_error", message: `no ${evil}` } },
  ]);
  const { stdout, stderr } = await world.pawl(["run", `Do ${evil}`, "--yes", ...world.place(server)]);
  const list = await world.pawl(["sessions", "--store", world.store]);
  const session = list.stdout.split(" ")[0] ?? "";
  const show = await world.pawl(["show", session, "--store", world.store]);
  for (const text of [stdout, stderr, list.stdout, show.stdout]) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it looks for
    assert.doesNotMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    assert.match(text, /plain/);
  }
});

test("--idle-ms: silence is a broken stream, and the next attempt answers", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Wai" }, { silence: true }], [{ text: "Here I am." }]]);
  const args = ["run", "Hello?", "--json", "--idle-ms", "2500", ...world.place(server)];
  const { code, stdout } = await world.pawl(args);
  assert.equal(code, 0);
  assert.equal(lastLine(stdout).text, "Here I am.");
  const lost = eventsOf(stdout).find(({ type, end }) => type === "attempt.ended" && end === "discarded");
  assert.match(JSON.stringify(lost?.["failure"]), /stream-broken/);
  assert.equal(server.requests.length, 2);
});

test("without --yes and without a terminal, what changes something is refused and what looks is not", async (t) => {
  const world = new World(t);
  writeFileSync(join(world.work, "a.txt"), "here\n");
  const server = await world.server([
    [
      { call: "read", input: { path: "a.txt" } },
      { call: "bash", input: { command: "touch made" } },
    ],
    [{ text: "I may not." }],
  ]);
  const { code, stderr } = await world.pawl(["run", "Touch it", ...world.place(server)]);
  assert.equal(code, 0);
  assert.match(stderr, /No terminal to ask in.*--yes allows them/);
  assert.match(stderr, /✓ read a\.txt · 1 line/);
  assert.match(stderr, /✗ bash touch made/);
  assert.throws(() => world.read("made"), /ENOENT/);
});

for (const json of [true, false]) {
  test(`SIGINT ends the turn cleanly with 130${json ? " and a summary" : ", and says how to go on"}`, async (t) => {
    const world = new World(t);
    spawnSync("mkfifo", [join(world.work, "started")]);
    const server = await world.server([
      [{ call: "bash", input: { command: "echo up > started; exec sleep 1000" } }],
      [{ text: "Gone on." }],
    ]);
    const place = world.place(server);
    const running = world.start(["run", "Wait", "--session", "stop", "--yes", ...(json ? ["--json"] : []), ...place]);
    assert.equal(await firstLineOf(join(world.work, "started")), "up");
    running.kill("SIGINT");
    const { code, stdout, stderr } = await running.ended;
    assert.equal(code, 130, stderr);
    assert.match(stderr, /Stopping: /);
    if (json) {
      const last: LastLine = lastLine(stdout);
      assert.deepEqual([last.ok, last.outcome, last.session, last.error?.exit], [false, "aborted", "stop", 130]);
    } else {
      assert.match(stderr, /stopped on request/);
      assert.match(stderr, /To go on: pawl continue stop --model openai-chat:scripted .*--yes\n/);
    }
    assert.equal((await world.verified("stop")).code, 0);
    const again = await world.pawl(["run", "Go on", "--json", "--session", "stop", ...place]);
    assert.equal(lastLine(again.stdout).text, "Gone on.", "the judge accepts the history of an aborted turn");
  });
}

test("a reader that goes away ends the turn, and nothing is lost", async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ call: "ls", input: {} }],
    [{ hold: "gone" }, { text: "Nobody hears this." }],
    [{ text: "Gone on." }],
  ]);
  const running = world.start(["run", "List", "--json", "--session", "pipe", ...world.place(server)]);
  await server.held("gone");
  running.process.stdout?.destroy();
  server.release("gone");
  const { code } = await running.ended;
  assert.notEqual(code, null);
  assert.equal((await world.verified("pipe")).code, 0);
});

test("a session goes on in its own folder, wherever it is called from, and says when a run is told another", async (t) => {
  const world = new World(t);
  const server = await world.server([1, 2, 3].map((n) => [{ text: `Turn ${n}.` }]));
  const other = join(world.root, "other");
  mkdirSync(other);
  const place = world.place(server);
  place.splice(place.indexOf("--cwd"), 2);
  const folders = async () => {
    const { stdout } = await world.pawl(["show", "own", "--json", "--store", world.store]);
    const headers = stdout.split("\n").filter((line) => line.includes('"step.started"'));
    return headers.map((line) => /The folder is ([^,]+),/.exec(line)?.[1]).filter((folder) => folder !== undefined);
  };
  await world.pawl(["run", "one", "--session", "own", ...place, "--cwd", other]);
  await world.pawl(["run", "two", "--session", "own", ...place]);
  assert.deepEqual(await folders(), [other], "the second turn changed nothing");
  const moved = await world.pawl(["run", "three", "--session", "own", ...place, "--cwd", world.work]);
  assert.match(moved.stderr, /session own belongs to .*other; this run works in .*work/);
  rmSync(other, { recursive: true });
  const gone = await world.pawl(["run", "four", "--session", "own", ...place]);
  assert.equal(gone.code, 2);
  assert.match(gone.stderr, /the folder of session own is gone: .*other; name one with --cwd/);
});

test("a prompt of - is no prompt: standard input is not read, and that is said", async (t) => {
  const world = new World(t);
  const server = await world.server([]);
  const { code, stderr } = await world.pawl(["run", "-", ...world.place(server)]);
  assert.equal(code, 2);
  assert.match(stderr, /standard input is not read; give the text as an argument/);
  assert.equal(server.requests.length, 0);
});
