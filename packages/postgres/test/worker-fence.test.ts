/** A worker process that is paused past its leases and woken: what it was doing is stopped, and nothing begins (L4, L8). */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createSession, openSession, verify } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import pg from "pg";
import { postgresStore } from "../src/index.ts";
import { allEnded } from "./fleet.ts";
import { PostgresServer } from "./server.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-fence-"));
const server = await PostgresServer.start();
const children: ChildProcess[] = [];
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await server.end();
  await rm(root, { recursive: true, force: true });
});

const script = fileURLToPath(new URL("./fence-process.ts", import.meta.url));
const sessions = ["body", "model", "call"];

function start(...args: string[]) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  const said = new Set<string>();
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    said.add(line);
    for (const look of waiting) look();
  });
  const heard = (...lines: string[]) =>
    new Promise<void>((resolve) => {
      const look = () => lines.every((line) => said.has(line)) && resolve();
      waiting.add(look);
      look();
    });
  return { child, said, heard };
}

test("L4 L8: its request and its body hear of it, and a call that its model makes then is never entered", {
  timeout: 90_000,
}, async () => {
  const url = server.url("postgres");
  const schema = server.schema();
  const effects = join(root, "effects");
  await writeFile(effects, "");
  const store = await postgresStore({ url, schema });
  const runtime = { store, effects: nodeEffects(), holder: thisHolder() };
  for (const id of sessions) await (await createSession(runtime, id)).post("input", "go");

  const paused = start(url, schema, "paused", effects, "");
  await paused.heard(...sessions.map((id) => `begun ${id}`));
  paused.child.kill("SIGSTOP");
  const sql = new pg.Client(url);
  await sql.connect();
  await sql.query(`UPDATE ${schema}.session SET expires_at = 0 WHERE leased <> 0`);
  await sql.end();

  const next = start(url, schema, "next", effects, "finish");
  await allEnded(runtime, sessions, 1);
  paused.child.stdin.write("go on\n");
  paused.child.kill("SIGCONT");
  await paused.heard("stopped body", "stopped model", "called call");
  for (const { child } of [paused, next]) {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
    assert.equal(child.exitCode, 0);
  }

  assert.deepEqual((await readFile(effects, "utf8")).trim().split("\n").sort(), ["body paused", "call next"]);
  for (const id of sessions) {
    const entries = await (await openSession(runtime, id)).entries();
    assert.deepEqual(
      verify(entries).flatMap(({ violations }) => violations),
      [],
    );
    const ends = entries.flatMap(({ event }) => (event.type === "turn.ended" ? event.outcome.type : []));
    assert.deepEqual(ends, ["completed"], id);
  }
  await store.close();
});
