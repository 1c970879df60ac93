/** `pawl continue`, and what `pawl show` says of a session that stands still. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openSession } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { PROTOCOLS } from "@pawl/model-server";
import { eventsOf, lastLine, providerOf, World } from "./pawl-world.ts";

test("continue: a turn that was rate-limited is followed without an input; what had completed is not", async (t) => {
  const world = new World(t);
  const limited = { status: 429, headers: { "retry-after": "9999" } };
  const server = await world.server([
    [{ text: "I look." }, { call: "ls", input: {} }],
    limited,
    [{ text: "It is empty." }],
  ]);
  const place = world.place(server);
  const first = await world.pawl(["run", "What is here?", "--session", "s", ...place]);
  assert.equal(first.code, 12, first.stderr);
  const [, command = ""] = /To go on: pawl (.*)\n/.exec(first.stderr) ?? [];
  const on = await world.pawl([...command.split(" "), "--json"]);
  assert.equal(on.code, 0, on.stderr);
  assert.equal(lastLine(on.stdout).text, "It is empty.");
  const started = eventsOf(on.stdout).filter(({ type }) => type === "turn.started");
  assert.deepEqual(
    started.map(({ inputs, continues }) => [inputs, typeof continues]),
    [[[], "string"]],
  );
  assert.equal((await world.verified("s")).code, 0);
  const again = await world.pawl(["continue", "s", "--json", ...place]);
  assert.equal(again.code, 2);
  assert.match(
    again.stderr,
    /^pawl: session s has nothing to continue: its last turn completed; give it an input with `pawl run --session s`\n$/,
  );
  assert.deepEqual([lastLine(again.stdout).error?.exit, lastLine(again.stdout).session], [2, "s"]);
  const missing = await world.pawl(["continue", "t", "--json", ...place]);
  assert.deepEqual([missing.code, lastLine(missing.stdout).error?.code], [3, "SESSION_NOT_FOUND"]);
  const words = await world.pawl(["continue", "s", "--json", "--store", world.store]);
  assert.deepEqual([words.code, lastLine(words.stdout).error?.code], [2, "INVALID_INPUT"]);
});

for (const protocol of PROTOCOLS) {
  test(`${protocol}: killed in a sentence; show gives the whole command; continue closes the turn and goes on`, async (t) => {
    const world = new World(t);
    const server = await world.server([
      [{ text: "Let me say it.", chunks: 2, upTo: 1 }, { hold: "here" }],
      [{ text: "Here it is." }],
    ]);
    const place = world.place(server, protocol);
    const running = world.start(["run", "Say it", "--session", "s", ...place]);
    await server.held("here");
    running.kill("SIGKILL");
    await running.ended;
    const { stdout } = await world.pawl(["show", "s", "--store", world.store]);
    const model = `${providerOf[protocol]}:scripted`;
    assert.match(stdout, new RegExp(`interrupted: .*\n  pawl resume s --model ${model} --store `));
    const on = await world.pawl(["continue", "s", "--json", ...place]);
    assert.deepEqual([on.code, lastLine(on.stdout).text], [0, "Here it is."], on.stderr);
    assert.deepEqual(
      eventsOf(on.stdout).flatMap(({ type, outcome }) => (type === "turn.ended" ? [outcome] : [])),
      [{ type: "interrupted" }, { type: "completed" }],
    );
    assert.deepEqual(
      server.requests.flatMap(({ verdict }) => verdict.violations),
      [],
    );
    assert.equal((await world.verified("s")).code, 0);
  });
}

test("show names the inputs that wait, as they stand after an edit, by the ids that change them", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Hi." }]]);
  await world.pawl(["run", "Hi", "--session", "s", ...world.place(server)]);
  const runtime = await openRuntime({ dir: world.store });
  const session = await openSession(runtime, "s");
  await session.post("input", "Then write the docs", "later");
  await session.post("input", "No", "never");
  await session.edit("later", "Then write the tests");
  await session.withdraw("never");
  await session.post("steer", "Be brief", "hint");
  await runtime.store.close();
  const { stdout } = await world.pawl(["show", "s", "--store", world.store]);
  assert.match(
    stdout,
    /\n2 inputs not begun since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d: a worker, or the next run, resume or continue, takes it up first\.\n {2}later prompt: Then write the tests\n {2}hint steer: Be brief\n$/,
  );
});

test("a provider that refuses its own state: it is left out from then on, and the view and the timeline say so", async (t) => {
  const world = new World(t);
  const message = "messages.1.content.0: Invalid `signature` in `thinking` block";
  const server = await world.server([
    [{ reason: "First look." }, { text: "I look." }, { call: "ls", input: {} }],
    { status: 400, error: { type: "invalid_request_error", message } },
    [{ text: "It is empty." }],
  ]);
  const place = world.place(server, "anthropic");
  const { code, stderr } = await world.pawl(["run", "What is here?", "--session", "s", ...place]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /The provider's earlier state is left out, then it is asked again\.\n/);
  const line =
    /anthropic\.messages refused its own earlier state \(.*Invalid `signature`.*\): it is left out from now on\n/;
  assert.match(stderr, line);
  assert.match((await world.pawl(["show", "s", "--store", world.store])).stdout, line);
  assert.equal((await world.verified("s")).code, 0);
});
