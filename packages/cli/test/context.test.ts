/** A conversation that comes near the end of its window: shortened in time, seen, survived, and left by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "@pawl/model-server";
import { eventsOf, lastLine, World } from "./pawl-world.ts";

/** About 20,000 tokens: the system prompt and the tools take 2,000 or so. */
const long = (what: string) => `${what} ${"word ".repeat(16_000)}`;
const summary = { text: "The user said two long things, and was answered both times." };
const window = ["--window", "50k"];

/** The conversation that the tests go on from: two turns, together beyond four fifths of the window. */
const lengthy: Entry[] = [[{ text: long("First.") }], [{ text: long("Second.") }]];

async function conversed(world: World, place: string[]): Promise<void> {
  for (const prompt of ["one", "two"]) {
    const { code, stderr } = await world.pawl(["run", prompt, "--session", "long", ...place]);
    assert.equal(code, 0, stderr);
  }
}

test("--window: the conversation is summed up before it is full; the view and the timeline say so in a line", async (t) => {
  const world = new World(t);
  const server = await world.server([...lengthy, [summary], [{ text: "Third." }]]);
  const place = world.place(server);
  await conversed(world, place);
  const { code, stdout, stderr } = await world.pawl(["run", "three", "--session", "long", ...window, ...place]);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "Third.\n", "a summary is nobody's answer");
  const line =
    /conversation shortened, 4\d,\d{3} → 2\d,\d{3} tokens: its older part is summed up, the window was nearly full\n/;
  assert.match(stderr, /→ summing up the conversation\n/);
  assert.match(stderr, line);
  assert.match(server.requests.at(-1)?.body ?? "", /The user said two long things/);
  const show = await world.pawl(["show", "long", "--store", world.store]);
  assert.match(show.stdout, line);
  assert.match(
    show.stdout,
    /attempt 1 \(a summary\) committed after .*\n.*conversation shortened.*\n +The user said two long/,
  );
  assert.equal((await world.verified("long")).code, 0);
});

test("killed while a summary is written: nothing has changed; resume asks for it again, and goes on", async (t) => {
  const world = new World(t);
  const server = await world.server([
    ...lengthy,
    [{ text: "The user said tw", upTo: 1 }, { hold: "summing" }],
    [summary],
    [{ text: "Third." }],
  ]);
  const place = world.place(server);
  await conversed(world, place);
  const running = world.start(["run", "three", "--session", "long", "--json", ...window, ...place]);
  await server.held("summing");
  running.kill("SIGKILL");
  await running.ended;
  const before = await world.shown("long");
  assert.equal((await world.verified("long")).code, 0);
  assert.ok(!before.some((line) => line.includes("context.compacted")), "half a summary replaces nothing");
  const resumed = await world.pawl(["resume", "long", "--json", ...window, ...place]);
  assert.deepEqual([resumed.code, lastLine(resumed.stdout).text], [0, "Third."], resumed.stderr);
  const after = await world.shown("long");
  assert.deepEqual(after.slice(0, before.length), before);
  const compacted = after.filter((line) => line.includes('"context.compacted"'));
  assert.equal(compacted.length, 1);
  assert.equal((await world.verified("long")).code, 0);
  assert.deepEqual(
    server.requests.flatMap(({ verdict }) => verdict.violations),
    [],
  );
});

test("summaries that do not help: context-full with what to do; compact and continue are the way out", async (t) => {
  const world = new World(t);
  const overflow: Entry = {
    status: 400,
    error: {
      type: "invalid_request_error",
      message: "This model's maximum context length is 30000 tokens.",
      code: "context_length_exceeded",
    },
  };
  const server = await world.server([...lengthy, overflow, [{ text: long("As long.") }], [{ text: "Third." }]]);
  const place = world.place(server);
  await conversed(world, place);
  const full = await world.pawl(["run", "three", "--session", "long", ...place]);
  assert.equal(full.code, 18, full.stderr);
  assert.match(full.stderr, /The conversation is made shorter, then it is asked again\./);
  assert.match(full.stderr, /✗ The summary does not help: .*\n/);
  assert.match(full.stderr, /✗ the context is full · /);
  assert.match(
    full.stderr,
    /use a model with a larger window, or go back: pawl rewind long --store \S+\n +First: pawl compact long --store /,
  );
  assert.match(full.stderr, /To go on: pawl continue long --model openai-chat:scripted /);
  const show = await world.pawl(["show", "long", "--store", world.store]);
  assert.match(
    show.stdout,
    /the last turn ended as context-full\. To go on from there:\n {2}pawl compact long .*\n {2}pawl continue long --model openai-chat:scripted /,
  );
  const compact = await world.pawl(["compact", "long", "--keep", "0.1", "--store", world.store]);
  assert.equal(compact.code, 0, compact.stderr);
  assert.match(
    compact.stdout,
    /^the model now sees about [\d,]+ tokens of this conversation, before it was 4\d,\d{3}\n$/,
  );
  assert.match(compact.stderr, /To go on: pawl continue long --model openai-chat:scripted --store /);
  const on = await world.pawl(["continue", "long", "--json", ...place]);
  assert.deepEqual([on.code, lastLine(on.stdout).text], [0, "Third."], on.stderr);
  assert.equal(eventsOf(on.stdout).find(({ type }) => type === "turn.started")?.["continues"] !== undefined, true);
  assert.doesNotMatch(server.requests.at(-1)?.body ?? "", /First\. word/);
  assert.match(
    (await world.pawl(["show", "long", "--store", world.store])).stdout,
    /its older part is left out, on request/,
  );
  assert.equal((await world.verified("long")).code, 0);
});

test("a window that the instructions alone fill: said at once, without a request and without useless advice", async (t) => {
  const world = new World(t);
  const server = await world.server([]);
  const { code, stderr } = await world.pawl(["run", "Hi", "--window", "100", ...world.place(server)]);
  assert.equal(code, 18, stderr);
  assert.match(stderr, /Use a larger --window than 100: what goes with every request fills it alone\./);
  assert.doesNotMatch(stderr, /pawl compact/);
  assert.equal(server.requests.length, 0);
});

test("words that are no window and no share, and nothing to leave out", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Hi." }]]);
  const place = world.place(server);
  const bad = async (args: string[], says: RegExp) => {
    const { code, stderr } = await world.pawl(args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  };
  await bad(
    ["run", "Hi", "--window", "0", ...place],
    /--window.*'0'.*a number of tokens is needed, for example 128000/,
  );
  await bad(["run", "Hi", "--window", "large", ...place], /--window.*'large'.*whole number/);
  await bad(["compact", "x", "--keep", "1"], /--keep.*'1'.*a share from 0 to below 1/);
  await world.pawl(["fork", "x"]);
  assert.equal((await world.pawl(["run", "Hi", "--session", "short", ...place])).code, 0);
  await bad(
    ["compact", "short", "--keep", "0.9", "--store", world.store],
    /nothing old enough is in session short to leave out and keep 0\.9 of it; try a smaller --keep, or 0/,
  );
});
