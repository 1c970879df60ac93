/** Bad input and a bad world: one clear line each (what, the value seen, what to do), a documented code, nothing lost. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import type { Failure } from "@pawl/core";
import { adviceOn } from "../src/advice.ts";
import { exitHelp } from "../src/exit.ts";
import { type Ended, lastLine, quickTimers, World } from "./pawl-world.ts";

/** One line on standard error that names what was seen; the code stands in the help. */
function refused({ code, stdout, stderr }: Ended, expected: number, says: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, /^pawl: [^\n]+\n$/);
  assert.match(stderr, says);
  assert.doesNotMatch(stdout + stderr, /\n\s+at |undefined|\[object/);
  assert.match(exitHelp, new RegExp(`^ *${expected} `, "m"));
}

const model = ["--model", "openai:gpt-5"];

const words: [string, string[], number, RegExp][] = [
  ["no key", ["run", "Hi", ...model], 2, /no API key: set OPENAI_API_KEY.*--api-key-env.*--base-url/],
  [
    "a key variable that is not set",
    ["run", "Hi", ...model, "--api-key-env", "NOPE"],
    2,
    /--api-key-env NOPE: .*export/,
  ],
  [
    "an unknown provider",
    ["run", "Hi", "--model", "acme:1"],
    2,
    /--model "acme:1": .*anthropic, openai, openai-chat.*npm install/,
  ],
  ["a model without a provider", ["run", "Hi", "--model", "gpt-5"], 2, /--model "gpt-5": write PROVIDER:ID/],
  ["a model without an id", ["run", "Hi", "--model", "openai:"], 2, /--model "openai:": write PROVIDER:ID/],
  ["a prototype's name as a provider", ["run", "Hi", "--model", "constructor:x"], 2, /--model "constructor:x"/],
  ["no model", ["run", "Hi"], 2, /no model: set one of .*--local.*--model PROVIDER:ID.*pawl demo/],
  [
    "a base URL without http",
    ["run", "Hi", ...model, "--base-url", "localhost:8080"],
    2,
    /--base-url "localhost:8080" is no/,
  ],
  [
    "a base URL that is none",
    ["run", "Hi", ...model, "--base-url", "nonsense"],
    2,
    /--base-url "nonsense" is no URL.*http:/,
  ],
  ["an unknown option", ["run", "Hi", ...model, "--fast"], 2, /unknown option '--fast'.*pawl run --help/],
  [
    "an idle time that is no number",
    ["run", "Hi", ...model, "--idle-ms", "soon"],
    2,
    /--idle-ms.*'soon'.*whole number/,
  ],
  ["a prompt too many", ["run", "Hi", "you", ...model], 2, /too many arguments.*pawl run --help/],
  ["no prompt", ["run", ...model], 2, /missing required argument 'prompt'/],
  ["an unknown command", ["frobnicate"], 2, /unknown command 'frobnicate'.*pawl --help/],
];

for (const [what, args, code, says] of words) {
  test(`${what} is one clear line`, async (t) => {
    const world = new World(t);
    const store = join(world.root, "none");
    refused(await world.pawl(args, { PAWL_STORE: store }), code, says);
    assert.ok(!existsSync(store), "bad words made a store");
  });
}

test("with --json, bad words have a summary as their last line, too", async (t) => {
  const world = new World(t);
  for (const args of [["Hi", "--model", "acme:1"], ["Hi", ...model, "--fast"], ["Hi"]]) {
    const { code, stdout, stderr } = await world.pawl(["run", ...args, "--json"]);
    const { ok, outcome, usage, error } = lastLine(stdout);
    const expected = [2, false, null, { input: 0, output: 0 }, "INVALID_INPUT"];
    assert.deepEqual([code, ok, outcome, usage, error?.code], expected);
    assert.equal(`pawl: ${error?.message}\n`, stderr);
  }
});

/** A world with a key that is never used, and one session of one turn. */
async function furnished(t: TestContext): Promise<{ world: World; place: string[]; at: string[] }> {
  const world = new World(t, quickTimers);
  const server = await world.server({ entries: [[{ text: "Hello." }]], loop: true });
  const place = world.place(server);
  const { code, stderr } = await world.pawl(["run", "Hello", "--session", "good", ...place]);
  assert.equal(code, 0, stderr);
  return { world, place, at: ["--store", world.store] };
}

test("sessions that are not there, and ids that are none", async (t) => {
  const { world, place, at } = await furnished(t);
  for (const args of [
    ["show", "nope", ...at],
    ["verify", "nope", ...at],
    ["resume", "nope", ...place],
    ["run", "Hi", "--fork-from", "nope", ...place],
  ])
    refused(await world.pawl(args), 3, /no session "nope"; `pawl sessions` lists them/);
  for (const args of [
    ["run", "Hi", "--session", "../../etc/passwd", ...place],
    ["show", "../../etc/passwd", ...at],
    ["resume", "../../etc/passwd", ...place],
    ["run", "Hi", "--fork-from", "../../etc/passwd", ...place],
  ])
    refused(await world.pawl(args), 2, /"\.\.\/\.\.\/etc\/passwd" cannot be a session id; use 1 to 64 characters/);
  refused(
    await world.pawl(["run", "Hi", "--fork-from", "good:7", ...place]),
    2,
    /good:7: session good has 1 ended turn/,
  );
  refused(
    await world.pawl(["run", "Hi", "--fork-from", "good", "--session", "good", ...place]),
    2,
    /session good: a session cannot be its own parent/,
  );
  refused(await world.pawl(["resume", "good", ...place]), 2, /good has no interrupted turn.*pawl run --session good/);
  const { stdout } = await world.pawl(["sessions", "--json", ...at]);
  assert.equal(stdout.trim().split("\n").length, 1, "a refusal left a session behind");
});

test("an empty prompt, a workspace that is none: refused before anything is made", async (t) => {
  const { world, place, at } = await furnished(t);
  for (const prompt of ["", "  \n"])
    refused(await world.pawl(["run", prompt, ...place]), 2, /the prompt is empty.*say what/);
  const file = join(world.root, "file");
  writeFileSync(file, "");
  for (const cwd of [file, join(world.root, "nope")])
    refused(
      await world.pawl(["run", "Hi", ...place, "--cwd", cwd]),
      2,
      /--cwd \/.* is not a folder; name one that exists/,
    );
  const { stdout } = await world.pawl(["sessions", "--json", ...at]);
  assert.equal(stdout.trim().split("\n").length, 1);
});

test("a store that cannot be written: the path and what to do, also as a summary", async (t) => {
  const world = new World(t);
  const server = await world.server([]);
  const file = join(world.root, "file");
  writeFileSync(file, "");
  for (const store of [file, join(file, "below")]) {
    const args = ["run", "Hi", "--json", "--session", "x", ...world.place(server), "--store", store];
    const ended = await world.pawl(args);
    const last = lastLine(ended.stdout);
    assert.deepEqual([last.ok, last.outcome, last.session, last.error?.exit], [false, null, "x", 5]);
    refused({ ...ended, stdout: "" }, 5, new RegExp(`cannot (use|write) ${store}.*check`));
  }
  assert.equal(server.requests.length, 0);
  assert.equal(readFileSync(file, "utf8"), "");
});

test("a URL where nobody listens: the failure names it, the retries are seen, the turn ends", async (t) => {
  const world = new World(t, quickTimers);
  const closed = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => closed.once("listening", resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const url = `http://127.0.0.1:${port}/v1`;
  const args = [
    "run",
    "Hi",
    "--model",
    "openai-chat:x",
    "--base-url",
    url,
    "--cwd",
    world.work,
    "--store",
    world.store,
  ];
  const { code, stderr, stdout } = await world.pawl(args);
  assert.deepEqual([code, stdout], [10, ""]);
  assert.match(stderr, new RegExp(`No connection to the model at ${url}: .*ECONNREFUSED`));
  assert.match(stderr, /Trying again in .* \(attempt 6 of 6\)/);
  assert.match(stderr, new RegExp(`Is a server running at ${url}\\?`));
});

test("a path that the server does not know: not tried again, the URL is named", async (t) => {
  const world = new World(t);
  const server = await world.server([]);
  const url = `${server.url}/wrong`;
  const args = [
    "run",
    "Hi",
    "--model",
    "openai-chat:x",
    "--base-url",
    url,
    "--cwd",
    world.work,
    "--store",
    world.store,
  ];
  const { code, stderr } = await world.pawl(args);
  assert.equal(code, 10);
  assert.match(stderr, new RegExp(`rejected the request at ${url}: 404 `));
  assert.match(stderr, /Check the model's id and --base-url/);
  assert.doesNotMatch(stderr, /Trying again/);
});

/** Flips the last byte of one record's payload. */
function damage(world: World, session: string, seq: number): void {
  const db = new DatabaseSync(join(world.store, "pawl.db"));
  const row = db
    .prepare("SELECT r.at, r.payload FROM record r JOIN session s ON r.at = (s.key << 32) + ? WHERE s.id = ?")
    .get(seq, session);
  const payload = Uint8Array.from(row?.["payload"] as Uint8Array);
  payload[payload.length - 2] = (payload.at(-2) ?? 0) ^ 1;
  db.prepare("UPDATE record SET payload = ? WHERE at = ?").run(payload, row?.["at"] ?? null);
  db.close();
}

test("a damaged record: shown up to it, driven no further, and the other sessions are as usable as before", async (t) => {
  const { world, place, at } = await furnished(t);
  await world.pawl(["run", "Hello", "--session", "bad", ...place]);
  await world.pawl(["run", "Hello", "--session", "bad", ...place]);
  const whole = await world.shown("bad");
  damage(world, "bad", 12);

  const says =
    /session bad is readable up to record 11 and damaged after it \(session bad, record 12 .*checksum.*\); .*--fork-from bad:N/;
  const show = await world.pawl(["show", "bad", ...at]);
  assert.match(show.stdout, /turn ended: done/);
  refused({ ...show, stdout: "" }, 6, says);
  const json = await world.pawl(["show", "bad", "--json", ...at]);
  assert.deepEqual([json.code, json.stdout.trimEnd().split("\n")], [6, whole.slice(0, 11)]);
  const verify = await world.pawl(["verify", "bad", ...at]);
  assert.match(verify.stdout, /✓ L1 .*11 events, then the damage, 0 of \d+ laws broken/s);
  refused({ ...verify, stdout: "" }, 6, says);

  refused(await world.pawl(["run", "Go on", "--session", "bad", ...place]), 6, /session bad, record 12 .*checksum/);
  refused(await world.pawl(["resume", "bad", ...place]), 6, /session bad, record 12 .*checksum/);
  assert.equal((await world.pawl(["run", "Go on", "--session", "good", ...place])).code, 0);
  assert.equal((await world.pawl(["run", "Go on", "--fork-from", "bad:1", "--session", "healed", ...place])).code, 0);
  assert.equal((await world.verified("healed")).code, 0);
});

test("a database that is damaged, or none: named, and not touched", async (t) => {
  const world = new World(t);
  const server = await world.server([]);
  mkdirSync(world.store);
  const file = join(world.store, "pawl.db");
  const content = "this is no database, and it is longer than the header of one. ".repeat(40);
  writeFileSync(file, content);
  for (const args of [["sessions"], ["show", "x"], ["verify", "x"]])
    refused(await world.pawl([...args, "--store", world.store]), 6, /pawl\.db is not a database.*move it away/);
  refused(await world.pawl(["run", "Hi", ...world.place(server)]), 6, /pawl\.db is not a database.*move it away/);
  assert.equal(readFileSync(file, "utf8"), content);
});

test("a second process on the same session: the pid and what to do; the first goes on undisturbed", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "I am " }, { hold: "busy" }, { text: "still here." }]]);
  const place = [...world.place(server), "--session", "one"];
  const first = world.start(["run", "Hello", "--json", ...place]);
  await server.held("busy");
  const says = new RegExp(
    `session one is being driven by process ${first.process.pid} on .*wait until it ends, or fork`,
  );
  refused(await world.pawl(["run", "Me too", ...place]), 4, says);
  refused(await world.pawl(["resume", "one", ...world.place(server)]), 4, says);
  assert.match((await world.pawl(["sessions", "--store", world.store])).stdout, /^one .* running /);
  server.release("busy");
  const { code, stdout } = await first.ended;
  assert.deepEqual([code, lastLine(stdout).text], [0, "I am still here."]);
  assert.equal(server.requests.length, 1);
  assert.doesNotMatch((await world.shown("one")).join("\n"), /Me too/);
});

test("a host that cannot be looked up: the network is to blame, not a server that does not run", () => {
  const outcome = { type: "failed" } as const;
  const hintFor = (url: string) => {
    const failure: Failure = { kind: "connect", retryable: true, message: "getaddrinfo", code: "ENOTFOUND" };
    return adviceOn({ outcome, failure, chosen: { url, keyEnv: "KEY" }, session: "s", options: {} }).hints;
  };
  assert.match(String(hintFor("http://nowhere.invalid/v1")), /^The host nowhere\.invalid could not be looked up/);
  assert.match(String(hintFor("@ai-sdk/xai")), /^Its host could not be looked up/);
});
