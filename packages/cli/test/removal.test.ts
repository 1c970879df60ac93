/** `pawl delete` and `pawl erase`: shown before, asked for, and gone. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { removeOutputs } from "../src/command-output-files.ts";
import { CommandFolder } from "../src/tools/command-folder.ts";
import { jobId } from "../src/tools/job.ts";
import { SpillFolder } from "../src/tools/spill-folder.ts";
import { World } from "./pawl-world.ts";

const secret = "sk-very-secret-0123456789";

/** A session `main` whose command has said a secret, at length. */
async function told(t: TestContext): Promise<{ world: World; at: string[]; place: string[]; body(): string }> {
  const world = new World(t);
  const command = `for i in $(seq 1 4000); do echo line $i ${secret}; done`;
  const server = await world.server({
    entries: [[{ call: "bash", input: { command } }], [{ text: "It is long." }]],
    fallback: [{ text: "Gone on." }],
  });
  const place = world.place(server);
  const { code, stderr } = await world.pawl(["run", "Say it", "--session", "main", "--yes", ...place]);
  assert.equal(code, 0, stderr);
  return { world, at: ["--store", world.store], place, body: () => server.requests.at(-1)?.body ?? "" };
}

const spilled = (world: World) => readdirSync(join(world.store, "spill"));

/** Whether the database file still holds the text. */
const inStore = (world: World, text: string) => readFileSync(join(world.store, "pawl.db")).includes(text);

test("delete: not without a word; then the session is gone, with what its commands have said", async (t) => {
  const { world, at } = await told(t);
  assert.equal(spilled(world).length, 1);
  const asked = await world.pawl(["delete", "main", ...at]);
  assert.equal(asked.code, 2);
  assert.match(
    asked.stderr,
    /^pawl: deleting a session cannot be undone, and there is no terminal to ask in; say that it is meant with --yes\n$/,
  );
  const { code, stdout, stderr } = await world.pawl(["delete", "main", "--yes", ...at]);
  assert.deepEqual([code, stdout], [0, "deleted session main\n"]);
  assert.match(stderr, /^main · Say it · \d+ events · last used \d{4}-/);
  assert.equal((await world.pawl(["show", "main", ...at])).code, 3);
  assert.deepEqual(spilled(world), []);
  const again = await world.pawl(["delete", "main", "--yes", ...at]);
  assert.equal(again.code, 3);
});

/** util-linux's `script`: the terminal that a person sits at. */
const skip = spawnSync("script", ["--version"]).status === 0 ? false : "there is no script(1) here";

test("delete and erase ask whoever sits at a terminal, and a no changes nothing", { skip }, async (t) => {
  const { world, at } = await told(t);
  const before = await world.shown("main");
  for (const args of [
    ["delete", "main"],
    ["erase", "main", "2"],
  ]) {
    const no = await world.inTerminal("n\n", [...args, ...at]);
    assert.equal(no.code, 130, no.stdout);
    assert.match(no.stdout, /This cannot be undone\. \[y\]es, \[N\]o: .*\n?nothing was (deleted|erased)\n/s);
  }
  assert.deepEqual(await world.shown("main"), before);
  const yes = await world.inTerminal("y\n", ["delete", "main", ...at]);
  assert.equal(yes.code, 0, yes.stdout);
  assert.match(yes.stdout, /deleted session main\n/);
});

test("delete: forks that read its records are named, stay readable, and are told from it", async (t) => {
  const { world, at, place } = await told(t);
  await world.pawl(["fork", "main", "--session", "child", ...at]);
  const shown = await world.shown("child");
  const { stdout, stderr } = await world.pawl(["delete", "main", "--yes", ...at]);
  assert.match(stderr, /1 fork begins with its records and can still be read and driven: child\n/);
  assert.equal(stdout, "deleted session main; the records that 1 fork begins with stay until the last of them goes\n");
  assert.deepEqual(await world.shown("child"), shown);
  assert.equal((await world.pawl(["run", "On", "--session", "child", ...place])).code, 0);
  assert.equal(spilled(world).length, 1, "the fork's history points there");
  const json = await world.pawl(["delete", "child", "--yes", "--json", ...at]);
  assert.deepEqual(JSON.parse(json.stdout), { ok: true, session: "child", forks: [], outputs: 0 });
});

test("delete: a session that is being driven stays", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "I am " }, { hold: "busy" }, { text: "here." }]]);
  const running = world.start(["run", "Hello", "--session", "main", ...world.place(server)]);
  await server.held("busy");
  const { code, stderr } = await world.pawl(["delete", "main", "--yes", "--store", world.store]);
  assert.equal(code, 4);
  assert.match(
    stderr,
    new RegExp(`session main is being driven by process ${running.process.pid} on .*; stop it first`),
  );
  server.release("busy");
  assert.equal((await running.ended).code, 0);
});

test("erase: the record is shown, its content goes from the log, the store, the files beside it and the next request", async (t) => {
  const { world, at, place, body } = await told(t);
  const events = (await world.shown("main")).map((line) => JSON.parse(line) as { seq: number; type: string });
  const seq = String(events.find(({ type }) => type === "tool.settled")?.seq);
  const asked = await world.pawl(["erase", "main", seq, ...at]);
  assert.equal(asked.code, 2);
  assert.match(asked.stderr, /^pawl: erasing a record cannot be undone, .*--yes\n$/);
  const { code, stdout, stderr } = await world.pawl(["erase", "main", seq, "--yes", ...at]);
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    new RegExp(`^record ${seq}, tool\\.settled, .*\n  │ line 1 ${secret}\n(  │ .*\n){11}  │ … \\d+ more lines\n`),
  );
  assert.equal(stdout, `record ${seq} of session main is erased, its output beside the log, too\n`);
  assert.equal(inStore(world, `line 7 ${secret}`), false);
  assert.deepEqual(spilled(world), []);
  assert.equal((await world.verified("main")).code, 0);
  assert.equal((await world.pawl(["run", "On", "--session", "main", ...place])).code, 0);
  assert.match(body(), /\[erased\]/);
  assert.doesNotMatch(body(), /line 7/);
  const again = await world.pawl(["erase", "main", seq, "--yes", "--json", ...at]);
  assert.deepEqual(
    [again.code, JSON.parse(again.stdout)],
    [0, { ok: true, session: "main", seq: Number(seq), type: "tool.settled", drivenForks: [] }],
  );
});

test("erase: a fork that is being driven still holds what it has read, which is said; once it has ended, nobody does", async (t) => {
  const world = new World(t);
  const server = await world.server({
    entries: [[{ text: "I see." }], [{ text: "I am " }, { hold: "busy" }, { text: "here." }]],
    fallback: [{ text: "Gone on." }],
  });
  const place = world.place(server);
  const at = ["--store", world.store];
  await world.pawl(["run", `My key is ${secret}`, "--session", "main", ...place]);
  await world.pawl(["fork", "main", "--session", "child", ...at]);
  await world.pawl(["fork", "main", "--session", "idle", ...at]);
  const running = world.start(["run", "On", "--session", "child", ...place]);
  await server.held("busy");
  const { code, stderr } = await world.pawl(["erase", "main", "2", "--yes", ...at]);
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /Session child begins with it and is being driven: until that drive ends, its requests may still\s+say it/,
  );
  assert.doesNotMatch(stderr, /Session idle/);
  const again = () => world.pawl(["erase", "main", "2", "--yes", "--json", ...at]);
  assert.deepEqual(JSON.parse((await again()).stdout).drivenForks, ["child"]);
  server.release("busy");
  assert.equal((await running.ended).code, 0);
  assert.deepEqual(JSON.parse((await again()).stdout).drivenForks, []);
  await world.pawl(["run", "On", "--session", "child", ...place]);
  assert.doesNotMatch(server.requests.at(-1)?.body ?? secret, new RegExp(secret));
});

test("erase: what cannot be erased is said before anybody is asked, a prompt's title is pointed at", async (t) => {
  const { world, at } = await told(t);
  await world.pawl(["fork", "main", "--session", "child", ...at]);
  const refusals: [string[], RegExp][] = [
    [["main", "1"], /record 1 is session\.created, which holds no content to erase/],
    [["main", "999"], /session main has no record 999 .*pawl show main numbers them/],
    [["child", "2"], /record 2 of session child belongs to main, .*pawl erase main 2 erases it for both/],
    [["main", "two"], /'two' is invalid for argument 'seq'.*whole number/],
  ];
  for (const [args, says] of refusals) {
    const { code, stderr } = await world.pawl(["erase", ...args, "--yes", ...at]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
  const { stderr } = await world.pawl(["erase", "main", "2", "--yes", ...at]);
  assert.match(stderr, /The session's title was made from it and still says: Say it\n/);
});

test("what a background job has said at length goes with its call, and another's stays", async (t) => {
  const { store } = new World(t);
  const folders = ["k1", "k2"].map((key) => new CommandFolder(join(store, "commands", key)));
  const spill = new SpillFolder(join(store, "spill"), () => {});
  for (const folder of folders) {
    mkdirSync(folder.path, { recursive: true });
    writeFileSync(folder.output, secret);
    await spill.keep(folder.output, jobId(folder));
  }
  assert.equal(await removeOutputs(store, ["k1"]), 2);
  const [, other] = folders;
  assert.deepEqual(readdirSync(join(store, "spill")), [`${other && jobId(other)}.txt`]);
});
