/** `pawl diff`, `pawl undo` and `pawl redo`: files and conversation go back together, and come back together. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Script } from "@pawl/model-server";
import { type Ended, World } from "./pawl-world.ts";
import { appears } from "./supervisor-world.ts";

const write = (path: string, content: string) => ({ call: "write", input: { path, content } });
const bash = (command: string) => ({ call: "bash", input: { command } });

/** Three turns: one that only talks, one with a write and then commands, one that talks. */
const script: Script = [
  [{ text: "Hello." }],
  [write("new.txt", "made\n")],
  [bash("printf 'two\\n' >> kept.txt && rm gone.txt"), bash("mkdir -p d && mv moved.txt d/moved.txt")],
  [{ text: "Done." }],
  [{ text: "You are welcome." }],
];

interface Told {
  world: World;
  place: string[];
  at: string[];
  bodies(): string[];
  pawl(...args: string[]): Promise<Ended>;
}

async function told(t: TestContext, said: Script = script): Promise<Told> {
  const world = new World(t);
  for (const name of ["kept.txt", "gone.txt", "moved.txt"]) writeFileSync(join(world.work, name), `${name} one\n`);
  const server = await world.server(said);
  const place = [...world.place(server), "--yes"];
  const at = ["--store", world.store];
  const pawl = async (...args: string[]) => world.pawl([...args, ...at]);
  for (const prompt of ["hi", "change it", "thanks"].slice(0, said === script ? 3 : 1)) {
    const ran = await world.pawl(["run", prompt, "--session", "main", ...place]);
    assert.equal(ran.code, 0, ran.stderr);
  }
  return { world, place, at, bodies: () => server.requests.map(({ body }) => body), pawl };
}

function files(world: World, folder = ""): { [path: string]: string } {
  const found = readdirSync(join(world.work, folder), { withFileTypes: true }).flatMap((entry): [string, string][] => {
    const path = join(folder, entry.name);
    return entry.isDirectory()
      ? Object.entries(files(world, path))
      : [[path, readFileSync(join(world.work, path), "utf8")]];
  });
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const first = { "gone.txt": "gone.txt one\n", "kept.txt": "kept.txt one\n", "moved.txt": "moved.txt one\n" };

test("undo: without a word the last turn with effects is taken back, files and conversation; redo brings both back", async (t) => {
  const { world, place, pawl, bodies } = await told(t);
  const last = files(world);
  assert.deepEqual(last, { "d/moved.txt": "moved.txt one\n", "kept.txt": "kept.txt one\ntwo\n", "new.txt": "made\n" });
  const before = await world.shown("main");
  const undone = await pawl("undo", "--yes");
  assert.equal(undone.code, 0, undone.stderr);
  assert.match(undone.stderr, /takes back turn 2 of session main, and 1 turn that follow/);
  assert.match(undone.stderr, /1 file as before, 2 files brought back, 2 files removed/);
  assert.match(undone.stderr, /~ kept\.txt.*\+ moved\.txt.*- new\.txt/s);
  assert.match(undone.stderr, /Ignored files \(build output, node_modules\)/);
  assert.deepEqual(files(world), first);
  assert.equal(existsSync(join(world.work, "d")), false);
  assert.deepEqual(await world.shown("main"), before, "the log until now is kept");
  const child = undone.stdout.trim();
  assert.doesNotMatch((await world.shown(child)).join(""), /change it/);
  assert.match((await world.shown(child)).join(""), /"hi"/);

  const redone = await pawl("redo", "--yes");
  assert.equal(redone.code, 0, redone.stderr);
  assert.deepEqual(files(world), last);
  const again = redone.stdout.trim();
  assert.deepEqual((await world.shown(again)).slice(0, before.length), before);
  assert.equal((await world.verified(again)).code, 0);

  const twice = await pawl("undo", "--yes");
  assert.equal(twice.code, 0, twice.stderr);
  assert.deepEqual(files(world), first);
  const ran = await world.pawl(["run", "and now?", "--session", twice.stdout.trim(), ...place]);
  assert.equal(ran.code, 10, "the script has no more to say");
  assert.doesNotMatch(bodies().at(-1) ?? "", /change it/);
  assert.match(bodies().at(-1) ?? "", /and now\?/);
});

test("undo of a step: what came before it in the turn stays; a name goes along, there and back", async (t) => {
  const { world, pawl } = await told(t);
  await pawl("name", "main", "work");
  const undone = await pawl("undo", "work", "2.2", "--yes");
  assert.equal(undone.code, 0, undone.stderr);
  assert.match(undone.stderr, /takes back turn 2 from its step 2 on/);
  assert.deepEqual(files(world), { ...first, "new.txt": "made\n" });
  assert.match((await pawl("name", "work")).stdout, new RegExp(`work is session ${undone.stdout.trim()}`));
  const shown = (await world.shown("work")).join("\n");
  assert.match(shown, /change it/);
  assert.doesNotMatch(shown, /mv moved/);
  const redone = await pawl("redo", "work", "--yes");
  assert.equal(redone.code, 0, redone.stderr);
  assert.match((await pawl("name", "work")).stdout, new RegExp(`work is session ${redone.stdout.trim()}`));
  assert.equal(files(world)["kept.txt"], "kept.txt one\ntwo\n");
});

test("undo: what a person has changed since is shown, and comes back with redo", async (t) => {
  const { world, pawl } = await told(t);
  writeFileSync(join(world.work, "mine.txt"), "mine\n");
  writeFileSync(join(world.work, "kept.txt"), "by hand\n");
  const undone = await pawl("undo", "main", "--yes", "--json");
  assert.equal(undone.code, 0, undone.stderr);
  const { files: done, redo } = JSON.parse(undone.stdout) as { files: { removed: string[] }; redo: string };
  assert.ok(done.removed.includes("mine.txt"));
  assert.equal(redo, "main");
  assert.deepEqual(files(world), first);
  assert.equal((await pawl("redo", "--yes")).code, 0);
  assert.equal(files(world)["mine.txt"], "mine\n");
  assert.equal(files(world)["kept.txt"], "by hand\n");
});

test("undo, twice, then redo, twice: each step of the way comes back", async (t) => {
  const { world, pawl } = await told(t);
  const last = files(world);
  const half = await pawl("undo", "main", "2.2", "--yes");
  assert.equal(half.code, 0, half.stderr);
  const between = files(world);
  const whole = await pawl("undo", "--yes");
  assert.equal(whole.code, 0, whole.stderr);
  assert.deepEqual(files(world), first);
  assert.equal((await pawl("redo", "--yes")).code, 0);
  assert.deepEqual(files(world), between);
  const redone = await pawl("redo", "--yes");
  assert.equal(redone.code, 0, redone.stderr);
  assert.deepEqual(files(world), last);
  const none = await pawl("redo", "--yes");
  assert.equal(none.code, 2);
  assert.match(none.stderr, /is not the outcome of an undo: there is nothing to redo/);
});

test("undo asks: without a terminal and --yes, or answered with no, nothing changes", async (t) => {
  const { world, at, pawl } = await told(t);
  const last = files(world);
  const silent = await pawl("undo");
  assert.equal(silent.code, 2);
  assert.match(silent.stderr, /undo changes files and conversation, and there is no terminal to ask in; .* --yes/);
  const asked = await world.inTerminal("n\n", ["undo", ...at]);
  assert.match(asked.stdout, /Undo it\? \[y\]es, \[N\]o: .*nothing was changed/s);
  assert.equal(asked.code, 130);
  assert.deepEqual(files(world), last);
  const yes = await world.inTerminal("y\n", ["undo", ...at]);
  assert.equal(yes.code, 0, yes.stdout);
  assert.deepEqual(files(world), first);
});

test("diff: the last turn with effects, a step, figures, and for programs; a pipe gets a patch that can be applied", async (t) => {
  const { world, at, pawl } = await told(t);
  const whole = await pawl("diff");
  assert.equal(whole.code, 0, whole.stderr);
  assert.match(whole.stdout, /--- a\/kept\.txt\n\+\+\+ b\/kept\.txt\n@@ -1 \+1,2 @@\n kept\.txt one\n\+two\n/);
  assert.match(whole.stdout, /rename from moved\.txt\nrename to d\/moved\.txt/);
  assert.match(whole.stderr, /since turn 2 of session main: whoever changed it; ignored files are not looked at/);
  const step = await pawl("diff", "main", "2.2", "--stat");
  assert.doesNotMatch(step.stdout, /new\.txt/);
  assert.match(step.stdout, /kept\.txt +\| 1 \+\n/);
  const json = JSON.parse((await pawl("diff", "main", "--json")).stdout) as {
    files: unknown[];
    turn: number;
    patch: string;
  };
  assert.deepEqual(json.files.at(-1), { path: "new.txt", change: "added", addedLines: 1, deletedLines: 0 });
  assert.deepEqual([json.turn, json.patch], [2, whole.stdout]);
  const seen = await world.inTerminal("", ["diff", ...at]);
  assert.match(seen.stdout, /\+two/);
  assert.equal((await pawl("diff", "main", "9")).code, 2);
  assert.match(
    (await pawl("diff", "main", "9")).stderr,
    /"9" is no step of session main \(3 turns, the last step is 3\.1\)/,
  );
});

test("undo while a process drives the session, or works in its folder: refused, nothing is touched", async (t) => {
  const world = new World(t);
  const server = await world.server([[write("a.txt", "a")], [{ text: "wel" }, { hold: "here" }]]);
  const running = world.start(["run", "go", "--session", "main", "--yes", ...world.place(server)]);
  await server.held("here");
  const busy = await world.pawl(["undo", "main", "--yes", "--store", world.store]);
  assert.equal(busy.code, 4, busy.stderr);
  assert.match(busy.stderr, /session main is being driven by process \d+/);
  assert.equal(world.read("a.txt"), "a");
  running.kill("SIGKILL");
  await running.ended;
  const undone = await world.pawl(["undo", "main", "--yes", "--store", world.store]);
  assert.equal(undone.code, 0, undone.stderr);
  assert.equal(existsSync(join(world.work, "a.txt")), false);
});

test("undo of a task's edits, while a job that a killed process left still runs: said, with the way to end it", async (t) => {
  const world = new World(t);
  const server = await world.server([
    [{ call: "task", input: { agent: "general", prompt: "Make it." } }],
    [write("a.txt", "a")],
    [{ call: "bash", input: { command: "touch ready; sleep 600", background: true } }],
    [{ text: "wel" }, { hold: "here" }],
  ]);
  const running = world.start(["run", "go", "--session", "main", "--yes", ...world.place(server)]);
  await server.held("here");
  await appears(world.work, "ready", running.ended);
  running.kill("SIGKILL");
  await running.ended;
  const { code, stderr } = await world.pawl(["undo", "main", "--yes", "--store", world.store]);
  assert.equal(code, 0, stderr);
  const [, group] =
    /job-\w{8} still runs here \(touch ready; sleep 600\).* is not taken back; to end it: kill -- -(\d+)/.exec(
      stderr,
    ) ?? [];
  process.kill(-Number(group), "SIGKILL");
  assert.deepEqual(
    ["a.txt", "ready"].filter((name) => existsSync(join(world.work, name))),
    [],
  );
});

test("undo while a process works in a folder inside of the session's: refused", async (t) => {
  const world = new World(t);
  const server = await world.server([[write("a.txt", "a")], [{ text: "Done." }], [{ text: "wel" }, { hold: "here" }]]);
  await world.pawl(["run", "go", "--session", "main", "--yes", ...world.place(server)]);
  mkdirSync(join(world.work, "sub"));
  const place = world.place(server).map((word) => (word === world.work ? join(world.work, "sub") : word));
  const running = world.start(["run", "go", "--session", "inner", "--yes", ...place]);
  await server.held("here");
  const busy = await world.pawl(["undo", "main", "--yes", "--store", world.store]);
  running.kill("SIGKILL");
  await running.ended;
  assert.equal(busy.code, 4, busy.stderr);
  assert.match(busy.stderr, /session inner is being driven/);
});

test("a session that has changed nothing, a folder without a session, a step without a snapshot: each says what to do", async (t) => {
  const { world, at, pawl } = await told(t, [[{ text: "Hello." }]]);
  const nothing = await pawl("undo", "main", "--yes");
  assert.equal(nothing.code, 2);
  assert.match(nothing.stderr, /session main has changed no files: .*`pawl rewind main`/);
  rmSync(world.store, { recursive: true });
  const nobody = await world.pawl(["undo", "--yes", ...at]);
  assert.equal(nobody.code, 3);
  assert.match(nobody.stderr, /no session has worked in .*; name one, `pawl sessions` lists them/);
});

test("without git: the turn runs, one warning says that it cannot be undone, and undo says why", async (t) => {
  const world = new World(t);
  const server = await world.server([[write("a.txt", "a")], [write("b.txt", "b")], [{ text: "Done." }]]);
  const place = [...world.place(server), "--yes"];
  const ran = await world.pawl(["run", "go", "--session", "main", ...place], { PATH: "/nonexistent" });
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(ran.stderr.match(/git was not found/g)?.length, 1);
  const undone = await world.pawl(["undo", "main", "--yes", "--store", world.store]);
  assert.equal(undone.code, 2);
  assert.match(undone.stderr, /no snapshot was taken before step 1\.1 of session main/);
  assert.equal(world.read("b.txt"), "b");
});

test("a folder that holds the home folder is not kept: one warning, and the turn runs", async (t) => {
  const world = new World(t);
  const server = await world.server([[write("a.txt", "a")], [{ text: "Done." }]]);
  const ran = await world.pawl(["run", "go", "--yes", ...world.place(server)], { HOME: world.work });
  assert.equal(ran.code, 0, ran.stderr);
  assert.match(ran.stderr, /holds the home folder .*: no snapshots are taken of it; work in a folder below/);
});

test("an undo that was cut short is finished by the next one, and is not taken for one more", async (t) => {
  const { world, pawl } = await told(t);
  const undone = await pawl("undo", "--yes");
  assert.equal(undone.code, 0, undone.stderr);
  const child = undone.stdout.trim();
  const [key = ""] = readdirSync(join(world.store, "snapshots"));
  const record = join(world.store, "snapshots", key, "moves", `${child}.json`);
  const move = JSON.parse(readFileSync(record, "utf8")) as object;
  // As a process leaves it that dies before its last word, and before its last file.
  writeFileSync(record, JSON.stringify({ ...move, state: "begun" }));
  writeFileSync(join(world.work, "kept.txt"), "half way\n");
  const finished = await pawl("undo", "--yes");
  assert.equal(finished.code, 0, finished.stderr);
  assert.match(finished.stderr, /the undo of session main was cut short; this finishes it/);
  assert.equal(finished.stdout.trim(), child);
  assert.deepEqual(files(world), first);
  const nothing = await pawl("undo", "--yes");
  assert.match(nothing.stderr, /has changed no files: there is nothing to undo/);
});

test("a deleted session's snapshots are named by nobody any more; a fork that reads its records keeps them", async (t) => {
  const { world, pawl } = await told(t);
  const [key = ""] = readdirSync(join(world.store, "snapshots"));
  const named = () => existsSync(join(world.store, "snapshots", key, "refs", "snapshots", "main"));
  assert.equal((await pawl("fork", "main", "--session", "child")).code, 0);
  assert.equal((await pawl("delete", "main", "--yes")).code, 0);
  assert.equal(named(), true);
  const undone = await pawl("undo", "child", "--yes");
  assert.equal(undone.code, 0, undone.stderr);
  assert.deepEqual(files(world), first);

  const other = await told(t);
  const [only = ""] = readdirSync(join(other.world.store, "snapshots"));
  assert.equal((await other.pawl("delete", "main", "--yes")).code, 0);
  assert.equal(existsSync(join(other.world.store, "snapshots", only, "refs", "snapshots", "main")), false);
});
