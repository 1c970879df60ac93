/** kill -9 of the agent at each moment of a command's life; then the session is taken over. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { appears, CrashWorld, gone, isAlive, killed, waiting } from "./supervisor-world.ts";

test("R61: killed in the middle of a command, the command goes on, runs once, and its real output is the result", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("none", waiting);
  await world.made("ready");
  await killed(host);
  const resumed = world.resume();
  world.letGoOn("word");
  assert.deepEqual(await resumed, { by: "reconcile", text: "before\nafter word\n[exit code 0]", isError: false });
  assert.equal(world.ran, 1);
  await gone(world.supervisor);
});

test("R61: a failed command is a failed command after the crash too", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("none", `${waiting}; exit 3`);
  await world.made("ready");
  await killed(host);
  world.letGoOn("word");
  assert.deepEqual(await world.resume(), {
    by: "reconcile",
    text: "before\nafter word\n[exit code 3]",
    isError: true,
  });
  assert.equal(world.ran, 1);
});

test("R61: killed after the command's end and before its result was recorded", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("none", waiting);
  await world.made("ready");
  host.kill("SIGSTOP");
  world.letGoOn("word");
  await appears(world.lastCall, "exit.json");
  await killed(host);
  await gone(world.supervisor);
  assert.deepEqual(await world.resume(), {
    by: "reconcile",
    text: "before\nafter word\n[exit code 0]",
    isError: false,
  });
  assert.equal(world.ran, 1);
});

test("R61: killed directly after the entry, the command is proved never to have started", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("entered", waiting);
  await world.made("entered");
  await killed(host);
  const { by, text } = await world.resume();
  assert.equal(by, "reconcile");
  assert.match(text, /^TOOL_NOT_STARTED: /);
  assert.equal(world.ran, 0);
});

test("R61: killed before the claim, a supervisor that slept meanwhile wakes and starts nothing", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("paused", waiting);
  await world.made("first");
  await appears(world.lastCall, "exit.json");
  const { supervisor } = world;
  process.kill(supervisor, "SIGSTOP");
  t.after(() => isAlive(supervisor) && process.kill(supervisor, "SIGKILL"));
  const second = new Promise<void>((resolve) => {
    const look = () => (world.calls.length === 2 ? resolve() : void setImmediate(look));
    look();
  });
  mkdirSync(join(world.work, "go"));
  await second;
  await appears(world.lastCall, "request.json");
  await killed(host);
  const { by, text } = await world.resume();
  assert.equal(by, "reconcile");
  assert.match(text, /^TOOL_NOT_STARTED: /);
  process.kill(supervisor, "SIGCONT");
  await gone(supervisor);
  assert.equal(world.ran, 0);
});

test("R65: the supervisor killed as well, the outcome is unknown, and nothing of the command is left running", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("none", `echo $$ > shell; sleep 600 & echo $! > child; ${waiting}`);
  await world.made("ready");
  await appears(world.lastCall, "group");
  await killed(host);
  process.kill(world.supervisor, "SIGKILL");
  await gone(world.supervisor);
  const { by, text } = await world.resume();
  assert.equal(by, "recovery");
  assert.match(text, /^TOOL_OUTCOME_UNKNOWN: /);
  assert.equal(world.ran, 1);
  for (const name of ["shell", "child"]) assert.equal(isAlive(Number(world.content(name))), false, name);
});

test("the deadline holds without the runtime", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("none", waiting, 3_000);
  await world.made("ready");
  await killed(host);
  const { text, isError } = await world.resume();
  assert.equal(isError, true);
  assert.match(text, /^before\n\[ended by SIGTERM\]\n\[it ran into its limit of 3000 ms and was ended/);
});

test("R72: a long output is the same after the crash as live: cut, and saved whole", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("none", `${waiting}; seq 1 20000`);
  await world.made("ready");
  await killed(host);
  world.letGoOn("word");
  const { text } = await world.resume();
  const [, path] = /the whole output is in (\S+) /.exec(text) ?? [];
  assert.ok(path !== undefined);
  const whole = readFileSync(path, "utf8");
  assert.match(whole, /^before\nafter word\n1\n2\n.*\n20000\n$/s);
  const live = world.tools()["bash"] as unknown as {
    execute(input: unknown, context: unknown): Promise<{ content: { text: string }[] }>;
  };
  const again = await live.execute(
    { command: `cat ${path}` },
    { signal: new AbortController().signal, idempotencyKey: "again", progress() {} },
  );
  const cut = /the whole output is in \S+ /;
  assert.equal(again.content[0]?.text.replace(cut, ""), text.replace(cut, ""));
});

test("a word that comes in the middle: the runtime quits, the command is ended, and the record says why", async (t) => {
  const world = new CrashWorld(t);
  const host = world.host("quit", `echo $$ > shell; ${waiting}`);
  await new Promise((resolve) => host.once("exit", resolve));
  assert.equal(isAlive(Number(world.content("shell"))), false);
  const { by, text } = await world.resume();
  assert.equal(by, "reconcile");
  assert.match(text, /^before\n\[ended by SIGTERM\]\n\[it was ended because the agent was told to quit/);
  assert.equal(world.ran, 1);
});
