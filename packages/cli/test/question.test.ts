/** A person at a real terminal who is asked whether a call may run, also by the process that took over. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { openSession, type Session } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { lastLine, World } from "./pawl-world.ts";

const skip = spawnSync("script", ["--version"]).status === 0 ? false : "there is no script(1) here";
const asking = [{ text: "I would." }, { call: "bash", input: { command: "echo hi > made.txt" } }];

test("asked at a terminal: the command is shown before, a yes runs it", { skip }, async (t) => {
  const world = new World(t);
  const server = await world.server([asking, [{ text: "Done." }]]);
  const { code, stdout } = await world.inTerminal("y\n", ["run", "Go", "--session", "s", ...world.place(server)]);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /I would\.\n\n\? bash echo hi > made\.txt\n {2}│ echo hi > made\.txt\n {2}Allow this\? /);
  assert.equal(world.read("made.txt"), "hi\n");
});

test("a question whose process died is asked again by the one that resumes, and an answer by then is taken", {
  skip,
}, async (t) => {
  for (const way of ["typed", "posted"]) {
    const world = new World(t);
    const server = await world.server([[{ text: "Hi." }], asking, [{ text: "Done." }]]);
    const place = world.place(server);
    await world.pawl(["run", "Hi", "--session", "s", ...place]);
    const runtime = await openRuntime({ dir: world.store });
    const session = await openSession(runtime, "s");
    const first = world.inTerminal("", ["run", "Go", "--session", "s", ...place]);
    const approval = await asked(session);
    const { lease } = (await session.summary()) ?? {};
    assert.ok(lease);
    process.kill(lease.holder.pid, "SIGKILL");
    await first;
    if (way === "posted") await session.answer(approval, "allow", { by: "test" });
    await runtime.store.close();
    const args = ["resume", "s", ...place];
    const resumed = way === "typed" ? await world.inTerminal("y\n", args) : await world.pawl([...args, "--json"]);
    assert.equal(resumed.code, 0, resumed.stdout);
    if (way === "typed") assert.match(resumed.stdout, /Allow this\? .*Done\./s);
    else assert.equal(lastLine(resumed.stdout).text, "Done.");
    assert.equal(world.read("made.txt"), "hi\n");
    assert.equal((await world.verified("s")).code, 0);
  }
});

/** Resolves with the question that the process under way has recorded. */
async function asked(session: Session): Promise<string> {
  const end = new AbortController();
  for await (const { event } of session.follow({ signal: end.signal })) {
    if (event.type !== "approval.requested") continue;
    end.abort();
    return event.approval;
  }
  return assert.fail("nothing was asked");
}

test("two calls of one message are asked about one after the other, and each answer is for its own", {
  skip,
}, async (t) => {
  const world = new World(t);
  const server = await world.server([
    [
      { call: "bash", input: { command: "touch first.txt" } },
      { call: "bash", input: { command: "touch second.txt" } },
    ],
    [{ text: "Done." }],
  ]);
  const { code, stdout } = await world.atTerminal(
    [
      [/.*first\.txt.*Allow this\? /s, "n\n"],
      [/.*second\.txt.*Allow this\? /s, "y\n"],
    ],
    ["run", "Go", "--session", "s", ...world.place(server)],
  );
  assert.equal(code, 0, stdout);
  assert.throws(() => world.read("first.txt"));
  assert.equal(world.read("second.txt"), "");
  assert.match(stdout, /touch first\.txt[^?]*Allow this\? [^?]*\? bash touch second\.txt/s);
});
