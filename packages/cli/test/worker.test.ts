/** `pawl worker` as processes of its own: on a folder, and on a PostgreSQL server, with the same tests. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import type { Entry, RecordedRequest } from "@pawl/model-server";
import { PostgresServer } from "../../postgres/test/server.ts";
import { World } from "./pawl-world.ts";
import { callsOnce, Gate, told, Yard } from "./worker-world.ts";

const postgres = await PostgresServer.start();
after(() => postgres.end());

type Ground = (t: TestContext, script: (request: RecordedRequest) => Entry) => Promise<Yard>;

async function yard(t: TestContext, script: Parameters<Ground>[1], store: (world: World) => string): Promise<Yard> {
  const world = new World(t);
  const place = new Yard(world, await world.server(script), store(world));
  const { code, stderr } = await place.pawl("migrate");
  assert.equal(code, 0, stderr);
  return place;
}

const onFolder: Ground = (t, script) => yard(t, script, (world) => world.store);
const onServer: Ground = (t, script) =>
  yard(t, script, () => `${postgres.url("postgres")}?schema=${postgres.schema()}`);

/** The gate is made before the script that names its command. */
async function gated(t: TestContext, ground: Ground): Promise<{ place: Yard; gate: Gate }> {
  let gate: Gate | undefined;
  const place = await ground(t, (request) => callsOnce(gate?.command ?? "")(request));
  gate = new Gate(place.world);
  return { place, gate };
}

for (const [name, ground] of [
  ["a folder", onFolder],
  ["a PostgreSQL server", onServer],
] as const) {
  describe(`workers on ${name}`, { timeout: 900_000 }, () => {
    test("what is posted is driven in its own folder; a question waits and is answered from another process", async (t) => {
      const place = await ground(t, callsOnce("pwd > here.txt"));
      const worker = place.worker("--health", "0");
      const session = await place.post("make the file");
      const follower = place.world.start(["follow", session, "--json", "--store", place.store]);
      const asked = await told(worker, "asked", session);
      assert.match(String(asked["input"]), /here\.txt/);
      const shown = await place.pawl("answer", session);
      assert.match(shown.stdout, /pwd > here\.txt[\s\S]*always would mean: exactly this call/);
      const answered = await place.pawl("answer", session, "yes");
      assert.equal(answered.code, 0, answered.stderr);
      await told(worker, "released", session);
      assert.equal((await follower.ended).code, 0);
      assert.match(await place.done(session), /"by":"tool"/);
      assert.equal(place.world.read("here.txt").trim(), place.world.work);
      worker.kill("SIGTERM");
      const { code, stderr } = await worker.ended;
      assert.equal(code, 0, stderr);
      assert.match(stderr, /left, nothing was cut off/);
      assert.equal((await place.pawl("answer", session, "yes")).code, 2, "nothing is asked any more");
    });

    test("whoever follows what nobody drives yet is told so, and sees the turn when a worker comes", async (t) => {
      const place = await ground(t, callsOnce("echo hi"));
      const session = await place.post("say hi");
      const follower = place.world.start(["follow", session, "--store", place.store]);
      await follower.said(/what was posted waits for a worker/);
      assert.match((await place.pawl("sessions")).stdout, / waiting +say hi\n$/);
      const worker = place.worker("--yes");
      const { code, stdout, stderr } = await follower.ended;
      assert.equal(code, 0, stderr);
      assert.match(stdout + stderr, /It is done\.[\s\S]*✓ done/);
      worker.kill("SIGTERM");
      assert.equal((await worker.ended).code, 0);
    });

    test("L7: SIGTERM in the middle of a tool hands over behind it, and the next worker goes on there", async (t) => {
      const { place, gate } = await gated(t, ground);
      const first = place.worker("--yes", "--grace", "200");
      const session = await place.post("run it");
      await gate.begun();
      const follower = place.world.start(["follow", session, "--store", place.store]);
      await follower.said(/is driven by/);
      first.kill("SIGTERM");
      await first.said(/leaving: 1 session goes on/);
      gate.open();
      assert.equal((await first.ended).code, 0, first.stderr);
      await told(first, "handed-over", session);
      await follower.said(
        /has left it within a turn; nobody drives it\n +A worker goes on inside the turn, or: pawl resume /,
      );
      const second = place.worker("--yes");
      assert.ok((await told(second, "claimed", session))["takesOver"]);
      await told(second, "released", session);
      assert.equal((await follower.ended).code, 0, follower.stderr);
      assert.match(await place.done(session), /went/);
      assert.equal(gate.runs, 1);
      second.kill("SIGTERM");
      assert.equal((await second.ended).code, 0);
    });

    test("L4: killed in the middle of a tool, the next worker waits for the command's true end; it ran once", async (t) => {
      const { place, gate } = await gated(t, ground);
      const first = place.worker("--yes");
      const session = await place.post("run it");
      await gate.begun();
      first.kill("SIGKILL");
      await first.ended;
      const second = place.worker("--yes");
      assert.ok((await told(second, "claimed", session))["takesOver"]);
      gate.open();
      await told(second, "released", session);
      assert.match(await place.done(session), /went/);
      assert.equal(gate.runs, 1);
    });

    test("a second signal leaves at once, and says so with its exit code", async (t) => {
      const { place, gate } = await gated(t, ground);
      const first = place.worker("--yes");
      const session = await place.post("run it");
      await gate.begun();
      first.kill("SIGTERM");
      await first.said(/leaving/);
      first.kill("SIGTERM");
      const { code, stderr } = await first.ended;
      assert.equal(code, 11, stderr);
      assert.match(stderr, new RegExp(`left in the middle of ${session}`));
      const second = place.worker("--yes");
      await told(second, "released", session);
      await place.done(session);
      assert.equal(gate.runs, 1);
    });

    test("a session that only waits for a person keeps no worker from leaving; the next one asks the same", async (t) => {
      const place = await ground(t, callsOnce("echo made > made.txt"));
      const first = place.worker("--grace", "1000");
      const session = await place.post("make it");
      await told(first, "asked", session);
      const shown = await place.pawl("show", session);
      assert.match(
        shown.stdout,
        /\nrunning, by process \d+ on .*\nit waits for an answer, since \d{4}.*: bash echo made > made\.txt/,
      );
      assert.match(shown.stdout, new RegExp(`\\n  pawl answer ${session}`));
      first.kill("SIGTERM");
      const { code, stderr } = await first.ended;
      assert.equal(code, 0, stderr);
      assert.match(stderr, /what waits for an answer \(1 session\) is there for the next worker\n$/);
      assert.doesNotMatch(first.lines.join("\n"), /store-away/);
      assert.equal((await place.pawl("answer", session, "no", "--reason", "not here")).code, 0);
      const second = place.worker();
      await told(second, "released", session);
      assert.match(await place.done(session), /not here/);
    });

    test("two workers share what there is: each session is driven once", async (t) => {
      const place = await ground(t, callsOnce("echo ran >> ran.txt"));
      const workers = [place.worker("--yes", "--concurrency", "2"), place.worker("--yes", "--concurrency", "2")];
      const sessions = await Promise.all([1, 2, 3, 4].map((n) => place.post(`job ${n}`)));
      for (const session of sessions) await Promise.any(workers.map((worker) => told(worker, "released", session)));
      await Promise.all(sessions.map((session) => place.done(session)));
      assert.equal(place.world.read("ran.txt").trim().split("\n").length, sessions.length);
      for (const worker of workers) worker.kill("SIGINT");
      for (const worker of workers) assert.equal((await worker.ended).code, 0);
      const claimed = workers.flatMap(({ lines }) => lines.filter((text) => text.includes('"claimed"')));
      assert.equal(claimed.length, sessions.length);
    });

    test("a session whose folder is not on this machine is left alone, and said once", async (t) => {
      const place = await ground(t, callsOnce("true"));
      const gone = join(place.world.root, "elsewhere");
      const session = await place.post("run it", "--cwd", gone);
      const worker = place.worker();
      const parked = await told(worker, "parked", session);
      assert.match(String(parked["error"]), /its folder .*elsewhere is not on this machine/);
      assert.deepEqual(
        (await place.events(session)).map(({ type }) => type),
        ["session.created"],
      );
      worker.kill("SIGTERM");
      assert.equal((await worker.ended).code, 0);
    });
  });
}

test("health: it lives, it is ready while the store answers, and not while it leaves", {
  timeout: 300_000,
}, async (t) => {
  const { place, gate } = await gated(t, onFolder);
  const worker = place.worker("--yes", "--health", "0");
  await worker.said(/health on http/);
  const url = /health on (http:\/\/127\.0\.0\.1:\d+)/.exec(worker.stderr)?.[1] ?? "";
  const get = async (path: string) => {
    const response = await fetch(url + path);
    return { status: response.status, body: (await response.json()) as { [field: string]: unknown } };
  };
  assert.deepEqual(await get("/livez"), { status: 200, body: { live: true } });
  const ready = { ready: true, store: "reached", draining: false, driving: 0, places: 4 };
  assert.deepEqual(await get("/readyz"), { status: 200, body: ready });
  assert.equal((await get("/metrics")).status, 404);
  await place.post("run it");
  await gate.begun();
  worker.kill("SIGTERM");
  await worker.said(/leaving/);
  const leaving = { ready: false, store: "reached", draining: true, driving: 1, places: 4 };
  assert.deepEqual(await get("/readyz"), { status: 503, body: leaving });
  assert.equal((await get("/livez")).status, 200);
  gate.open();
  assert.equal((await worker.ended).code, 0);
});

test("health: a store that is away is said by readiness and in words; the worker stays, and goes on when it is back", {
  timeout: 900_000,
}, async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.end());
  const world = new World(t);
  const place = new Yard(world, await world.server(callsOnce("true")), server.url("postgres"));
  assert.equal((await place.pawl("migrate")).code, 0);
  const worker = place.worker("--yes", "--health", "0");
  await worker.said(/health on http/);
  const url = /health on (http:\/\/127\.0\.0\.1:\d+)/.exec(worker.stderr)?.[1] ?? "";
  await server.halt("SIGQUIT");
  assert.equal((await fetch(`${url}/readyz`)).status, 503);
  await told(worker, "store-away");
  await server.boot();
  await told(worker, "store-back");
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  const session = await place.post("run it");
  await told(worker, "released", session);
  await place.done(session);
  worker.kill("SIGTERM");
  assert.equal((await worker.ended).code, 0);
});

test("a module of the user's hears everything, and is closed at the end; one that throws costs nothing", {
  timeout: 300_000,
}, async (t) => {
  const place = await onFolder(t, callsOnce("true"));
  const file = join(place.world.root, "telemetry.mjs");
  const heard = join(place.world.root, "heard");
  writeFileSync(
    file,
    `import { appendFileSync } from "node:fs";
    const say = (text) => appendFileSync(${JSON.stringify(heard)}, text + "\\n");
    export const worker = ({ open }) => ({
      async on(event) { say(event.type + (event.type === "ended" ? " " + (await open(event.session)).id : "")); },
      async close() { say("closed"); },
    });`,
  );
  const worker = place.worker("--yes", "--telemetry", file);
  const session = await place.post("run it");
  await told(worker, "released", session);
  worker.kill("SIGTERM");
  assert.equal((await worker.ended).code, 0, worker.stderr);
  // Opening takes a moment, in which more is told.
  const lines = readFileSync(heard, "utf8").trim().split("\n");
  assert.deepEqual(lines.sort(), ["claimed", "closed", `ended ${session}`, "released"]);
  writeFileSync(file, 'export const worker = () => ({ on() { throw new Error("no meter"); } });');
  const second = place.worker("--yes", "--telemetry", file);
  const other = await place.post("run it, too");
  await told(second, "released", other);
  await place.done(other);
});

test("words that are wrong are said before anything is driven", { timeout: 300_000 }, async (t) => {
  const place = await onFolder(t, callsOnce("true"));
  for (const [args, words] of [
    [["--health", "nonsense"], /--health nonsense: write \[HOST:\]PORT/],
    [["--telemetry", join(place.world.root, "none.mjs")], /--telemetry .* could not be loaded/],
    [["--concurrency", "0"], /whole number of 1 or more/],
  ] as const) {
    const worker = place.worker(...args);
    const { code, stderr } = await worker.ended;
    assert.equal(code, 2, stderr);
    assert.match(stderr, words);
  }
  const nobody = await place.pawl("worker");
  assert.equal(nobody.code, 2, nobody.stderr);
  rmSync(place.store, { recursive: true });
});

test("post: an empty prompt, a steer without a session, a task's session are refused", {
  timeout: 300_000,
}, async (t) => {
  const place = await onFolder(t, callsOnce("true"));
  for (const [args, words] of [
    [[" "], /the prompt is empty/],
    [["go", "--steer"], /name its session with --session/],
    [["go", "--session", "s_1M8R5RZYBDN23E38TD16F", "--steer"], /there is no session/],
  ] as const) {
    const { code, stderr } = await place.pawl("post", ...args);
    assert.ok(code === 2 || code === 3, stderr);
    assert.match(stderr, words);
  }
});
