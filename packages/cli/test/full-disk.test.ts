/** R57: a disk that fills up under the real binary. Files may not grow, until they may again. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { lastLine, World } from "./pawl-world.ts";

/** Without it nobody could make room for a process that runs. */
const skip = spawnSync("prlimit", ["--version"]).status === 0 ? false : "there is no prlimit here";

/** Room for a database and a short session, not for an answer of this length. */
const blocks = 1_000;
const answer = `It is long. ${"word ".repeat(200_000)}`;

test("paused: said with what to do; when there is room the turn goes on, and nothing was lost", { skip }, async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: answer, chunks: 20 }]]);
  const running = world.startConfined(blocks, ["run", "Say it", "--session", "s", ...world.place(server)]);
  await running.said(/Paused: /);
  const made = spawnSync("prlimit", ["--pid", String(running.process.pid), "--fsize=unlimited"]);
  assert.equal(made.status, 0, String(made.stderr));
  const { code, stdout, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /! Paused: .*pawl\.db could not be written.*make room.*\n {2}It goes on by itself once there is room\. Ctrl-C gives up; `pawl resume` goes on later\.\n/,
  );
  assert.match(stderr, /✓ There is room again: going on\. Nothing was lost\.\n/);
  assert.equal(stdout, `${answer.trim()}\n`);
  assert.equal(server.requests.length, 1);
  assert.equal((await world.verified("s")).code, 0);
});

test("Ctrl-C while paused gives up with the way back: resume takes the turn up once there is room", {
  skip,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: answer }], [{ text: "Short." }]]);
  const place = world.place(server);
  const running = world.startConfined(blocks, ["run", "Say it", "--session", "s", "--json", ...place]);
  await running.said(/pawl: Paused: /);
  running.kill("SIGINT");
  const { code, stdout, stderr } = await running.ended;
  assert.equal(code, 5, stderr);
  assert.match(
    stderr,
    /\npawl: .*; the turn is kept, when there is room: pawl resume s --model openai-chat:scripted --base-url http.*\n$/,
  );
  assert.equal(lastLine(stdout).error?.code, "STORE_FULL");
  const resumed = await world.pawl(["resume", "s", "--json", ...place]);
  assert.deepEqual([resumed.code, lastLine(resumed.stdout).ok], [0, true], resumed.stderr);
  assert.equal((await world.verified("s")).code, 0);
});
