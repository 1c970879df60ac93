/** Every command on a PostgreSQL server: named, made, migrated, refused in words, copied from and to a folder. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import postgres from "postgres";
import { format } from "../../postgres/src/schema.ts";
import { PostgresServer } from "../../postgres/test/server.ts";
import { eventsOf, lastLine, World } from "./pawl-world.ts";
import { callsOnce, told, Yard } from "./worker-world.ts";

const server = await PostgresServer.start();
const sql = postgres(server.url("postgres"), { max: 1, onnotice: () => {} });
after(async () => {
  await sql.end({ timeout: 1 });
  await server.end();
});

const at = (schema: string, user = "postgres:not-for-eyes") =>
  `${server.url("postgres").replace("postgres@", `${user}@`)}?schema=${schema}`;

test("no command makes tables but migrate, which says what was and is; --check only tells", {
  timeout: 300_000,
}, async (t) => {
  const world = new World(t);
  const store = at(server.schema());
  const early = await world.pawl(["sessions", "--store", store]);
  assert.equal(early.code, 5);
  assert.match(early.stderr, /postgres:\*\*\*@127.*has no schema "test_\d+" with Pawl's tables; `pawl migrate`/);
  const due = await world.pawl(["migrate", "--check", "--json", "--store", store]);
  assert.equal(due.code, 8);
  const { store: _, ...figures } = JSON.parse(due.stdout) as { store: string };
  assert.deepEqual(figures, { ok: false, was: 0, is: 0, needed: format });
  const made = await world.pawl(["migrate", "--store", store]);
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, new RegExp(`schema test_\\d+: made, format ${format}\\n`));
  assert.equal((await world.pawl(["migrate", "--check", "--store", store])).code, 0);
  assert.match(
    (await world.pawl(["sessions", "--store", store])).stdout,
    /no sessions in postgres:\/\/postgres:\*\*\*@/,
  );
});

test("the same of a folder", { timeout: 300_000 }, async (t) => {
  const world = new World(t);
  const migrate = (...more: string[]) => world.pawl(["migrate", ...more, "--store", world.store]);
  assert.equal((await migrate("--check")).code, 8);
  assert.match((await migrate()).stdout, /: made, format \d+\n/);
  assert.match((await migrate("--check")).stdout, /: format \d+, nothing to do\n/);
  assert.match((await migrate("--grant", "somebody")).stderr, /is a folder, which has no roles/);
});

test("a newer schema is refused with both figures, by what drives and by migrate", { timeout: 300_000 }, async (t) => {
  const world = new World(t);
  const schema = server.schema();
  await world.pawl(["migrate", "--store", at(schema)]);
  await sql.unsafe(`UPDATE ${schema}.format SET format = 99`);
  for (const command of ["sessions", "migrate", "doctor"]) {
    const { code, stdout, stderr } = await world.pawl([command, "--store", at(schema)]);
    assert.equal(code, command === "doctor" ? 6 : 5, stderr);
    assert.match(stdout + stderr, new RegExp(`format 99.*(build reads up to ${format}|needs ${format})`));
  }
});

test("a role that may change no table drives; before it is granted and when tables are due it is told what to do", {
  timeout: 900_000,
}, async (t) => {
  const schema = server.schema();
  await sql.unsafe(`CREATE ROLE driver_${schema} LOGIN`);
  const world = new World(t);
  const place = new Yard(world, await world.server(callsOnce("echo hi")), at(schema, `driver_${schema}`));
  const refused = await place.pawl("migrate");
  assert.equal(refused.code, 5);
  assert.match(
    refused.stderr,
    /the user may not do this; grant it \(`pawl migrate --grant ROLE`\), or name another user \(42501/,
  );
  assert.equal((await world.pawl(["migrate", "--store", at(schema)])).code, 0);
  assert.match((await place.pawl("sessions")).stderr, /the user may not do this/);
  const granted = await world.pawl(["migrate", "--grant", `driver_${schema}`, "--store", at(schema)]);
  assert.match(granted.stdout, /nothing to do\nrole driver_test_\d+ may drive sessions in it, and change no table\n/);
  const worker = place.worker("--yes");
  const session = await place.post("run it");
  await told(worker, "released", session);
  await place.done(session);
  worker.kill("SIGTERM");
  assert.equal((await worker.ended).code, 0);
  const rights = await sql.unsafe(
    `SELECT has_schema_privilege('driver_${schema}', '${schema}', 'CREATE') AS make,
      has_table_privilege('driver_${schema}', '${schema}.format', 'UPDATE') AS raise`,
  );
  assert.deepEqual([...rights], [{ make: false, raise: false }]);
  await sql.unsafe(`UPDATE ${schema}.format SET format = 0`);
  assert.match((await place.pawl("sessions")).stderr, /`pawl migrate`, by a role that may, brings it there/);
});

test("whatever is wrong with the server is said with its address, without its password, and before it gives up on us", {
  timeout: 300_000,
}, async (t) => {
  const world = new World(t);
  const locked = await PostgresServer.start();
  t.after(() => locked.end());
  const admin = postgres(locked.url("postgres"), { max: 1, onnotice: () => {} });
  await admin.unsafe("ALTER ROLE postgres PASSWORD 'right'");
  const [rules] = await admin.unsafe("SHOW hba_file");
  await admin.unsafe(`COPY (SELECT 'host all all 127.0.0.1/32 scram-sha-256') TO '${String(rules?.["hba_file"])}'`);
  // Longer than this test may take: whoever was refused in its greeting does not wait for the server's end of it.
  await admin.unsafe("ALTER SYSTEM SET authentication_timeout = '10min'");
  await admin.unsafe("SELECT pg_reload_conf()");
  await admin.end();
  const here = `127.0.0.1:${locked.port}/postgres`;
  const cases: [string, number, RegExp][] = [
    [`postgres://postgres:topsecret@${here}`, 5, /it refuses the password; correct the URL/],
    [`postgres://postgres@${here}`, 5, /it asks for a password and none was given; name it in the URL/],
    [
      `${server.url("postgres").replace("postgres@", "postgres:topsecret@")}?sslmode=require`,
      5,
      /^pawl: .*it speaks no TLS; leave sslmode out/,
    ],
    ["postgres://u:topsecret@127.0.0.1:1/x", 5, /cannot be reached.*ECONNREFUSED 127\.0\.0\.1:1\); look at the server/],
    ["postgres://u:topsecret@no-host.invalid/x", 5, /no host of that name; correct the URL/],
    [`${server.url("nowhere").replace("postgres@", "postgres:topsecret@")}`, 5, /no such database; create it/],
    ["postgres://u:topsecret@127.0.0.1", 2, /it names no database; write postgres:/],
    ["postgres://u:topsecret@127.0.0.1/x?mode=odd", 2, /mode=odd is neither own nor pooled/],
    ["postgres://u:top@secret/more@127.0.0.1/x", 2, /in a password, write @ : /],
    ["mysql://u:topsecret@127.0.0.1/x", 2, /no such kind of store is known; write postgres:/],
  ];
  await Promise.all(
    cases.map(async ([store, code, words]) => {
      const ended = await world.pawl(["sessions", "--store", store]);
      assert.equal(ended.code, code, ended.stderr);
      assert.match(ended.stderr, words);
      if (/:\w+@/.test(store)) assert.match(ended.stderr, /:\*\*\*@/);
      assert.doesNotMatch(ended.stderr + ended.stdout, /topsecret|top@secret|secret\/more/);
    }),
  );
});

test("the store may be named in the environment or in the user's own configuration, never in a project's", {
  timeout: 900_000,
}, async (t) => {
  const world = new World(t);
  const [own, other] = [at(server.schema()), at(server.schema())];
  for (const store of [own, other]) await world.pawl(["migrate", "--store", store]);
  mkdirSync(join(world.work, ".pawl"));
  writeFileSync(join(world.work, ".pawl/config.json"), JSON.stringify({ store: other }));
  world.configure({ store: own });
  const posted = await world.pawl(["post", "hello"]);
  assert.equal(posted.code, 0, posted.stderr);
  const session = posted.stdout.trim();
  assert.match((await world.pawl(["sessions"])).stdout, new RegExp(session));
  assert.match((await world.pawl(["sessions", "--store", own])).stdout, new RegExp(session));
  assert.match((await world.pawl(["sessions"], { PAWL_STORE: other })).stdout, /no sessions/);
  const config = await world.pawl(["config"]);
  assert.match(config.stdout, /store +"postgres:\/\/postgres:\*\*\*@.*\(user\)/);
  assert.match(config.stderr, /passed over: store/);
  await world.pawl(["config", "trust"]);
  assert.match((await world.pawl(["config"])).stderr, /store does not count: only your own file/);
  assert.match((await world.pawl(["sessions"])).stdout, new RegExp(session));
  assert.doesNotMatch(config.stdout + config.stderr, /not-for-eyes/);
});

test("run, show, fork, erase, cost, resume and delete work on a server; commands are not told its address", {
  timeout: 900_000,
}, async (t) => {
  const world = new World(t);
  const model = await world.server(callsOnce('echo "[$PAWL_STORE]" > env.txt; echo not-for-eyes'));
  const env = { PAWL_STORE: at(server.schema()) };
  await world.pawl(["migrate"], env);
  const args = ["--model", "openai-chat:scripted", "--base-url", model.baseUrl("chat"), "--yes", "--json"];
  const ran = await world.pawl(["run", "look", "--session", "one", ...args], env);
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(lastLine(ran.stdout).text, "It is done.");
  assert.equal(world.read("env.txt"), "[]\n");
  // What a command says of it all the same is masked.
  const [settled] = eventsOf(ran.stdout).filter(({ type }) => type === "tool.settled");
  assert.match(JSON.stringify(settled), /\[PAWL_STORE\]/);
  assert.doesNotMatch(JSON.stringify(settled), /not-for-eyes/);
  const fork = await world.pawl(["fork", "one"], env);
  const child = fork.stdout.trim();
  for (const words of [
    ["show", child],
    ["cost", "one"],
    ["verify", child],
    ["name", "one", "first"],
    ["doctor"],
    ["erase", "one", "2", "--yes"],
    ["delete", "first", "--yes"],
  ]) {
    const { code, stderr } = await world.pawl(words, env);
    assert.equal(code, 0, `${words.join(" ")}: ${stderr}`);
  }
  const open = await world.pawl(["resume", child, ...args], env);
  assert.match(open.stderr, /has no interrupted turn to resume/);
});

test("a whole folder goes to a server and back unchanged: forks, names, what waits; begun again it goes on", {
  timeout: 900_000,
}, async (t) => {
  const world = new World(t);
  const model = await world.server({ entries: [], fallback: [{ text: "Done." }] });
  const place = world.place(model);
  for (const id of ["one", "two"]) await world.pawl(["run", `do ${id}`, "--session", id, ...place]);
  await world.pawl(["fork", "one", "--session", "child", "--store", world.store]);
  await world.pawl(["run", "and more", "--session", "child", ...place]);
  await world.pawl(["name", "two", "release", "--store", world.store]);
  await world.pawl(["post", "it waits", "--session", "release", "--store", world.store]);
  const store = at(server.schema());
  const back = join(world.root, "back");
  await world.pawl(["migrate", "--store", store]);
  const copied = await world.pawl(["copy", "--all", "--json", "--store", world.store, "--to", store]);
  assert.equal(copied.code, 0, copied.stderr);
  const told = JSON.parse(copied.stdout) as { copied: number; records: number };
  assert.deepEqual({ ...told, records: 0 }, { ok: true, copied: 3, there: 0, records: 0, errors: [] });
  assert.ok(told.records > 20);
  assert.match((await world.pawl(["copy", "--all", "--store", store, "--to", back])).stdout, /3 sessions copied; /);
  for (const id of ["one", "child", "release"]) {
    const exported = await Promise.all(
      [world.store, store, back].map(async (from) => (await world.pawl(["export", id, "--store", from])).stdout),
    );
    assert.ok((exported[0]?.length ?? 0) > 1000);
    assert.equal(exported[1], exported[0], `${id} on the server`);
    assert.equal(exported[2], exported[0], `${id} back in a folder`);
  }
  const shown = await world.pawl(["show", "release", "--store", back]);
  assert.match(shown.stdout + shown.stderr, /it waits/);
  const again = await world.pawl(["copy", "--all", "--store", world.store, "--to", store]);
  assert.match(again.stdout, /0 sessions copied, 3 were there; /);
  const later = await world.pawl(["run", "further", "--session", "one", ...place]);
  assert.equal(later.code, 0, later.stderr);
  const behind = await world.pawl(["copy", "--all", "--store", world.store, "--to", store]);
  assert.equal(behind.code, 4);
  assert.match(behind.stderr, /session one is there, without its last \d+ records; delete it there/);
  const wrong = await world.pawl(["copy", "--store", world.store, "--to", store]);
  assert.match(wrong.stderr, /no session: name one session, or say --all/);
  assert.match((await world.pawl(["copy", "one", "--store", store, "--to", store])).stderr, /is the store itself/);
});

test("export and import carry a session between a folder and a server, whichever is first", {
  timeout: 300_000,
}, async (t) => {
  const world = new World(t);
  const model = await world.server({ entries: [], fallback: [{ text: "Done." }] });
  const [first, second] = [at(server.schema()), at(server.schema())];
  for (const store of [first, second]) await world.pawl(["migrate", "--store", store]);
  await world.pawl(["run", "do it", "--session", "one", ...world.place(model)]);
  let from = world.store;
  for (const [n, to] of [first, join(world.root, "folder"), second].entries()) {
    const file = join(world.root, `${n}.jsonl`);
    assert.equal((await world.pawl(["export", "one", "--out", file, "--store", from])).code, 0);
    const { code, stderr } = await world.pawl(["import", file, "--store", to]);
    assert.equal(code, 0, stderr);
    from = to;
  }
  const [one, , three] = [0, 1, 2].map((n) => readFileSync(join(world.root, `${n}.jsonl`), "utf8"));
  assert.equal(three, one);
});
