/** The SQLite store between processes: fences, watches and sudden death. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, test } from "node:test";
import { decodeAll } from "../src/log/codec.ts";
import { type SqliteStore, sqliteStore } from "../src/store/sqlite.ts";
import { WorkerLink } from "../src/store/sqlite-link.ts";
import { createSession, StoreWorld, textsOf } from "../src/testing/store-world.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-process-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;

function folder(): string {
  folders += 1;
  return join(root, `${folders}`);
}

function open(dir: string, { clock, timers, isAlive }: StoreWorld): Promise<SqliteStore> {
  return sqliteStore({ dir, clock, timers, isAlive });
}

interface Writer {
  child: ChildProcess;
  /** What it says, a line each. */
  lines: AsyncIterator<string>;
}

/** A process of its own that appends to a session and says so after each acknowledgement. See store-writer.ts. */
function writer(dir: string, session: string, mode: "lease" | "contend", count: number): Writer {
  const script = new URL("./store-writer.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, dir, session, mode, String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  assert.ok(child.stdout);
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

async function exit(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

async function all(lines: AsyncIterator<string>): Promise<string[]> {
  const got: string[] = [];
  for (let next = await lines.next(); !next.done; next = await lines.next()) got.push(next.value);
  return got;
}

describe("processes", () => {
  test("eight processes make one file at once", async () => {
    const dir = folder();
    const writers = Array.from({ length: 8 }, (_, index) => writer(dir, `s${index}`, "lease", 3));
    for (const { child } of writers) assert.equal(await exit(child), 0);
    const store = await open(dir, new StoreWorld());
    assert.equal((await store.list()).length, 8);
    await store.close();
  });

  test("two processes, 100 appends each, on their own sessions: none is lost", async () => {
    const dir = folder();
    const writers = ["a", "b"].map((session) => writer(dir, session, "lease", 100));
    for (const { child } of writers) assert.equal(await exit(child), 0);
    const store = await open(dir, new StoreWorld());
    for (const session of ["a", "b"]) {
      assert.deepEqual(
        textsOf(await store.read(session)).slice(1),
        Array.from({ length: 100 }, (_, index) => `${index}`),
      );
    }
    await store.close();
  });

  test("two processes contend for one session: each acknowledged append is there once, epochs never fall (L8)", async () => {
    const dir = folder();
    const world = new StoreWorld();
    const store = await open(dir, world);
    await createSession(store, "s");
    const writers = [1, 2].map(() => writer(dir, "s", "contend", 100));
    const said = (await Promise.all(writers.map(({ lines }) => all(lines)))).flat();
    for (const { child } of writers) assert.equal(await exit(child), 0);
    const records = await store.read("s");
    decodeAll(records);
    assert.deepEqual(textsOf(records).slice(1).sort(), said.sort());
    assert.equal(said.length, 200);
    await store.close();
  });

  test("a watcher hears of another process's work through the poll", async () => {
    const dir = folder();
    const world = new StoreWorld();
    const store = await open(dir, world);
    await createSession(store, "s");
    let heard = 0;
    const end = store.watch("s", () => {
      heard += 1;
    });
    await world.until(() => heard > 0);
    heard = 0;
    const { child } = writer(dir, "s", "contend", 1);
    await world.until(() => heard > 0);
    assert.equal(await exit(child), 0);
    end();
    await store.close();
  });

  test("kill -9 at any moment: every acknowledged append is there, and the log is whole (L3)", async () => {
    for (const acknowledged of [1, 17, 60]) {
      const dir = folder();
      const { child, lines } = writer(dir, "s", "lease", 1_000_000);
      const said: string[] = [];
      while (said.length < acknowledged) said.push((await lines.next()).value);
      child.kill("SIGKILL");
      said.push(...(await all(lines)));
      await exit(child);
      const world = new StoreWorld();
      const store = await open(dir, world);
      const records = await store.read("s", { limit: 1_000_000 });
      decodeAll(records);
      const texts = textsOf(records).slice(1);
      assert.deepEqual(texts.slice(0, said.length), said);
      assert.ok(texts.length <= said.length + 1, "at most the one that was under way");
      await store.delete("s");
      await store.close();
    }
  });

  test("an open store with nothing under way does not keep the process alive", async () => {
    const { child, lines } = writer(folder(), "s", "lease", 2);
    assert.deepEqual(await all(lines), ["0", "1"]);
    assert.equal(await exit(child), 0);
  });
});

describe("the thread", () => {
  test("its death fails what waits and what comes, with what to do; close still works", async () => {
    const script = "import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => process.exit(3))";
    const link = new WorkerLink(new URL(`data:text/javascript,${script}`));
    const dead = { code: "STORE_UNAVAILABLE", message: /thread died.*code 3.*open the store again/ };
    await Promise.all([
      assert.rejects(link.call("get", { session: "a" }), dead),
      assert.rejects(link.call("get", { session: "b" }), dead),
    ]);
    await assert.rejects(link.call("get", { session: "c" }), dead);
    await link.close();
  });
});
