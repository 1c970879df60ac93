/**
 * R61, R65: a command belongs to its machine. Real supervisors, two machines with folders of their own, one store: whatever the moment at
 * which alpha goes away, beta claims nothing that it cannot know, and alpha, coming back, knows.
 */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { commandsOf } from "./supervisor-machine.ts";
import { CrashWorld, killed, type Settled, waiting } from "./supervisor-world.ts";

const moments = ["request.json", "claim", "group", "output", "exit.json"];
const command = "echo ran >> count; echo said";

/** Beta has been there for longer than the call: nothing is missing in its folder, and that proves nothing. */
function standing(t: TestContext): CrashWorld {
  const world = new CrashWorld(t);
  world.tools(commandsOf(world.top, "beta"));
  return world;
}

function assertElsewhere({ by, text, isError }: Settled, world: CrashWorld): void {
  const folder = join(commandsOf(world.top, "alpha"), "");
  assert.deepEqual([by, isError], ["recovery", true], text);
  assert.match(text, /^TOOL_OUTCOME_UNKNOWN: This call was started on the host alpha, /);
  assert.ok(text.includes(` on alpha, at ${folder}`), text);
}

/** The folder of the one call, once it holds `name`. Looks as fast as it can: a watcher would see it when all is over. */
async function called(dir: string, name: string, host: ChildProcess): Promise<void> {
  for (;;) {
    const calls = existsSync(dir) ? readdirSync(dir, { withFileTypes: true }) : [];
    const folder = calls.find((entry) => entry.isDirectory());
    if (folder && existsSync(join(dir, folder.name, name))) return;
    assert.equal(host.exitCode, null, "the host must not get to its end unseen");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

for (const moment of moments) {
  test(`R61: alpha is killed when ${moment} appears; beta says that it does not know, and where to look`, async (t) => {
    const world = standing(t);
    // The result stays away from the log: the process stops with the command.
    const host = world.host("open", moment === "exit.json" ? waiting : command, 60_000, "alpha");
    const dir = commandsOf(world.top, "alpha");
    if (moment === "exit.json") {
      await world.made("ready");
      host.kill("SIGSTOP");
      world.letGoOn("word");
    }
    await called(dir, moment, host);
    await killed(host);
    const settled = await world.resume("beta");
    // Quicker than the kill, the body itself may have recorded its result.
    if (settled.by === "tool") assert.equal(settled.text, "said\n[exit code 0]");
    else assertElsewhere(settled, world);
    assert.ok(world.ran <= 1);
  });
}

test("R61: killed directly after the entry, beta does not say that the command never began", async (t) => {
  const world = standing(t);
  const host = world.host("entered", command, 60_000, "alpha");
  await world.made("entered");
  await killed(host);
  assertElsewhere(await world.resume("beta"), world);
  assert.equal(world.ran, 0);
});

test("R61: alpha comes back, and still proves it", async (t) => {
  const world = standing(t);
  const host = world.host("entered", command, 60_000, "alpha");
  await world.made("entered");
  await killed(host);
  const { by, text } = await world.resume("alpha");
  assert.equal(by, "reconcile");
  assert.match(text, /^TOOL_NOT_STARTED: /);
  assert.equal(world.ran, 0);
});

test("R61: alpha comes back, waits for the command that goes on there, and gives its real output", async (t) => {
  const world = standing(t);
  const host = world.host("none", waiting, 60_000, "alpha");
  await world.made("ready");
  await killed(host);
  const resumed = world.resume("alpha");
  world.letGoOn("word");
  assert.deepEqual(await resumed, { by: "reconcile", text: "before\nafter word\n[exit code 0]", isError: false });
  assert.equal(world.ran, 1);
});

test("beta settles while the command goes on at alpha: it is neither waited for nor run again", async (t) => {
  const world = standing(t);
  const host = world.host("none", waiting, 60_000, "alpha");
  await world.made("ready");
  await killed(host);
  assertElsewhere(await world.resume("beta"), world);
  world.letGoOn("word");
  await called(commandsOf(world.top, "alpha"), "exit.json", host);
  assert.equal(world.ran, 1);
});

test("a call that was never entered runs at beta, once, and belongs to it", async (t) => {
  const world = standing(t);
  const host = world.host("asked", command, 60_000, "alpha");
  await world.made("asked");
  await killed(host);
  const { by, text } = await world.resume("beta");
  assert.deepEqual([by, text, world.ran], ["tool", "said\n[exit code 0]", 1]);
  assert.deepEqual(foldersIn(commandsOf(world.top, "alpha")), []);
  assert.equal(foldersIn(commandsOf(world.top, "beta")).length, 1);
});

test("a folder that both machines share proves nothing at beta: whether files there exclude each other is not known", async (t) => {
  const world = standing(t);
  const host = world.host("entered", command, 60_000, "alpha");
  await world.made("entered");
  await killed(host);
  assertElsewhere(await world.resume("beta", commandsOf(world.top, "alpha")), world);
  assert.deepEqual(foldersIn(commandsOf(world.top, "alpha")), [], "no claim is left there");
});

test("a copy of the folder on the same machine is another place", async (t) => {
  const world = standing(t);
  const host = world.host("entered", command, 60_000, "alpha");
  await world.made("entered");
  await killed(host);
  const copy = join(world.top, "copy", "commands");
  mkdirSync(join(copy, ".."));
  cpSync(commandsOf(world.top, "alpha"), copy, { recursive: true, preserveTimestamps: true });
  assertElsewhere(await world.resume("alpha", copy), world);
});

function foldersIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
}
