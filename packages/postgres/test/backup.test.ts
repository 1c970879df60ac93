/**
 * A backup that was taken while workers drive, and what it means to go on from it: laws hold, and what happened in the world
 * after it happens again unless somebody settles it first.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { createWorker, type LogEntry, openSession, type Runtime, verify } from "@pawl/core";
import { nodeEffects, thisHolder } from "@pawl/core/node";
import postgres from "postgres";
import { postgresStore } from "../src/index.ts";
import { allEnded, Fleet, makeSessions } from "./fleet.ts";
import { actsPerTurn, fleetAgent } from "./fleet-agent.ts";
import { PostgresServer } from "./server.ts";

const hasTools = spawnSync("pg_restore", ["--version"]).status === 0;
const skip = hasTools ? false : "there is no pg_dump and pg_restore here";

const root = await mkdtemp(join(tmpdir(), "pawl-backup-"));
const server = await PostgresServer.start();
const sql = postgres(server.url("postgres"), { max: 1, onnotice: () => {} });
after(async () => {
  await sql.end({ timeout: 1 });
  await server.end();
  await rm(root, { recursive: true, force: true });
});

/** As the page for operators says it, so that what stands there is what is tried here. */
const page = await readFile(join(import.meta.dirname, "../../../docs/operation.md"), "utf8");
const [, afterRestore = ""] = page.match(/```sql after a restore\n([\s\S]*?)```/) ?? [];

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
}

/** A pg_dump that is newer than the server says of a sequence that it is LOGGED, which 14 does not know. */
async function restore(dump: string, url: string): Promise<void> {
  const script = `${dump}.sql`;
  run("pg_restore", ["-f", script, dump]);
  await writeFile(script, (await readFile(script, "utf8")).replace(/^ {4}LOGGED\n/m, ""));
  run("psql", ["-q", "-v", "ON_ERROR_STOP=1", "-1", "-f", script, url]);
}

async function opened(url: string): Promise<Runtime> {
  return { store: await postgresStore({ url, connections: 4 }), effects: nodeEffects(), holder: thisHolder() };
}

async function lines(file: string): Promise<string[]> {
  return (await readFile(file, "utf8")).trim().split("\n");
}

/** What bodies were entered for, by the input of their calls. */
function enteredItems(entries: readonly LogEntry[]): unknown[] {
  const items = new Map<string, unknown>();
  for (const { event } of entries) {
    if (event.type !== "message.committed") continue;
    for (const part of event.parts) if (part.type === "tool-call") items.set(part.id, JSON.parse(part.input).item);
  }
  return entries.flatMap(({ event }) => (event.type === "tool.entered" ? [items.get(event.call)] : []));
}

const sessions = 12;

describe("a backup", () => {
  test("L3 L4 L8: taken while workers drive, it is one moment of every session; who goes on does so under greater epochs", {
    skip,
    timeout: 120_000,
  }, async () => {
    assert.notEqual(afterRestore, "");
    await sql.unsafe("CREATE DATABASE first");
    await sql.unsafe("CREATE DATABASE second");
    const [url, copy] = [server.url("first"), server.url("second")];
    const first = await opened(url);
    const before = join(root, "before");
    const fleet = new Fleet({ args: [`postgres:${url}`, "pawl"], runtime: first }, before, 20);
    const ids = await makeSessions(first, sessions, 2);
    await Promise.all([fleet.start(), fleet.start()]);
    await fleet.reached(sessions * actsPerTurn * 0.75);

    const dump = join(root, "dump");
    run("pg_dump", ["-Fc", "-n", "pawl", "-f", dump, url]);
    await allEnded(first, ids, 2);
    await fleet.drain();
    await fleet.reckon(ids, 2);
    const epochs = new Map((await first.store.list()).map(({ session, epoch }) => [session, epoch]));
    await first.store.close();

    await restore(dump, copy);
    const restored = postgres(copy, { max: 1 });
    await restored.unsafe(afterRestore);
    await restored.end();
    const second = await opened(copy);
    const entered = new Set<string>();
    let open = 0;
    for (const id of ids) {
      const session = await openSession(second, id);
      const entries = await session.entries();
      assert.deepEqual(
        verify(entries).flatMap(({ violations }) => violations),
        [],
        id,
      );
      for (const item of enteredItems(entries)) entered.add(`${id} ${item}`);
      if ((await session.summary())?.head.openTurn !== undefined) open += 1;
      // Nobody of before the restore has an epoch that is given out again.
      assert.ok(((await session.summary())?.epoch ?? 0) > (epochs.get(id) ?? 0) + 1_000);
    }
    assert.ok(open > 0, "the backup fell into the middle of turns");

    const again = join(root, "again");
    const worker = createWorker({
      runtime: second,
      agent: ({ id }) => fleetAgent(id, again, 1, () => {}),
      concurrency: 4,
    });
    await allEnded(second, ids, 2);
    await worker.drain();
    for (const id of ids) {
      const entries = await (await openSession(second, id)).entries();
      assert.deepEqual(
        verify(entries).flatMap(({ violations }) => violations),
        [],
        id,
      );
    }
    const [done, repeated] = [await lines(before), await lines(again)];
    assert.equal(new Set(repeated).size, repeated.length, "nothing happens twice after the restore");
    // What the backup knows of does not happen again; what it does not know of does: nobody can know.
    const twice = repeated.filter((line) => done.includes(line));
    assert.ok(twice.length > 0);
    assert.ok(entered.size > 0);
    for (const line of twice) assert.ok(!entered.has(line), `${line} was entered before the backup`);
    await second.store.close();
  });

  test("settled before workers start, an open turn of the backup repeats nothing", {
    skip,
    timeout: 120_000,
  }, async () => {
    await sql.unsafe("CREATE DATABASE third");
    const copy = server.url("third");
    await restore(join(root, "dump"), copy);
    const restored = postgres(copy, { max: 1 });
    await restored.unsafe(afterRestore);
    await restored.end();
    const runtime = await opened(copy);
    const file = join(root, "settled");
    for (const { session, head } of await runtime.store.list()) {
      if (head.openTurn === undefined) continue;
      const { outcome } = await (await openSession(runtime, session)).settle(fleetAgent(session, file, 1, () => {}))
        .result;
      assert.equal(outcome.type, "interrupted");
      const entries = await (await openSession(runtime, session)).entries();
      assert.deepEqual(
        verify(entries).flatMap(({ violations }) => violations),
        [],
        session,
      );
    }
    assert.ok((await runtime.store.list()).every(({ head }) => head.openTurn === undefined));
    await assert.rejects(readFile(file), { code: "ENOENT" });
    await runtime.store.close();
  });
});
