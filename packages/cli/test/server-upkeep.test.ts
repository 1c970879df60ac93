/** What is looked after on a server as in a folder, and what lies on another machine and is said to lie there. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { PostgresServer } from "../../postgres/test/server.ts";
import { World } from "./pawl-world.ts";

const postgres = await PostgresServer.start();
after(() => postgres.end());

const long = "for i in $(seq 1 4000); do echo line $i of a long output; done; echo";

test("prune, diff, undo, redo, doctor, erase and delete on a server; elsewhere they say what is not there", {
  timeout: 900_000,
}, async (t) => {
  const world = new World(t);
  const env = { PAWL_STORE: `${postgres.url("postgres")}?schema=${postgres.schema()}` };
  const far = join(world.root, "far");
  mkdirSync(far);
  const here = (...args: string[]) => world.pawl(args, env);
  const elsewhere = (...args: string[]) => world.pawl(args, { ...env, XDG_DATA_HOME: far });
  let calls = 0;
  const server = await world.server(({ body }) => {
    if (/"role":"tool"/.test(body.slice(body.lastIndexOf('"role":"user"')))) return [{ text: "Done." }];
    calls += 1;
    return [{ call: "bash", input: { command: `${long} ${calls} > a.txt` } }];
  });
  const model = ["--model", "openai-chat:scripted", "--base-url", server.baseUrl("chat"), "--yes"];
  assert.equal((await here("migrate")).code, 0);
  for (const prompt of ["first", "second"])
    assert.equal((await here("run", prompt, "--session", "one", ...model)).code, 0);
  assert.match((await here("diff", "one")).stdout, /-1\n\+2\n/);
  for (const verb of ["diff", "undo"]) {
    const { code, stderr } = await elsewhere(verb, "one", ...(verb === "undo" ? ["--yes"] : []));
    assert.equal(code, 2);
    assert.match(stderr, /was not kept in .*far.*: it is where it was taken, on another machine/);
  }
  assert.equal((await here("undo", "one", "--yes")).code, 0);
  assert.equal(world.read("a.txt"), "1\n");
  assert.match((await elsewhere("redo", "--yes")).stderr, /of an undo that was done on this machine: there is nothing/);
  assert.equal((await here("redo", "--yes")).code, 0);
  assert.equal(world.read("a.txt"), "2\n");
  const doctor = await here("doctor", "--repair");
  assert.deepEqual([doctor.code, doctor.stdout.match(/all as they were written/g)?.length], [0, 3], doctor.stdout);

  // A session of its own: what forks read stays, and here are none.
  assert.equal((await here("run", "third", "--session", "two", ...model)).code, 0);
  const settled = (await here("show", "two", "--json")).stdout
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text) as { seq: number; type: string })
    .find(({ type }) => type === "tool.settled");
  const kept = /What commands have said is kept on \S+, in .*beside.* too: it goes only there/s;
  const beside = join(world.env["XDG_DATA_HOME"] ?? "", "pawl", "beside");
  const spilled = () => readdirSync(beside).flatMap((store) => readdirSync(join(beside, store, "spill")));
  const before = spilled().length;
  const erased = await elsewhere("erase", "two", String(settled?.seq), "--yes");
  assert.equal(erased.code, 0, erased.stderr);
  assert.match(erased.stderr.replaceAll(/\s+/g, " "), kept);
  assert.equal(spilled().length, before);
  const young = await here("prune", "--older-than", "1h", "--yes");
  assert.deepEqual([young.code, young.stdout], [0, "deleted 0 sessions\n"]);
  const deleted = await elsewhere("delete", "two", "--yes");
  assert.match(deleted.stderr.replaceAll(/\s+/g, " "), kept);
  assert.equal((await here("run", "fourth", "--session", "three", ...model)).code, 0);
  const both = spilled().length;
  const gone = await here("prune", "--older-than", "0h", "--blobs", "--yes");
  assert.equal(gone.code, 0, gone.stderr);
  assert.match(gone.stdout, /^deleted 4 sessions; removed 0 blobs\n$/);
  assert.doesNotMatch(gone.stderr, /What commands have said/);
  assert.ok(spilled().length < both, "what was said here went with it");
  assert.match((await here("sessions")).stdout, /no sessions/);
});
