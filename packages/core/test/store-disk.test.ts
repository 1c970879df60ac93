/** Disks that are full, busy, read-only or on another machine. Nothing half-written, nothing lost, and clear words. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { decodeAll } from "../src/log/codec.ts";
import { sharedFileSystem } from "../src/store/file-system.ts";
import { type SqliteStore, sqliteStore } from "../src/store/sqlite.ts";
import { createSession, notes, StoreWorld, TestDriver, textsOf } from "../src/testing/store-world.ts";

const script = fileURLToPath(new URL("./store-disk-process.ts", import.meta.url));
const root = await mkdtemp(join(tmpdir(), "pawl-disk-"));
// Another user's process must be able to get here.
await chmod(root, 0o755);
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;

function folder(): string {
  folders += 1;
  return join(root, `${folders}`);
}

function open(dir: string, options: { busyMs?: number; fileSystem?: number } = {}): Promise<SqliteStore> {
  const { clock, timers, isAlive } = new StoreWorld();
  const { busyMs, fileSystem } = options;
  return sqliteStore({
    dir,
    clock,
    timers,
    isAlive,
    ...(busyMs !== undefined && { busyMs }),
    ...(fileSystem !== undefined && { fileSystemType: async () => fileSystem }),
  });
}

interface Said {
  code: number | null;
  lines: Record<string, unknown>[];
  errors: string;
}

async function run(command: string, args: string[], options: { uid?: number } = {}): Promise<Said> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const lines = output.split("\n").filter((line) => line !== "");
  return { code, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>), errors };
}

describe("a full disk (R57)", () => {
  /** Blocks of 512 bytes, as the shell counts them. */
  async function filled(dir: string): Promise<Said> {
    return run("/bin/sh", ["-c", 'ulimit -f 800; exec "$0" "$1" fill "$2"', process.execPath, script, dir]);
  }

  test("R57: a file that may not grow: STORE_FULL each time, every acknowledged record is there and nothing else (R52)", async () => {
    const dir = folder();
    const { code, lines, errors } = await filled(dir);
    assert.equal(code, 0, errors);
    const [said] = lines;
    assert.ok(said);
    assert.deepEqual(said["refusals"], ["STORE_FULL", "STORE_FULL", "STORE_FULL"]);
    assert.ok(Number(said["acknowledged"]) > 5, JSON.stringify(said));
    assert.equal(said["there"], said["acknowledged"]);

    // With room again, another process goes on where it ended.
    const store = await open(dir);
    const records = await store.read("s", { limit: 2_000 });
    assert.equal(decodeAll(records).length, Number(said["acknowledged"]) + 1);
    const batch = { session: "s", epoch: 1, expectedSeq: records.length };
    await store.append({ ...batch, records: notes("s", 1, records.length, "with room") });
    assert.deepEqual(textsOf(await store.read("s", { after: records.length })), ["with room"]);
    await store.close();
    assert.deepEqual(check(dir), "ok");
  });

  test("R57: a partition without room: STORE_FULL, and the same store goes on once there is some", async (t) => {
    const dir = folder();
    await mkdir(dir);
    const mounted = await run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", dir]).catch(() => undefined);
    if (mounted?.code !== 0) return t.skip("only a privileged user may mount a small disk");
    t.after(() => run("umount", ["-l", dir]));
    const store = await open(dir);
    await createSession(store, "s");
    const driver = await TestDriver.take(store, "s", new StoreWorld().holder());
    await writeFile(join(dir, "ballast"), new Uint8Array(300_000));
    const texts: string[] = [];
    const full = async () => {
      for (let round = 0; round < 500; round += 1) {
        const text = `${round} ${"x".repeat(5_000)}`;
        await driver.append(text);
        texts.push(text);
      }
    };
    await assert.rejects(full(), { code: "STORE_FULL", message: /nothing was written; make room/ });
    await assert.rejects(driver.append("y".repeat(50_000)), { code: "STORE_FULL" });
    assert.deepEqual(textsOf(await store.read("s")), ["created", ...texts]);
    await rm(join(dir, "ballast"));
    await driver.append("with room");
    assert.deepEqual(textsOf(await store.read("s")), ["created", ...texts, "with room"]);
    await store.close();
    assert.deepEqual(check(dir), "ok");
  });
});

function check(dir: string): unknown {
  const db = new DatabaseSync(join(dir, "pawl.db"), { readOnly: true });
  try {
    return db.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
  } finally {
    db.close();
  }
}

describe("a busy database (R58)", () => {
  async function held(busyMs: number): Promise<{ store: SqliteStore; driver: TestDriver; lock: DatabaseSync }> {
    const dir = folder();
    const store = await open(dir, { busyMs });
    await createSession(store, "s");
    const driver = await TestDriver.take(store, "s", new StoreWorld().holder());
    const lock = new DatabaseSync(join(dir, "pawl.db"));
    lock.exec("BEGIN IMMEDIATE");
    return { store, driver, lock };
  }

  test("R58: held for a while: the append waits and is there", async () => {
    const { store, driver, lock } = await held(60_000);
    const append = driver.append("waited");
    // The thread is at the lock now or will be: either way it must get through.
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    lock.exec("COMMIT");
    await append;
    assert.deepEqual(textsOf(await store.read("s")), ["created", "waited"]);
    lock.close();
    await store.close();
  });

  test("R58: held for longer than we wait: a typed error for all that waited, reads go on, nothing is lost or half there", async () => {
    const { store, driver, lock } = await held(1);
    const busy = { code: "STORE_UNAVAILABLE", message: /locked by another process.*try again/ };
    const tries = await Promise.allSettled([
      driver.append("a"),
      store.post("s", { id: "p", kind: "input", body: null }),
    ]);
    for (const one of tries) {
      assert.equal(one.status, "rejected");
      if (one.status === "rejected") assert.match(one.reason.message, busy.message);
    }
    await assert.rejects(driver.append("b"), busy);
    assert.deepEqual(textsOf(await store.read("s")), ["created"]);
    assert.deepEqual(await store.mailbox("s"), []);
    lock.exec("COMMIT");
    lock.close();
    await driver.append("a");
    assert.equal(await store.post("s", { id: "p", kind: "input", body: null }), "accepted");
    assert.deepEqual(textsOf(await store.read("s")), ["created", "a"]);
    await store.close();
  });
});

describe("another process that keeps the database busy", () => {
  test("R58: for longer than we wait: STORE_UNAVAILABLE, opening and reading go on; when it lets go everything goes through", async () => {
    const dir = folder();
    const store = await open(dir, { busyMs: 50 });
    await createSession(store, "s");
    const driver = await TestDriver.take(store, "s", new StoreWorld().holder());
    const child = spawn(process.execPath, [script, "hold", dir], { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout, "data");
    const busy = { code: "STORE_UNAVAILABLE", message: /locked by another process.*try again/ };
    for (let round = 0; round < 3; round += 1) await assert.rejects(driver.append("refused"), busy);
    const reader = await open(dir, { busyMs: 50 });
    assert.deepEqual(textsOf(await reader.read("s")), ["created"]);
    assert.equal((await reader.list()).length, 1);
    await assert.rejects(reader.post("s", { id: "p", kind: "input", body: null }), busy);
    const patient = await open(dir, { busyMs: 60_000 });
    const waiting = patient.post("s", { id: "p", kind: "input", body: null });
    const closed = once(child, "close");
    child.stdin.end();
    assert.equal(await waiting, "accepted");
    await closed;
    await driver.append("through");
    assert.deepEqual(textsOf(await store.read("s")), ["created", "through"]);
    await Promise.all([store.close(), reader.close(), patient.close()]);
  });
});

describe("a folder that cannot be written", () => {
  const someoneElse = 65_534;

  /** As whoever may not write there: root may write everywhere, so its place is taken by nobody. */
  async function reader(dir: string): Promise<Said> {
    const root = process.getuid?.() === 0;
    await chmod(dir, 0o555);
    try {
      return await run(process.execPath, [script, "read", dir], root ? { uid: someoneElse } : {});
    } finally {
      await chmod(dir, 0o755);
    }
  }

  async function written(): Promise<{ dir: string; store: SqliteStore }> {
    const dir = folder();
    const store = await open(dir);
    await createSession(store, "s", "2");
    return { dir, store };
  }

  test("is read all the same; driving and writing say STORE_UNAVAILABLE, and a warning says why", async () => {
    const { dir, store } = await written();
    await store.close();
    await chmod(join(dir, "pawl.db"), 0o444);
    const { code, lines, errors } = await reader(dir);
    assert.equal(code, 0, errors);
    const [said] = lines;
    assert.ok(said);
    const { warnings, ...rest } = said;
    assert.deepEqual(rest, {
      entries: 2,
      sessions: ["s"],
      refused: "STORE_UNAVAILABLE",
      blob: "STORE_UNAVAILABLE",
      readOnly: true,
    });
    assert.match(String(warnings), /pawl\.db cannot be written: it is open for reading only/);
  });

  test("is refused where its last changes lie in a log that cannot be used: an older state is worse than none", async () => {
    const { dir, store } = await written();
    // As a crash leaves it: the log beside the file, its index gone.
    const wal = await readFile(join(dir, "pawl.db-wal"));
    await store.close();
    await writeFile(join(dir, "pawl.db-wal"), wal);
    for (const name of ["pawl.db", "pawl.db-wal"]) await chmod(join(dir, name), 0o444);
    const { code, errors } = await reader(dir);
    assert.notEqual(code, 0);
    assert.match(errors, /STORE_UNAVAILABLE|last changes are still in .*pawl\.db-wal; copy both/);
  });

  test("is made nowhere: a store that is not there is STORE_UNAVAILABLE and named", async () => {
    const dir = folder();
    await mkdir(dir);
    const { code, errors } = await reader(dir);
    assert.notEqual(code, 0);
    assert.match(errors, new RegExp(`cannot write ${dir}`));
  });
});

describe("a network file system (R59)", () => {
  test("is known by its number; a local disk is not taken for one", () => {
    for (const [type, name] of [
      [0x6969, "NFS"],
      [0xfe534d42, "SMB2"],
      // As a signed number, which some systems give.
      [0xff534d42 | 0, "CIFS"],
      [0x01021997, "9P"],
      [0x65735546, "FUSE"],
    ] as const) {
      assert.equal(sharedFileSystem(type)?.name, name);
    }
    // ext, XFS, Btrfs, tmpfs, overlay, ZFS, APFS's number, and a folder that could not be asked.
    for (const type of [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0x1a, 0])
      assert.equal(sharedFileSystem(type), undefined);
  });

  test("is used without a write-ahead log, warns once, flushes every commit; back on a disk it is as before", async () => {
    const dir = folder();
    const mode = () => {
      const db = new DatabaseSync(join(dir, "pawl.db"), { readOnly: true });
      const row = db.prepare("PRAGMA journal_mode").get();
      db.close();
      return row?.["journal_mode"];
    };
    const local = await open(dir, { fileSystem: 0xef53 });
    await createSession(local, "s");
    assert.equal(mode(), "wal");
    assert.deepEqual(local.warnings, []);
    await local.close();

    const remote = await open(dir, { fileSystem: 0x6969 });
    assert.equal(mode(), "delete");
    assert.equal(remote.warnings.length, 1);
    assert.match(remote.warnings[0] ?? "", /network file system \(NFS\).*one machine/);
    const driver = await TestDriver.take(remote, "s", new StoreWorld().holder());
    await driver.append("over the wire");
    const { commits, flushes } = await remote.stats();
    assert.equal(flushes, commits);
    await remote.close();

    const back = await open(dir, { fileSystem: 0xef53 });
    assert.equal(mode(), "wal");
    assert.deepEqual(textsOf(await back.read("s")), ["created", "over the wire"]);
    await back.close();
  });

  test("R59: two that both believe they hold the lock: the epoch catches the stale one (R55)", async () => {
    const dir = folder();
    const [one, two] = [await open(dir, { fileSystem: 0x6969 }), await open(dir, { fileSystem: 0x6969 })];
    await createSession(one, "s");
    const world = new StoreWorld();
    const stale = await TestDriver.take(one, "s", world.holder("a"), 100);
    // What a lock that always succeeds comes to: both are told yes.
    await one.releaseLease("s", stale.epoch);
    const next = await TestDriver.take(two, "s", world.holder("b"), 100);
    await assert.rejects(stale.append("late"), { code: "FENCED" });
    await next.append("mine");
    assert.deepEqual(textsOf(await one.read("s")), ["created", "mine"]);
    await Promise.all([one.close(), two.close()]);
  });
});
