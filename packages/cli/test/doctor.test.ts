/** `pawl doctor` through the real binary: one clear line each, nothing changed without --repair, exit codes that tell. */
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Ended, World } from "./pawl-world.ts";

const corpus = fileURLToPath(new URL("../../core/test/fixtures/", import.meta.url));

/** A store with the sessions `whole`, `fork` and `open`. */
function stored(t: TestContext, version = "store-v3"): World {
  const world = new World(t);
  cpSync(join(corpus, version), world.store, { recursive: true });
  return world;
}

function meddle(world: World, sql: string): void {
  const db = new DatabaseSync(join(world.store, "pawl.db"));
  db.exec(sql);
  db.close();
}

function doctor(world: World, ...args: string[]): Promise<Ended> {
  return world.pawl(["doctor", ...args, "--store", world.store]);
}

const lines = ({ stdout }: Ended) => stdout.trimEnd().split("\n");

test("a store in order: a line for each thing looked at, exit 0, not a byte changed", async (t) => {
  const world = stored(t);
  const before = readFileSync(join(world.store, "pawl.db"));
  const ended = await doctor(world);
  assert.deepEqual([ended.code, ended.stderr], [0, ""]);
  for (const words of [
    /✓ .* free on the disk/,
    /✓ .*pawl\.db: SQLite finds no damage/,
    /✓ session whole: 31 events, all as they were written/,
    /✓ 1 blobs, all as their names say/,
  ]) {
    assert.ok(
      lines(ended).some((line) => words.test(line)),
      `${words} in ${ended.stdout}`,
    );
  }
  assert.deepEqual(readFileSync(join(world.store, "pawl.db")), before);
});

test("a hole: said with what a repair would do, exit 6; repaired on request; then good, with a note", async (t) => {
  const world = stored(t);
  meddle(world, "DELETE FROM record WHERE at = (1 << 32 | 9)");
  const looked = await doctor(world, "whole");
  assert.equal(looked.code, 6);
  assert.match(
    looked.stdout,
    /✗ session whole: record 9: missing; calls or results may be lost \(--repair would record the repair, and close what was open\)\n/,
  );
  assert.equal(lines(looked).at(-1), "nothing was changed; pawl doctor --repair does what is said above");
  assert.equal((await doctor(world, "open")).code, 0, "the others are not touched by it");

  const repaired = await doctor(world, "whole", "--repair");
  assert.deepEqual([repaired.code, repaired.stderr], [0, ""]);
  assert.match(repaired.stdout, /record 9: missing; .*\(done: record the repair, and close what was open\)/);
  const again = await doctor(world, "whole", "--json");
  assert.equal(again.code, 0);
  const found = lines(again).map((line) => JSON.parse(line));
  assert.deepEqual(found.at(-1), { session: "whole", severity: "note", what: "record 9: missing; mended before" });
});

test("an older format is not brought forward by looking", async (t) => {
  const world = stored(t, "store-v1");
  const before = readFileSync(join(world.store, "pawl.db"));
  const looked = await doctor(world);
  assert.equal(looked.code, 0);
  assert.match(looked.stdout, /! format 1, older than this build's \(--repair would bring it to format 3\)/);
  assert.deepEqual(readFileSync(join(world.store, "pawl.db")), before);
  const repaired = await doctor(world, "--repair");
  assert.equal(repaired.code, 0);
  assert.match(repaired.stdout, /✓ session whole: 31 events/);
  assert.ok(readdirSync(world.store).includes("pawl.db.format-1"));
});

test("no store, no session, a file that is no database: one line, and the code that says which", async (t) => {
  const world = new World(t);
  const nothing = await doctor(world);
  assert.equal(nothing.code, 0);
  assert.match(nothing.stdout, /! there is no store in /);
  const full = stored(t);
  const unknown = await doctor(full, "nobody");
  assert.equal(unknown.code, 3);
  assert.match(unknown.stderr, /^pawl: there is no session "nobody"; .*\n$/);
  writeFileSync(join(full.store, "pawl.db"), "not a database".repeat(500));
  const broken = await doctor(full);
  assert.equal(broken.code, 6);
  assert.match(broken.stdout, /✗ .*pawl\.db is damaged: .*not a database/);
  const hopeless = await doctor(full, "--repair");
  assert.equal(hopeless.code, 6);
  assert.match(hopeless.stderr, /nothing of .* can be read .*restore a backup\n$/);
});
