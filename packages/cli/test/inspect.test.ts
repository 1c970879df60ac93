/** `pawl sessions`, `show`, `verify` and `--fork-from`: what they show, and that looking changes nothing. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type LoggedEvent, lastLine, World } from "./pawl-world.ts";

test("looking into a store that is not there says so and makes nothing", async (t) => {
  const world = new World(t);
  const missing = join(world.root, "a", "b");
  const empty = join(world.root, "empty");
  mkdirSync(empty);
  for (const store of [missing, empty]) {
    const list = await world.pawl(["sessions", "--store", store]);
    assert.deepEqual([list.code, list.stdout], [0, `no sessions in ${store}; \`pawl run\` makes one\n`]);
    for (const command of ["show", "verify"]) {
      const { code, stderr } = await world.pawl([command, "x", "--store", store]);
      assert.equal(code, 3);
      assert.match(stderr, /^pawl: there is no session "x"/);
    }
  }
  assert.ok(!existsSync(missing));
  assert.deepEqual(readdirSync(empty), []);
  assert.deepEqual(readdirSync(world.env["HOME"] ?? ""), []);
});

test("the store is found by --store, then $PAWL_STORE, then the XDG data folder", async (t) => {
  const world = new World(t);
  const place = async (env: NodeJS.ProcessEnv, args: string[] = []) =>
    (await world.pawl(["sessions", ...args], env)).stdout.replace(/^no sessions in (.*);.*\n$/, "$1");
  assert.equal(await place({}), join(world.env["XDG_DATA_HOME"] ?? "", "pawl"));
  assert.equal(await place({ XDG_DATA_HOME: "relative" }), join(world.env["HOME"] ?? "", ".local/share/pawl"));
  assert.equal(await place({ PAWL_STORE: "/tmp/p" }), "/tmp/p");
  assert.equal(await place({ PAWL_STORE: "/tmp/p" }, ["--store", "/tmp/q"]), "/tmp/q");
});

test("the timeline shows waits, durations and what each request has cost", async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ text: "Half" }, { end: true }],
    [{ text: "I look." }, { call: "ls", input: {} }, { usage: { input: 1200, output: 30 } }],
    [{ text: "Done." }, { usage: { input: 1300, output: 4 } }],
  ]);
  await world.pawl(["run", "Look around", "--session", "line", ...world.place(server)]);
  const { code, stdout } = await world.pawl(["show", "line", "--store", world.store]);
  assert.equal(code, 0);
  const parts = [
    / 1 +session in .*work/,
    / 2 +prompt: Look around/,
    / 3 +turn t_\w+, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/,
    /\d+ ms {2}step 1/,
    /attempt 1 discarded after \d+ ms · about 2 tokens out\n +The connection broke: .*\n +discard, waits \d+ ms: nothing was committed/,
    /attempt 2 committed after \d+ ms · 30 tokens out/,
    /says: I look\.\n +calls ls\n/,
    /✓ \d+ ms · ls: /,
    /turn ended: done/,
    /1 turn · 2 steps · 1 tool run · 2 requests · 2,500 tokens in, 34 out\nand 1 request lost on the way · about [\d,]+ tokens in, 2 out/,
  ];
  for (const part of parts) assert.match(stdout, part);
});

test("sessions are aligned, the latest first, and a limit is said", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Hi." }], { status: 400 }, [{ text: "Hi." }]]);
  for (const [session, prompt] of [
    ["a", "one"],
    ["a-much-longer-name", "two"],
    ["b", "three"],
  ])
    await world.pawl(["run", prompt ?? "", "--session", session ?? "", ...world.place(server)]);
  const { stdout } = await world.pawl(["sessions", "--store", world.store]);
  const lines = stdout.trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => line.replace(/\d{4}-\d\d-\d\d \d\d:\d\d/, "MOMENT")),
    [
      "b                   MOMENT  completed  three",
      "a-much-longer-name  MOMENT  failed     two",
      "a                   MOMENT  completed  one",
    ],
  );
  const limited = await world.pawl(["sessions", "--limit", "2", "--store", world.store]);
  assert.match(limited.stdout, /^b .*\na-much.*\nthe latest 2; more with --limit, --all, or --cursor \d+:\S+\n$/);
});

test("--fork-from: the child has the history up to the cut, the parent stays as it was, byte for byte", async (t) => {
  const world = new World(t);
  const server = await world.server({ entries: [[{ text: "Yes." }]], loop: true });
  const place = world.place(server);
  const run = (prompt: string, ...args: string[]) => world.pawl(["run", prompt, "--json", ...args, ...place]);
  await run("first question", "--session", "parent");
  const second = await run("second question", "--session", "parent");
  const before = await world.shown("parent");
  const turn = lastLine(second.stdout).turn ?? "";

  const cuts: [string, boolean][] = [
    ["parent", true],
    ["parent:1", false],
    [`parent:${turn}`, true],
  ];
  for (const [index, [from, hasSecond]] of cuts.entries()) {
    const child = `child${index}`;
    const { code, stdout } = await run("third question", "--fork-from", from, "--session", child);
    assert.deepEqual([code, lastLine(stdout).session], [0, child]);
    const body = server.requests.at(-1)?.body ?? "";
    assert.match(body, /first question.*third question/s);
    assert.equal(body.includes("second question"), hasSecond, from);
    const shown = await world.shown(child);
    const cut = shown.findIndex((line) => line.includes('"parent":'));
    assert.deepEqual(shown.slice(0, cut), before.slice(0, cut));
    assert.equal((JSON.parse(stdout.split("\n")[0] ?? "") as LoggedEvent).type, "session.created");
    assert.equal((await world.verified(child)).code, 0);
  }
  assert.deepEqual(await world.shown("parent"), before);
});

test("verify tells each law, also to a program", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Hi." }]]);
  await world.pawl(["run", "Hi", "--session", "v", ...world.place(server)]);
  const { code, stdout } = await world.verified("v");
  assert.equal(code, 0);
  assert.match(stdout, /✓ L1 .*\n(✓ L\d+ .*\n){9}\d+ events, checksums good, 0 of 10 laws broken\n$/);
  const json = await world.pawl(["verify", "v", "--json", "--store", world.store]);
  const { ok, verdicts } = JSON.parse(json.stdout) as { ok: boolean; verdicts: unknown[] };
  assert.deepEqual([ok, verdicts.length], [true, 10]);
});

test("the version is said without the runtime, and help names every exit code", async (t) => {
  const world = new World(t);
  const version = await world.pawl(["--version"], { NODE_DEBUG: "esm" });
  assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
  assert.doesNotMatch(version.stderr, /packages\/core\/src|provider-utils/);
  const { stdout } = await world.pawl(["--help"]);
  for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 130, 141])
    assert.match(stdout, new RegExp(`(^|\\s)${code} {1,2}\\S`, "m"), `exit code ${code}`);
});
