/** A chat without a terminal: pipes, dumb terminals, screen readers; what it leaves behind, and how it ends. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { History } from "../src/chat/history.ts";
import { noTerminal, PersonsTerminal } from "./chat-terminal-world.ts";
import { type Ended, Running, World } from "./pawl-world.ts";

const bin = fileURLToPath(new URL("../bin/pawl.js", import.meta.url));

function piped(t: TestContext, world: World, args: readonly string[], lines: string): Promise<Ended> {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: world.work,
    env: world.env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  child.stdin.end(lines);
  return new Running(child).ended;
}

const asks = { call: "bash", input: { command: "echo hi > made.txt" } };

test("lines of a pipe are inputs one after the other, and a question takes the next one", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "First **answer**." }], [asks], [{ text: "Made." }]]);
  const { code, stdout, stderr } = await piped(t, world, ["chat", ...world.place(server)], "one\ntwo\ny\n");
  assert.equal(code, 0, stdout + stderr);
  assert.match(
    stdout,
    /› one\n\nFirst answer\.\n\n✓ done[\s\S]*› two\n\n\? bash echo hi > made\.txt\nAllow this\? y[^\n]*\n {2}allowed by terminal\n✓ bash/,
  );
  assert.match(stdout, /Made\.\n\n✓ done[^\n]*\n\nto go on: pawl chat s_/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no sequence at all is what it looks for
  assert.doesNotMatch(stdout, /\u001b|\r/);
  assert.equal(world.read("made.txt"), "hi\n");
});

test("--workspace: a new session needs it, the folder's latest that needs it goes on, one that is named is not changed", async (t) => {
  const world = new World(t);
  const place = world.place(await world.server({ entries: [], fallback: [{ text: "Done." }] }));
  const chat = (lines: string, ...words: string[]) => piped(t, world, ["chat", ...words, ...place], lines);
  assert.equal((await world.pawl(["run", "plain", "--session", "plain", ...place])).code, 0);
  const begun = await chat("one\n/name mine\n", "--workspace", "disk-7");
  assert.equal(begun.code, 0, begun.stdout + begun.stderr);
  const created = (await world.shown("mine")).map(
    (text) => JSON.parse(text) as { type: string; workspace?: string },
  )[0];
  assert.deepEqual([created?.type, created?.workspace], ["session.created", "disk-7"]);
  assert.equal((await world.pawl(["run", "later", "--session", "plain", ...place])).code, 0);
  assert.match(
    (await chat("two\n", "--workspace", "disk-7")).stdout,
    /› one[\s\S]*› two/,
    "not the later one, which needs none",
  );
  const other = await chat("three\n", "plain", "--workspace", "disk-7");
  assert.equal(other.code, 2, other.stdout);
  assert.match(other.stderr, /--workspace disk-7: session plain needs no workspace, for good/);
});

test("where the input ends before a question, nobody is there to ask: denied, and the turn goes on", async (t) => {
  const world = new World(t);
  const server = await world.server([[asks], [{ text: "Then not." }]]);
  const { code, stdout } = await piped(t, world, ["chat", ...world.place(server)], "go\n");
  assert.equal(code, 0, stdout);
  assert.match(stdout, /denied by terminal: the input has ended[\s\S]*Then not\./);
});

test("the exit code says how the last turn ended; what is wrong is one line", async (t) => {
  const world = new World(t);
  const server = await world.server([{ status: 401 }]);
  assert.equal((await piped(t, world, ["chat", ...world.place(server)], "go\n")).code, 10);
  const nothing = await piped(t, world, ["chat", "--store", world.store], "");
  assert.equal(nothing.code, 0, nothing.stderr);
  const unknown = await piped(t, world, ["chat", "nowhere", "--store", world.store], "");
  assert.equal(unknown.code, 3);
  assert.match(unknown.stderr, /^pawl: [^\n]*nowhere[^\n]*\n$/);
  const modelless = await piped(t, world, ["chat", "--store", join(world.root, "other")], "go\n");
  assert.match(modelless.stdout, /no model: set one of [\s\S]*\/model PROVIDER:ID/);
});

test("an empty line goes on inside an interrupted turn, continues one that failed", async (t) => {
  const world = new World(t);
  const server = await world.server([{ status: 400 }, [{ text: "Now it is answered." }]]);
  const place = world.place(server);
  await world.pawl(["run", "go", ...place]);
  const { code, stdout } = await piped(t, world, ["chat", ...place], "\n");
  assert.equal(code, 0, stdout);
  assert.match(stdout, /› go[\s\S]*✗ failed[\s\S]*going on from the turn before[\s\S]*Now it is answered\./);
});

test("commands: a copy, a step back, a name, another session, and what is no command", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "One." }], [{ text: "Two." }]]);
  const lines = "one\ntwo\n/name mine\n/rewind\n/fork 1\n/sessions\n/frobnicate\n/model nonsense\n/compact\n";
  const { code, stdout } = await piped(t, world, ["chat", ...world.place(server)], lines);
  assert.equal(code, 0, stdout);
  for (const words of [
    /called mine: pawl chat mine/,
    /gone back; the log until now is kept as s_/,
    /a copy of s_/,
    /s_\w+ {2}.* completed /,
    /no command \/frobnicate; \/help/,
    /PROVIDER:ID, where/,
    /nothing old enough/,
  ])
    assert.match(stdout, words);
});

test("TERM=dumb draws nothing again; --plain does the same on a good terminal", { skip: noTerminal }, async (t) => {
  for (const [args, env] of [
    [[], { TERM: "dumb" }],
    [["--plain"], {}],
  ] as const) {
    const world = new World(t);
    const server = await world.server([[{ text: "Plain." }]]);
    const terminal = new PersonsTerminal(
      t,
      world,
      ["chat", ...args, ...world.place(server)],
      { cols: 80, rows: 24 },
      env,
    );
    await terminal.said(/lists keys/);
    terminal.type("hi\r");
    await terminal.said(/✓ done/);
    terminal.type("\u0004");
    assert.equal(await terminal.exited, 0);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no sequence at all is what it looks for
    assert.doesNotMatch(terminal.raw, /\u001b/);
  }
});

test("a terminal that is left, by Ctrl-D, a signal or a fault at the start, has its modes back", {
  skip: noTerminal,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Hi.", upTo: 1, chunks: 2 }, { silence: true }]]);
  const ways: [string[], (terminal: PersonsTerminal) => void, number][] = [
    [world.place(server), (terminal) => terminal.type("\u0004"), 0],
    [world.place(server), (terminal) => terminal.kill("SIGTERM"), 130],
    [["chat", "nowhere", ...world.place(server)], () => {}, 3],
  ];
  for (const [args, leave, code] of ways) {
    const terminal = new PersonsTerminal(t, world, args, { cols: 80, rows: 24 });
    await terminal.said(args[0] === "chat" ? /opening/ : /idle ·/);
    leave(terminal);
    assert.equal(await terminal.exited, code);
    const on = terminal.raw.lastIndexOf("\u001b[?2004h");
    assert.ok(on >= 0 && terminal.raw.indexOf("\u001b[?2004l", on) > on, "bracketed paste is off");
  }
});

test("SIGTERM in the middle of an answer ends the turn first: it is closed, and the laws hold", {
  skip: noTerminal,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Half an", upTo: 1, chunks: 2 }, { hold: "half" }]]);
  const terminal = new PersonsTerminal(t, world, world.place(server), { cols: 80, rows: 24 });
  await terminal.until(/idle ·/);
  terminal.type("go\r");
  await server.held("half");
  terminal.kill("SIGTERM");
  assert.equal(await terminal.exited, 130);
  const { stdout } = await world.pawl(["sessions", "--json", "--store", world.store]);
  const { session, status } = JSON.parse(stdout) as { session: string; status: string };
  assert.equal(status, "aborted");
  assert.equal((await world.verified(session)).code, 0);
});

test("another process drives: it is watched, and what is typed is handed over", { skip: noTerminal }, async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ text: "Thinking", upTo: 1, chunks: 2 }, { hold: "driver" }, { more: true }],
    [{ text: "Both done." }],
  ]);
  const place = world.place(server);
  const driver = world.start(["run", "go", "--session", "shared", "--json", ...place]);
  await server.held("driver");
  const watcher = new PersonsTerminal(t, world, place, { cols: 80, rows: 24 });
  await watcher.until(/drives this session: you are watching[\s\S]*watching: /);
  watcher.type("and this\t");
  await watcher.until(/⧗ waits: and this/);
  server.release("driver");
  await watcher.until(/› and this[\s\S]*Both done\.[\s\S]*✓ done[\s\S]*idle ·/);
  assert.equal((await driver.ended).code, 0);
  watcher.type("\u0004");
  assert.equal(await watcher.exited, 0);
});

test("history: kept for a folder over restarts, for its owner alone, and never in the way", (t) => {
  const world = new World(t);
  const env = { XDG_STATE_HOME: join(world.root, "state") };
  const history = new History("/a", env);
  assert.deepEqual(history.read(), []);
  history.add("one");
  history.add("two\nlines");
  history.add(" ");
  assert.deepEqual(new History("/a", env).read(), ["one", "two\nlines"]);
  assert.deepEqual(new History("/b", env).read(), []);
  const folder = join(world.root, "state", "pawl", "history");
  const [file = ""] = readdirSync(folder);
  assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  writeFileSync(join(folder, file), `${readFileSync(join(folder, file), "utf8")}"cut by a cra`);
  assert.deepEqual(new History("/a", env).read(), ["one", "two\nlines"]);
  for (let at = 0; at < 1_100; at += 1) history.add(`entry ${at}`);
  assert.equal(history.read().length, 500);
  assert.equal(history.read().at(-1), "entry 1099");
  writeFileSync(join(world.root, "no-folder"), "");
  const nowhere = new History("/a", { XDG_STATE_HOME: join(world.root, "no-folder") });
  nowhere.add("lost");
  assert.deepEqual(nowhere.read(), []);
});
