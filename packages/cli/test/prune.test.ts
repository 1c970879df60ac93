/** `pawl prune`: what has had its time goes with what lies beside it, after a word. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { World } from "./pawl-world.ts";

test("prune: told before, asked for, and gone; what has a name or is young stays", async (t) => {
  const world = new World(t);
  const command = "for i in $(seq 1 4000); do echo line $i of a long output; done";
  const server = await world.server({
    entries: [[{ call: "bash", input: { command } }], [{ text: "It is long." }]],
    fallback: [{ text: "Short." }],
  });
  const place = world.place(server);
  const at = ["--store", world.store];
  for (const session of ["long", "named"]) {
    const { code, stderr } = await world.pawl(["run", `Say ${session}`, "--session", session, "--yes", ...place]);
    assert.equal(code, 0, stderr);
  }
  assert.equal((await world.pawl(["name", "named", "release", ...at])).code, 0);
  const spilled = () => readdirSync(join(world.store, "spill"));
  assert.equal(spilled().length, 1);

  for (const wrong of ["90", "d", "-1d", "1y"]) {
    const refused = await world.pawl(["prune", `--older-than=${wrong}`, "--yes", ...at]);
    assert.equal(refused.code, 2, wrong);
    assert.match(refused.stderr, /hours, days or weeks is needed/);
  }
  const young = await world.pawl(["prune", "--older-than", "1h", "--yes", ...at]);
  assert.deepEqual([young.code, young.stdout], [0, "deleted 0 sessions\n"]);

  const dry = await world.pawl(["prune", "--older-than", "0h", "--dry-run", ...at]);
  assert.deepEqual([dry.code, dry.stdout], [0, "would delete 1 session; old enough and kept: 1 named\n"]);
  assert.match(dry.stderr, /^long · Say long · last used \d{4}-/);
  const asked = await world.pawl(["prune", "--older-than", "0h", ...at]);
  assert.equal(asked.code, 2);
  assert.match(asked.stderr, /deleting sessions cannot be undone, and there is no terminal to ask in/);
  assert.equal((await world.pawl(["show", "long", ...at])).code, 0);

  const gone = await world.pawl(["prune", "--older-than", "0h", "--blobs", "--yes", "--json", ...at]);
  assert.equal(gone.code, 0, gone.stderr);
  const kept = { driven: 0, waiting: 0, interrupted: 0, named: 1 };
  assert.deepEqual(JSON.parse(gone.stdout), { ok: true, dryRun: false, deleted: ["long"], kept, blobs: 0 });
  assert.equal((await world.pawl(["show", "long", ...at])).code, 3);
  assert.deepEqual(spilled(), []);
  const last = await world.pawl(["prune", "--older-than", "0h", "--named", "--yes", ...at]);
  assert.deepEqual([last.code, last.stdout], [0, "deleted 1 session\n"]);
});
