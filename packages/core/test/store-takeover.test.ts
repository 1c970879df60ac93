/** Two that want to drive one session: paused, dead, of another host, or both sure that it is theirs. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { decodeAll } from "../src/log/codec.ts";
import { isAlive, thisHolder } from "../src/node/holder.ts";
import { type SqliteStore, sqliteStore } from "../src/store/sqlite.ts";
import { Group } from "../src/store/sqlite-group.ts";
import { Reader } from "../src/store/sqlite-read.ts";
import { type Answer, type Call, packRecords, unpackRecords } from "../src/store/sqlite-wire.ts";
import type { Holder } from "../src/store/store.ts";
import { createSession, notes, StoreWorld, TestDriver, textsOf } from "../src/testing/store-world.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-takeover-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;

function folder(): string {
  folders += 1;
  return join(root, `${folders}`);
}

/** Holders are judged as they are on a machine; only time stands still. */
async function open(dir = folder()): Promise<{ dir: string; world: StoreWorld; store: SqliteStore }> {
  const world = new StoreWorld();
  const { clock, timers } = world;
  return { dir, world, store: await sqliteStore({ dir, clock, timers, isAlive }) };
}

async function madeFolder(): Promise<string> {
  const { dir, store } = await open();
  await createSession(store, "s");
  await store.close();
  return dir;
}

describe("a driver that is paused while another takes over", () => {
  interface Process {
    child: ChildProcess;
    lines: AsyncIterator<string>;
    /** Everything it has said. */
    said: string[];
  }

  const script = fileURLToPath(new URL("./store-takeover-process.ts", import.meta.url));

  function driver(dir: string, name: string, count: number, pauseAt = -1): Process {
    const args = [script, dir, name, String(count), String(pauseAt)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    assert.ok(child.stdout);
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](), said: [] };
  }

  /** Reads on until `done` of a line; undefined when it has said all. */
  async function heard({ lines, said }: Process, done: (line: string) => boolean): Promise<string | undefined> {
    for (;;) {
      const { value, done: ended } = await lines.next();
      if (ended) return undefined;
      said.push(value);
      if (done(value)) return value;
    }
  }

  async function finished(process: Process): Promise<string[]> {
    await heard(process, () => false);
    const { child, said } = process;
    if (child.exitCode === null) await once(child, "exit");
    assert.equal(child.exitCode, 0);
    return said.filter((line) => line.includes("-"));
  }

  /** Each acknowledged record is there once, in its writer's order; the log is whole. */
  async function checkLog(dir: string, ...acknowledged: string[][]): Promise<string[]> {
    const { store } = await open(dir);
    const records = await store.read("s");
    decodeAll(records);
    const texts = textsOf(records).slice(1);
    await store.close();
    assert.equal(texts.length, acknowledged.flat().length);
    for (const own of acknowledged) {
      const [name] = own[0]?.split("-") ?? [];
      assert.deepEqual(
        texts.filter((text) => text.startsWith(`${name}-`)),
        own,
      );
    }
    return texts;
  }

  const hundred = (name: string) => Array.from({ length: 100 }, (_, index) => `${name}-${index}`);

  test("R55: its lease runs out, another appends a hundred records, the woken one is refused and nothing is lost or doubled", async () => {
    const dir = await madeFolder();
    const one = driver(dir, "a", 100, 50);
    await heard(one, (line) => line === "pause");
    one.child.kill("SIGSTOP");
    one.child.stdin?.write("go\n");
    const other = driver(dir, "b", 100);
    assert.deepEqual(await finished(other), hundred("b"));
    one.child.kill("SIGCONT");
    assert.deepEqual(await finished(one), hundred("a"));
    assert.ok(one.said.includes("FENCED"));
    const texts = await checkLog(dir, hundred("a"), hundred("b"));
    assert.deepEqual(texts, [...hundred("a").slice(0, 50), ...hundred("b"), ...hundred("a").slice(50)]);
  });

  test("R55: stopped anywhere, also inside its commit: whoever cannot get through hears of it, and the log stays whole", async () => {
    for (const appended of [1, 40]) {
      const dir = await madeFolder();
      const one = driver(dir, "a", 100);
      await heard(one, (line) => line === `a-${appended}`);
      one.child.kill("SIGSTOP");
      const other = driver(dir, "b", 100);
      // Stopped with the file locked it bars everybody, who are told so: then only waking it helps.
      await heard(other, (line) => line === "busy" || line === "b-99");
      one.child.kill("SIGCONT");
      await Promise.all([finished(one), finished(other)]);
      await checkLog(dir, hundred("a"), hundred("b"));
    }
  });
});

describe("a lock that was left", () => {
  const leaseMs = 60_000;

  const dead: { [name: string]: Holder } = {
    "of a pid that nobody has": { ...thisHolder(), pid: 2 ** 22 + 7 },
    "of our own pid, by a process that started at another time": { ...thisHolder(), start: "1" },
    "of our own pid and start, before the machine was booted": { ...thisHolder(), boot: "another boot" },
  };

  for (const [name, holder] of Object.entries(dead)) {
    test(`R56: ${name}: taken over at once, and not shown as driven`, async () => {
      const { store } = await open();
      await createSession(store, "s");
      const stale = await TestDriver.take(store, "s", holder, leaseMs);
      assert.equal((await store.get("s"))?.lease, undefined);
      const next = await TestDriver.take(store, "s", thisHolder(), leaseMs);
      assert.equal(next.epoch, stale.epoch + 1);
      await assert.rejects(stale.append("late"), { code: "FENCED" });
      await next.append("mine");
      await store.close();
    });
  }

  const garbage = ["", "garbage", "null", "[]", "{}", '{"id":1}', `${JSON.stringify(thisHolder())},`];

  test("R56: of another host, or unreadable: it counts until it expires, bars nothing else, and is never taken for a live one of ours", async () => {
    const { dir, world, store } = await open();
    for (const text of [JSON.stringify({ ...thisHolder(), host: "elsewhere" }), ...garbage]) {
      const session = `s${world.clock.now()}`;
      await createSession(store, session);
      await TestDriver.take(store, session, thisHolder(), leaseMs);
      const db = new DatabaseSync(join(dir, "pawl.db"));
      db.prepare("UPDATE lease SET holder = ? WHERE session = (SELECT key FROM session WHERE id = ?)").run(
        text,
        session,
      );
      db.close();
      assert.equal((await store.acquireLease(session, thisHolder(), leaseMs)).granted, false, text);
      assert.ok((await store.list()).some((summary) => summary.session === session && summary.lease));
      world.advance(leaseMs);
      assert.equal((await store.get(session))?.lease, undefined);
      assert.ok((await store.acquireLease(session, thisHolder(), leaseMs)).granted, text);
    }
    await store.close();
  });

  test("R56: what a list shows of a session cannot be read: the session is there, without it", async () => {
    const { dir, store } = await open();
    for (const session of ["a", "b"]) await createSession(store, session);
    const db = new DatabaseSync(join(dir, "pawl.db"));
    db.exec("UPDATE session SET head = 'garbage' WHERE id = 'a'");
    db.close();
    const listed = await store.list();
    assert.deepEqual(listed.map(({ session, head }) => [session, head]).sort(), [
      ["a", {}],
      ["b", {}],
    ]);
    assert.deepEqual(textsOf(await store.read("a")), ["created"]);
    await store.close();
  });
});

describe("a lock that always succeeds", () => {
  /** A connection that takes no lock at all, as on a file system that says yes to everybody. */
  function unlocked(dir: string): { group: Group; reader: Reader; db: DatabaseSync } {
    const path = join(dir, "pawl.db");
    const db = new DatabaseSync(`file:${path}?vfs=unix-none`);
    return { group: new Group(db, path), reader: new Reader(db), db };
  }

  function only(answers: Answer[]): unknown {
    const [answer] = answers;
    assert.ok(answer);
    return "fault" in answer ? answer.fault.code : answer.out;
  }

  function append(group: Group, epoch: number, expectedSeq: number, text: string): unknown {
    const records = packRecords(notes("s", epoch, expectedSeq, text));
    return only(group.run([{ id: 1, kind: "append", in: { session: "s", epoch, expectedSeq, records, now: 1 } }]));
  }

  function acquire(group: Group, dead = 0): unknown {
    const call: Call = { id: 1, kind: "acquire", in: { session: "s", holder: "{}", ttlMs: 60_000, now: 1, dead } };
    return only(group.run([call]));
  }

  test("R59: both believe that they own the session: epoch and seq, read inside each transaction, let one through", async () => {
    const dir = await madeFolder();
    // No locks, no log that is shared by them: as a network file system is used.
    const off = new DatabaseSync(join(dir, "pawl.db"));
    off.exec("PRAGMA journal_mode = DELETE");
    off.close();
    const [one, two] = [unlocked(dir), unlocked(dir)];
    assert.deepEqual(acquire(one.group), { granted: true, epoch: 1, seq: 1 });
    assert.equal(append(one.group, 1, 1, "a"), undefined);
    // The second was told yes, too, and has taken over.
    assert.deepEqual(acquire(two.group, 1), { granted: true, epoch: 2, seq: 2 });
    assert.equal(append(one.group, 1, 2, "stale"), "FENCED");
    assert.equal(append(two.group, 2, 2, "b"), undefined);
    assert.equal(append(one.group, 1, 3, "stale"), "FENCED");
    // And where both use the very same epoch, no place is written twice.
    assert.equal(append(one.group, 2, 2, "twin"), "CONFLICT");
    assert.equal(append(one.group, 2, 3, "c"), undefined);
    assert.equal(append(two.group, 2, 3, "twin"), "CONFLICT");
    const records = unpackRecords(two.reader.read({ session: "s", after: 0, limit: 10 }).records);
    decodeAll(records);
    assert.deepEqual(textsOf(records), ["created", "a", "b", "c"]);
    for (const { db } of [one, two]) db.close();
  });

  test("R55: two stores on one file with the same epoch: of two records for one place one is refused", async () => {
    const { dir, store: one } = await open();
    const { store: two } = await open(dir);
    await createSession(one, "s");
    const { epoch } = await TestDriver.take(one, "s", thisHolder());
    const texts = ["created"];
    for (let seq = 1; seq <= 50; seq += 1) {
      const batch = (text: string) => ({
        session: "s",
        epoch,
        expectedSeq: seq,
        records: notes("s", epoch, seq, text),
      });
      const tries = await Promise.allSettled([one.append(batch(`one ${seq}`)), two.append(batch(`two ${seq}`))]);
      const refusals = tries.flatMap((each) => (each.status === "rejected" ? [each.reason.code] : []));
      assert.deepEqual(refusals, ["CONFLICT"]);
      texts.push(`${tries[0].status === "fulfilled" ? "one" : "two"} ${seq}`);
    }
    for (const store of [one, two]) assert.deepEqual(textsOf(await store.read("s")), texts);
    await Promise.all([one.close(), two.close()]);
  });
});
