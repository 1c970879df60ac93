/** `pawl fork`, `rewind` and `name`, and what a session may be called wherever an id is asked for. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { near } from "../src/near.ts";
import { lastLine, World } from "./pawl-world.ts";

interface Told {
  world: World;
  at: string[];
  place: string[];
  bodies(): string[];
}

/** A session `main` of two turns. */
async function told(t: TestContext): Promise<Told> {
  const world = new World(t);
  const server = await world.server({ entries: [[{ text: "Yes." }]], loop: true });
  const place = world.place(server);
  for (const prompt of ["first question", "second question"])
    assert.equal((await world.pawl(["run", prompt, "--session", "main", ...place])).code, 0);
  return { world, at: ["--store", world.store], place, bodies: () => server.requests.map(({ body }) => body) };
}

test("fork: the new id alone on standard output, the command that goes on beside it; the parent as it was", async (t) => {
  const { world, at, place, bodies } = await told(t);
  const before = await world.shown("main");
  const { code, stdout, stderr } = await world.pawl(["fork", "main:1", ...at]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^s_\w{21}\n$/);
  const child = stdout.trim();
  assert.match(
    stderr,
    /^a fork of main, as at the end of turn 1 \(record \d+\)\nTo go on: pawl run "what to do next" --session s_\w+ --model openai-chat:scripted --store /,
  );
  const shown = await world.shown(child);
  assert.deepEqual(shown.slice(0, -1), before.slice(0, shown.length - 1));
  assert.equal((await world.pawl(["run", "third", "--session", child, ...place])).code, 0);
  assert.match(bodies().at(-1) ?? "", /first question.*third/s);
  assert.doesNotMatch(bodies().at(-1) ?? "", /second question/);
  assert.deepEqual(await world.shown("main"), before);
  const json = await world.pawl(["fork", "main", "--session", "whole", "--json", ...at]);
  assert.deepEqual(JSON.parse(json.stdout), {
    ok: true,
    session: "whole",
    from: { session: "main", seq: before.length, turn: 2 },
  });
  const none = await world.pawl(["fork", "main:7", ...at]);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /^pawl: main:7: session main has 2 ended turns; name one by its number or id, or 0 /);
});

test("rewind: the last turn is taken back, the name moves, the old log is where it was", async (t) => {
  const { world, at, place, bodies } = await told(t);
  assert.match((await world.pawl(["name", "main", "work", ...at])).stdout, /^work is session main\n$/);
  const before = await world.shown("work");
  const back = await world.pawl(["rewind", "work", ...at]);
  assert.equal(back.code, 0, back.stderr);
  assert.match(
    back.stderr,
    /^gone back: as at the end of turn 1 \(record \d+\); the log until now is kept as main\nwork is session s_\w+ now\nTo go on: pawl run "what to do next" --session work /,
  );
  assert.match(
    (await world.pawl(["name", "work", ...at])).stdout,
    new RegExp(`^work is session ${back.stdout.trim()}\n$`),
  );
  assert.deepEqual(await world.shown("main"), before);
  assert.equal((await world.pawl(["run", "another way", "--session", "work", ...place])).code, 0);
  assert.match(bodies().at(-1) ?? "", /first question.*another way/s);
  assert.doesNotMatch(bodies().at(-1) ?? "", /second question/);
  assert.equal((await world.verified("work")).code, 0);

  const all = await world.pawl(["rewind", "work:0", "--json", ...at]);
  const { ok, name, from } = JSON.parse(all.stdout) as { ok: boolean; name: string; from: object };
  assert.deepEqual([ok, name, from], [true, "work", { session: back.stdout.trim(), seq: 1, turn: 0 }]);
  const nothing = await world.pawl(["rewind", "work", ...at]);
  assert.equal(nothing.code, 2);
  assert.match(nothing.stderr, /has no turn yet: there is nothing to go back from/);
  const end = await world.pawl(["rewind", "main:2", ...at]);
  assert.equal(end.code, 2);
  assert.match(
    end.stderr,
    /session main ends there already \(turn 2\); name an earlier turn, or copy it with pawl fork/,
  );
});

test("rewind out of a turn whose process died: that turn goes, and nobody resumes it by its name", async (t) => {
  const world = new World(t);
  const server = await world.server([[{ text: "Yes." }], [{ text: "Wel" }, { hold: "here" }]]);
  const place = world.place(server);
  await world.pawl(["run", "first", "--session", "main", ...place]);
  const running = world.start(["run", "second", "--session", "main", ...place]);
  await server.held("here");
  const busy = await world.pawl(["rewind", "main", "--store", world.store]);
  assert.equal(busy.code, 4);
  assert.match(busy.stderr, /session main is being driven by process \d+/);
  running.kill("SIGKILL");
  await running.ended;
  await world.pawl(["name", "main", "work", "--store", world.store]);
  const { code, stderr } = await world.pawl(["rewind", "work", "--store", world.store]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /as at the end of turn 1/);
  const resumed = await world.pawl(["resume", "work", ...place]);
  assert.equal(resumed.code, 2);
  assert.match(resumed.stderr, /has no interrupted turn to resume/);
});

test("names: taken ones are said with their session, and move or go only when told", async (t) => {
  const { world, at } = await told(t);
  await world.pawl(["fork", "main", "--session", "other", ...at]);
  const name = async (...args: string[]) => {
    const { code, stdout, stderr } = await world.pawl(["name", ...args, ...at]);
    return [code, stdout + stderr];
  };
  assert.deepEqual(await name("main", "work"), [0, "work is session main\n"]);
  assert.deepEqual(await name("main", "work"), [0, "work is session main\n"]);
  assert.deepEqual(await name("other", "work"), [
    2,
    'pawl: "work" is taken: it is the name of session main; choose another, or take it over with --move\n',
  ]);
  assert.deepEqual(await name("other", "work", "--move"), [0, "work is session other, no longer main\n"]);
  assert.deepEqual(await name("main", "other"), [
    2,
    'pawl: "other" is the id of a session, which comes before a name; choose another\n',
  ]);
  const bad = await name("main", "a b");
  assert.match(String(bad[1]), /"a b" cannot be a name; use 1 to 64 characters/);
  const json = await world.pawl(["name", "work", "--remove", "--json", ...at]);
  assert.deepEqual(JSON.parse(json.stdout), { ok: true, session: "other", name: null, removed: "work" });
  assert.deepEqual(await name("work"), [3, 'pawl: no session is called "work"; pawl name ID NAME gives a name\n']);
});

test("the start or the end of an id is enough where it fits one, and what was meant is said where it fits none", async (t) => {
  const { world, at, place } = await told(t);
  const first = (await world.pawl(["fork", "main", ...at])).stdout.trim();
  const second = (await world.pawl(["fork", "main", ...at])).stdout.trim();
  assert.equal((await world.pawl(["verify", second.slice(0, 20), ...at])).code, 0);
  const run = await world.pawl(["run", "more", "--session", second.slice(0, 20), "--json", ...place]);
  assert.equal(lastLine(run.stdout).session, second);
  const common = [...first].findIndex((char, at) => char !== second[at]);
  const both = await world.pawl(["show", first.slice(0, common), ...at]);
  assert.equal(both.code, 2);
  assert.match(both.stderr, /^pawl: "s_\w+" is the start of 2 sessions \(s_\w+, s_\w+\); write more of it\n$/);
  assert.equal((await world.pawl(["show", first.slice(0, 5), ...at])).code, 3, "too short to mean anything");
  const byEnd = await world.pawl(["run", "more", "--session", first.slice(-8), "--json", ...place]);
  assert.equal(lastLine(byEnd.stdout).session, first);
  assert.equal((await world.pawl(["verify", first.slice(-8), ...at])).code, 0);
  assert.equal((await world.pawl(["show", first.slice(-5), ...at])).code, 3);

  const slip = `${first.slice(0, 22)}${first[22] === "Z" ? "Y" : "Z"}`;
  for (const args of [
    ["show", slip, ...at],
    ["run", "more", "--session", slip, ...place],
  ]) {
    const { code, stderr } = await world.pawl(args);
    assert.equal(code, 3, stderr);
    assert.match(stderr, new RegExp(`^pawl: there is no session "${slip}"; did you mean ${first}`));
  }
  const typo = await world.pawl(["run", "more", "--session", "mian", ...place]);
  assert.equal(typo.code, 0);
  assert.match(typo.stderr, /^pawl: a new session mian begins; there is also main\n/);
});

test("a start of somebody's own id never stands for it where a new session may begin; a series is no typo", async (t) => {
  const { world, at, place } = await told(t);
  await world.pawl(["fork", "main", "--session", "nightly-2", ...at]);
  const run = (session: string) => world.pawl(["run", "more", "--session", session, "--json", ...place]);
  assert.equal(lastLine((await run("nightly")).stdout).session, "nightly");
  assert.equal((await world.pawl(["show", "ghtly-2", ...at])).code, 3, "its end is no name for it either");
  const third = await run("nightly-3");
  assert.deepEqual([lastLine(third.stdout).session, third.stderr], ["nightly-3", ""]);
});

test("what is near: a letter changed, left out, added or swapped, the start of an id; nothing else", () => {
  const ids = ["release", "release-notes", "parser"];
  assert.deepEqual(near("relaese", ids), ["release"]);
  assert.deepEqual(near("Parser", ids), ["parser"]);
  assert.deepEqual(near("rel", ids), ["release", "release-notes"]);
  assert.deepEqual(near("paser", ids), ["parser"]);
  assert.deepEqual(near("purse", ids), []);
  assert.deepEqual(near("docs", ids), []);
});
