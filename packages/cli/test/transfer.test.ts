/** `pawl export` and `pawl import` through the real binary. */
import assert from "node:assert/strict";
import { cpSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { World } from "./pawl-world.ts";

const corpus = fileURLToPath(new URL("../../core/test/fixtures/store-v3/", import.meta.url));

function stored(t: TestContext): World {
  const world = new World(t);
  cpSync(corpus, world.store, { recursive: true });
  return world;
}

test("exported to a file or to standard output are the same bytes; imported elsewhere the session shows the same", async (t) => {
  const world = stored(t);
  const file = join(world.root, "whole.jsonl");
  const written = await world.pawl(["export", "whole", "--out", file, "--store", world.store]);
  assert.deepEqual([written.code, written.stderr], [0, ""]);
  assert.match(written.stdout, /^exported session whole to .*whole\.jsonl, 34 lines\n$/);
  const text = readFileSync(file, "utf8");
  assert.equal((await world.pawl(["export", "whole", "--store", world.store])).stdout, text);
  assert.equal(text, readFileSync(join(corpus, "whole.jsonl"), "utf8"));

  const other = join(world.root, "other");
  const taken = await world.pawl(["import", file, "--store", other, "--json"]);
  assert.deepEqual([taken.code, JSON.parse(taken.stdout)], [0, { ok: true, session: "whole", file }]);
  const shown = await world.pawl(["show", "whole", "--json", "--store", other]);
  assert.equal(shown.stdout.trimEnd(), (await world.shown("whole")).join("\n"));
  assert.equal((await world.pawl(["verify", "whole", "--store", other])).code, 0);
});

test("what a session's tasks did is not in its file: said, with the command that takes it", async (t) => {
  const world = new World(t);
  const giving = [{ call: "task", input: { agent: "general", prompt: "Say it." } }];
  const server = await world.server([giving, [{ text: "Said." }], [{ text: "Done." }]]);
  assert.equal((await world.pawl(["run", "Go", "--session", "s", ...world.place(server)])).code, 0);
  const { code, stdout, stderr } = await world.pawl(["export", "s", "--store", world.store]);
  assert.equal(code, 0, stderr);
  const told =
    /^pawl: 1 task of it is a session of its own and not in this export; with it: pawl copy s --to DIR --store \S+\n$/;
  assert.match(stderr, told);
  assert.doesNotMatch(stdout, /"session":"task_/);
  const [, copy] = /: (pawl copy .*)\n/.exec(stderr) ?? [];
  const words = copy?.replace("DIR", join(world.root, "other")).split(" ").slice(1) ?? [];
  assert.match((await world.pawl(words)).stdout, /2 sessions copied/);
});

test("under another id beside the original", async (t) => {
  const world = stored(t);
  const file = join(corpus, "fork.jsonl");
  const refused = await world.pawl(["import", file, "--store", world.store]);
  assert.equal(refused.code, 3);
  assert.match(refused.stderr, /^pawl: session fork exists here; import it under another id with --session, .*\n$/);
  const taken = await world.pawl(["import", file, "--session", "copy", "--store", world.store]);
  assert.deepEqual([taken.code, taken.stderr], [0, ""]);
  const parent = { session: "fork", seq: 10 };
  const last = (await world.shown("copy")).map((line) => JSON.parse(line)).at(-1);
  assert.deepEqual([last.type, last.parent], ["session.created", parent]);
});

test("a damaged line is named, and nothing is imported; a file is never half-written or written over", async (t) => {
  const world = stored(t);
  const file = join(world.root, "cut.jsonl");
  const whole = readFileSync(join(corpus, "whole.jsonl"), "utf8").split("\n");
  writeFileSync(file, whole.with(6, (whole[6] ?? "").replace("attempt-1a", "attempt-1b")).join("\n"));
  const other = join(world.root, "other");
  const refused = await world.pawl(["import", file, "--store", other]);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^pawl: line 7: record 6 does not match its checksum.*nothing was imported\n$/);
  assert.equal((await world.pawl(["sessions", "--json", "--store", other])).stdout, "");

  const over = await world.pawl(["export", "whole", "--out", file, "--store", world.store]);
  assert.equal(over.code, 2);
  assert.match(over.stderr, /exists; name another file/);
  const unknown = await world.pawl(["export", "nobody", "--out", join(world.root, "new"), "--store", world.store]);
  assert.equal(unknown.code, 3);
  assert.deepEqual(
    readdirSync(world.root).filter((name) => name.startsWith("new")),
    [],
  );
  const nowhere = join(world.root, "nowhere");
  assert.equal((await world.pawl(["export", "whole", "--store", nowhere])).code, 3);
  assert.equal(existsSync(nowhere), false);
  const missing = await world.pawl(["import", join(world.root, "none"), "--store", other]);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /^pawl: cannot read .*none.*\n$/);
});

test("a line without an end is refused with its number, and nothing is imported", async (t) => {
  const world = new World(t);
  const file = join(world.root, "endless");
  writeFileSync(file, '{"role":"user","content":"hello"}\n');
  // As sparse as it is long.
  truncateSync(file, 2 ** 28 + 2 ** 20);
  const { code, stderr } = await world.pawl(["import", file, "--store", world.store]);
  assert.equal(code, 2);
  assert.match(stderr, /^pawl: line 2: longer than 268435456 characters.*nothing was imported\n$/);
  assert.equal((await world.pawl(["sessions", "--json", "--store", world.store])).stdout, "");
});
