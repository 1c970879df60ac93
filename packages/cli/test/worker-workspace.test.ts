/** Which worker drives what, by the workspaces that sessions need and workers have: real processes with data folders of their own. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { PostgresServer } from "../../postgres/test/server.ts";
import { type Running, World } from "./pawl-world.ts";
import { callsOnce, told, Yard } from "./worker-world.ts";

const postgres = await PostgresServer.start();
after(() => postgres.end());

function claimed(worker: Running): unknown[] {
  return worker.lines
    .map((text) => JSON.parse(text) as { type: string; session?: string })
    .flatMap(({ type, session }) => (type === "claimed" ? [session] : []));
}

test("two workers with workspaces of their own drive what is theirs; what needs a third waits, visibly, for one that has it", {
  timeout: 900_000,
}, async (t) => {
  const world = new World(t);
  const store = `${postgres.url("postgres")}?schema=${postgres.schema()}`;
  const place = new Yard(world, await world.server(callsOnce("pwd > here.txt")), store);
  assert.equal((await place.pawl("migrate")).code, 0);
  const dataOf = (machine: string) => join(world.root, machine);
  const machine = (name: string, ...more: string[]) =>
    place.workerOn({ XDG_DATA_HOME: dataOf(name) }, "--yes", ...more);

  const left = await place.post("later", "--workspace", "disk 7");
  const first = machine("first", "--workspace", "disk-1", "--workspace", "builds");
  const second = machine("second", "--workspace", "disk-2");
  await first.said(/at once, .*, workspace disk-1, builds\n/);
  await second.said(/at once, .*, workspace disk-2\n/);
  const [one, builds, two] = [
    await place.post("one", "--workspace", "disk-1"),
    await place.post("builds", "--workspace", "builds"),
    await place.post("two", "--workspace", "disk-2"),
  ];
  await Promise.all([told(first, "released", one), told(first, "released", builds), told(second, "released", two)]);
  for (const session of [one, builds, two]) await place.done(session);

  assert.match((await place.pawl("sessions")).stdout, /waiting +\(for workspace disk 7\) l/);
  const shown = (await place.pawl("show", left)).stdout.replaceAll(/\s+/g, " ");
  assert.match(shown, /it waits for a worker that has the workspace disk 7, since .* Where its files are: pawl worker/);
  assert.match(shown, /pawl worker --workspace 'disk 7' --store/);
  const follower = world.start(["follow", left, "--store", store]);
  await follower.said(/it waits for a worker that has the workspace disk 7/);
  const fork = await place.pawl("fork", one, "--workspace", "disk-2", "--session", "moved");
  assert.equal(fork.code, 0, fork.stderr);
  const more = await place.pawl("post", "and more", "--session", "moved", "--workspace", "disk-2");
  assert.equal(more.code, 0, more.stderr);
  await told(second, "released", "moved");

  const third = machine("third", "--workspace", "disk 7");
  await told(third, "released", left);
  const { code, stdout, stderr } = await follower.ended;
  assert.equal(code, 0, stderr);
  assert.match(stdout + stderr, /It is done\./);
  await place.done(left);
  for (const worker of [first, second, third]) {
    worker.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0, worker.stderr);
  }
  assert.deepEqual(claimed(first).toSorted(), [one, builds].toSorted());
  assert.deepEqual(claimed(second), [two, "moved"]);
  assert.deepEqual(claimed(third), [left]);

  // What recovery needs of a command stays with the machine, not with the process.
  const entered = (await place.events(left)).find(({ type }) => type === "tool.entered");
  const site = entered?.["site"] as { where: string };
  assert.ok(site.where.startsWith(join(dataOf("third"), "pawl", "beside")), site.where);
  assert.ok(existsSync(site.where));
});

test("a worker without a workspace drives what needs none, and one without the folder says that its word was wrong", {
  timeout: 900_000,
}, async (t) => {
  const world = new World(t);
  const place = new Yard(world, await world.server(callsOnce("echo hi")), world.store);
  const folder = join(world.root, "volume");
  mkdirSync(folder);
  const needs = await place.post("there", "--workspace", "volume", "--cwd", folder);
  const plain = await place.post("here");
  const none = place.worker("--yes");
  await none.said(/at once, .*, no workspace\n/);
  await told(none, "released", plain);
  none.kill("SIGTERM");
  assert.equal((await none.ended).code, 0);
  assert.deepEqual(claimed(none), [plain]);

  renameSync(folder, `${folder}-away`);
  const wrong = place.worker("--yes", "--workspace", "volume");
  const parked = await told(wrong, "parked", needs);
  assert.match(String(parked["error"]), /volume is not on this machine, which has the workspace volume all the same;/);
  renameSync(`${folder}-away`, folder);
  assert.equal((await place.pawl("post", "the folder is back", "--session", needs)).code, 0);
  await told(wrong, "released", needs);
  wrong.kill("SIGTERM");
  assert.equal((await wrong.ended).code, 0, wrong.stderr);
});

test("a workspace is said when a session is made: run and fork take it too, one that is there is not changed by a word", {
  timeout: 300_000,
}, async (t) => {
  const world = new World(t);
  const model = world.place(await world.server({ entries: [], fallback: [{ text: "Done." }] }));
  const at = ["--store", world.store];
  const needs = async (session: string) => {
    const events = (await world.shown(session)).map((text) => JSON.parse(text) as { type: string; workspace?: string });
    return events.findLast(({ type }) => type === "session.created")?.workspace;
  };
  const run = (...more: string[]) => world.pawl(["run", "do it", ...more, ...model]);
  assert.equal((await run("--session", "one", "--workspace", "a")).code, 0);
  assert.equal(await needs("one"), "a");
  assert.equal((await run("--session", "one", "--workspace", "a")).code, 0, "what it needs anyway may be said");
  const other = await run("--session", "one", "--workspace", "b");
  assert.equal(other.code, 2);
  assert.match(
    other.stderr,
    /--workspace b: session one needs workspace a, for good; .*pawl fork one --workspace NAME/,
  );
  assert.equal((await world.pawl(["run", "x", "--fork-from", "one", "--session", "two", ...model])).code, 0);
  await run("--session", "plain");
  const late = await world.pawl(["post", "x", "--session", "plain", "--workspace", "a", ...at]);
  assert.equal(late.code, 2);
  assert.match(late.stderr, /session plain needs no workspace, for good/);
  for (const words of [
    ["post", "x", "--workspace", ""],
    ["worker", "--workspace", "", ...model.slice(0, 4)],
  ]) {
    const { code, stderr } = await world.pawl([...words, ...at]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /"" cannot be a workspace of 1 to 256 characters/);
  }
  assert.equal((await world.pawl(["rewind", "one", ...at, "--session", "back"])).code, 0);
  for (const words of [
    ["--workspace", "c", "--session", "three"],
    ["--session", "four"],
  ])
    assert.equal((await world.pawl(["fork", "one", ...words, ...at])).code, 0);
  const all = ["one", "two", "back", "three", "four", "plain"];
  assert.deepEqual(await Promise.all(all.map(needs)), ["a", "a", "a", "c", "a", undefined]);
});
