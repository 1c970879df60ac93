/** The whole of `pawl`, killed in the middle of a command and resumed. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { World } from "./pawl-world.ts";
import { appears, isAlive, waiting } from "./supervisor-world.ts";

test("R61: pawl run is killed in the middle of a command: pawl resume has its real output, and it ran once", async (t) => {
  const world = new World(t);
  execFileSync("mkfifo", [join(world.work, "pipe")]);
  const server = await world.server([[{ call: "bash", input: { command: waiting } }], [{ text: "Done." }]]);
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
  const settled = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type?: string; by?: string; output?: unknown })
    .find(({ type }) => type === "tool.settled");
  assert.equal(settled?.by, "reconcile");
  assert.deepEqual(settled?.output, {
    content: [{ type: "text", text: "before\nafter word\n[exit code 0]" }],
    isError: false,
  });
  assert.equal(readFileSync(join(world.work, "count"), "utf8"), "ran\n");
  assert.equal((await world.pawl(["verify", "s", "--store", world.store])).code, 0);
});

test("R61: killed in the middle of a command, pawl settle waits for its real output, closes the turn and asks no model", async (t) => {
  const world = new World(t);
  execFileSync("mkfifo", [join(world.work, "pipe")]);
  const server = await world.server([[{ call: "bash", input: { command: waiting } }], [{ text: "Done." }]]);
  const first = world.start(["run", "Go", "--yes", "--session", "s", "--json", ...world.place(server)]);
  await appears(world.work, "ready", first.ended);
  first.kill("SIGKILL");
  await first.ended;
  const settling = world.pawl(["settle", "s", "--store", world.store]);
  const writer = spawn("/bin/sh", ["-c", "echo word > pipe"], { cwd: world.work, stdio: "ignore" });
  t.after(() => writer.kill("SIGKILL"));
  const { code, stdout, stderr } = await settling;
  assert.equal(code, 0, stderr);
  assert.match(stdout, /✓ by reconcile · bash .*: 3 lines\n.*step ended\n.*turn ended: interrupted/);
  assert.match(
    stderr,
    /^pawl: bash was running when its process died: looking for its result\nTo go on: pawl continue s /,
  );
  assert.equal(server.requests.length, 1);
  assert.equal(readFileSync(join(world.work, "count"), "utf8"), "ran\n");
  assert.equal((await world.verified("s")).code, 0);
  const again = await world.pawl(["settle", "s", "--store", world.store]);
  assert.equal(again.code, 2);
  assert.match(
    again.stderr,
    /has no open turn to close; its last turn ended as interrupted: follow it with `pawl continue s`/,
  );
});

test("R65: SIGTERM ends the command of pawl run with its turn", async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ call: "bash", input: { command: "echo $$ > shell; touch ready; sleep 600" } }],
    [{ text: "Done." }],
  ]);
  const run = world.start(["run", "Go", "--yes", "--session", "s", "--json", ...world.place(server)]);
  await appears(world.work, "ready", run.ended);
  run.kill("SIGTERM");
  const { code } = await run.ended;
  assert.equal(code, 130);
  assert.equal(isAlive(Number(readFileSync(join(world.work, "shell"), "utf8"))), false);
});
