/** The SQLite store's own promises: one file, many operations a flush, and clear words about broken files. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { decode, decodeAll } from "../src/log/codec.ts";
import { type SqliteStore, sqliteStore } from "../src/store/sqlite.ts";
import { Group } from "../src/store/sqlite-group.ts";
import { openDatabase } from "../src/store/sqlite-open.ts";
import { type Call, packRecords } from "../src/store/sqlite-wire.ts";
import { createSession, forkSession, notes, StoreWorld, TestDriver, textsOf } from "../src/testing/store-world.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-sqlite-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;

async function open(
  dir = join(root, `${++folders}`),
): Promise<{ dir: string; file: string; world: StoreWorld; store: SqliteStore }> {
  const world = new StoreWorld();
  const { clock, timers, isAlive } = world;
  return { dir, file: join(dir, "pawl.db"), world, store: await sqliteStore({ dir, clock, timers, isAlive }) };
}

/** What another program does to the file. */
function meddle(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

describe("group commit", () => {
  test("a hundred sessions that append at once share a few flushes", async () => {
    const { store, world } = await open();
    const drivers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await createSession(store, `s${index}`);
        return TestDriver.take(store, `s${index}`, world.holder());
      }),
    );
    const before = await store.stats();
    await Promise.all(drivers.map((driver) => driver.append("x")));
    const { operations, flushes } = await store.stats();
    assert.equal(operations - before.operations, 100);
    // They travel in a few messages; whatever waits when the worker looks is one group.
    assert.ok(flushes - before.flushes <= 4, `100 appends took ${flushes - before.flushes} flushes`);
    await store.close();
  });

  test("each acknowledged append of a lone writer has its own flush", async () => {
    const { store, world } = await open();
    await createSession(store, "s");
    const driver = await TestDriver.take(store, "s", world.holder());
    const before = await store.stats();
    for (let index = 0; index < 5; index += 1) await driver.append("x");
    assert.equal((await store.stats()).flushes - before.flushes, 5);
    await store.close();
  });

  test("records that many sessions write at once read back in order before, while and after they are settled", async () => {
    const { dir, file, store, world } = await open();
    const ids = Array.from({ length: 30 }, (_, index) => `s${index}`);
    await Promise.all(ids.map((id) => createSession(store, id)));
    const drivers = await Promise.all(ids.map((id) => TestDriver.take(store, id, world.holder(), 1e9)));
    const expected = ["created"];
    for (let round = 0; round < 100; round += 1) {
      expected.push(`${round}`, `lone ${round}`);
      await Promise.all(drivers.map((driver) => driver.append(`${round}`)));
      // A lone writer's go straight to their place, so that both tables hold records of one session.
      if (round % 10 === 0) for (const driver of drivers) await driver.append(`lone ${round}`);
      else await Promise.all(drivers.map((driver) => driver.append(`lone ${round}`)));
      if (round % 25 === 24) assert.deepEqual(textsOf(await store.read("s7")), expected);
    }
    await forkSession(store, "fork", "s3", 150);
    await store.delete("s3");
    const check = async (from: SqliteStore) => {
      for (const id of ids.filter((other) => other !== "s3")) assert.deepEqual(textsOf(await from.read(id)), expected);
      assert.deepEqual(textsOf(await from.read("fork")), [...expected.slice(0, 150), "fork begins"]);
      assert.deepEqual(textsOf(await from.readTail("s9", { before: 190, limit: 60 })), expected.slice(129, 189));
    };
    await check(store);
    await store.close();
    const db = new DatabaseSync(file, { readOnly: true });
    assert.equal(db.prepare("SELECT COUNT(*) AS n FROM fresh").get()?.["n"], 0);
    assert.equal(db.prepare("SELECT COUNT(*) AS n FROM record").get()?.["n"], 29 * 201 + 150 + 1);
    db.close();
    const again = await open(dir);
    await check(again.store);
    await again.store.close();
  });

  test("partial journal, leases and snapshots are committed but not flushed", async () => {
    const { store, world } = await open();
    await createSession(store, "s");
    const before = await store.stats();
    const driver = await TestDriver.take(store, "s", world.holder());
    await store.writePartial("s", driver.epoch, "a", "x");
    await store.renewLease("s", driver.epoch, 100);
    await store.saveSnapshot("s", { reducer: "r", version: 1, seq: 1, checksum: "", bytes: new Uint8Array() });
    await store.releaseLease("s", driver.epoch);
    const { commits, flushes } = await store.stats();
    assert.equal(flushes, before.flushes);
    assert.equal(commits, before.commits + 5);
    await store.close();
  });

  test("an operation that the database itself refuses takes no neighbour with it", async () => {
    const { store, world, file } = await open();
    const drivers: TestDriver[] = [];
    for (const id of ["a", "b", "c"]) {
      await createSession(store, id);
      drivers.push(await TestDriver.take(store, id, world.holder()));
    }
    // From here on the file refuses what no check of ours foresees.
    meddle(
      file,
      "CREATE TRIGGER full BEFORE INSERT ON record WHEN (new.at >> 32) = 2 BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    const tries = await Promise.allSettled(drivers.map((driver) => driver.append("x")));
    assert.deepEqual(
      tries.map((one) => one.status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(textsOf(await store.read("b")), ["created"]);
    assert.deepEqual(textsOf(await store.read("c")), ["created", "x"]);
    meddle(file, "DROP TRIGGER full");
    await drivers[1]?.append("later");
    assert.deepEqual(textsOf(await store.read("b")), ["created", "later"]);
    await store.close();
  });

  test("no space left is STORE_FULL for what does not fit, nothing of it is written, and it goes on with space", async () => {
    const { file, store } = await open();
    for (const id of ["a", "b"]) await createSession(store, id);
    await store.close();
    const { db } = openDatabase({ path: file });
    const group = new Group(db, file);
    const append = (id: number, session: string, text: string): Call => {
      const records = packRecords(notes(session, 1, 1, text));
      return { id, kind: "append", in: { session, epoch: 1, expectedSeq: 1, records, now: 1 } };
    };
    for (const session of ["a", "b"])
      group.run([{ id: 0, kind: "acquire", in: { session, holder: "{}", ttlMs: 1, now: 1, dead: 0 } }]);
    const pages = db.prepare("PRAGMA page_count").get()?.["page_count"];
    db.exec(`PRAGMA max_page_count = ${Number(pages) + 4}`);
    const large = append(1, "a", "x".repeat(400_000));
    const answers = group.run([large, append(2, "b", "small")]);
    assert.deepEqual(
      answers.map((answer) => ("fault" in answer ? answer.fault.code : "ok")),
      ["STORE_FULL", "ok"],
    );
    db.exec("PRAGMA max_page_count = 1000000");
    assert.deepEqual(group.run([large]), [{ id: 1, out: undefined }]);
    db.close();
  });
});

describe("folders and files", () => {
  test("the folder is its owner's alone", async () => {
    const { dir, store } = await open();
    assert.equal((await stat(dir)).mode & 0o777, 0o700);
    await store.close();
    assert.deepEqual(await readdir(dir), ["pawl.db"]);
  });

  test("a folder that is a file, or below one, is STORE_UNAVAILABLE and named", async () => {
    const file = join(root, "a-file");
    await writeFile(file, "");
    for (const dir of [file, join(file, "below")]) {
      await assert.rejects(open(dir), (error: Error & { code: string }) => {
        assert.equal(error.code, "STORE_UNAVAILABLE");
        assert.ok(error.message.includes(dir), error.message);
        return true;
      });
    }
  });

  test("a file that is no database is CORRUPT and named, and stays as it is", async () => {
    const dir = await mkdtemp(join(root, "garbage-"));
    await writeFile(join(dir, "pawl.db"), "not a database at all".repeat(500));
    await assert.rejects(open(dir), { code: "CORRUPT", message: /pawl\.db is not a database/ });
    assert.equal((await stat(join(dir, "pawl.db"))).size, 21 * 500);
  });

  test("a newer format is refused with what to do, and another program's file too", async () => {
    const { dir, file, store } = await open();
    await store.close();
    meddle(file, "PRAGMA user_version = 99");
    await assert.rejects(open(dir), { code: "STORE_UNAVAILABLE", message: /format 99.*update Pawl/ });
    meddle(file, "PRAGMA user_version = 2; PRAGMA application_id = 7");
    await assert.rejects(open(dir), { code: "STORE_UNAVAILABLE", message: /another program/ });
  });

  test("blobs lie beside the database; one that does not match its name is CORRUPT", async () => {
    const { dir, store } = await open();
    const name = await store.putBlob(Buffer.from("content"));
    const path = join(dir, "blobs", name.slice(0, 2), name);
    assert.deepEqual(await readdir(join(path, "..")), [name]);
    await writeFile(path, "Content");
    await assert.rejects(store.getBlob(name), { code: "CORRUPT", message: new RegExp(name) });
    await store.close();
  });
});

describe("damage", () => {
  test("a changed byte, a missing record, a lost kind: CORRUPT when decoded, other sessions untouched", async () => {
    const { file, store } = await open();
    for (const id of ["payload", "hole", "kind", "sum", "fine"]) await createSession(store, id, "two", "three");
    const at = (session: number, seq: number) => `at = (${session} << 32 | ${seq})`;
    meddle(file, `UPDATE record SET payload = CAST('{"about":"test","text":"twO"}' AS BLOB) WHERE ${at(1, 2)}`);
    meddle(file, `DELETE FROM record WHERE ${at(2, 2)}`);
    meddle(file, `UPDATE record SET kind = 77 WHERE ${at(3, 2)}`);
    meddle(file, `UPDATE record SET checksum = x'00' WHERE ${at(4, 2)}`);
    for (const id of ["payload", "hole", "kind", "sum"]) {
      const records = await store.read(id);
      assert.throws(() => decodeAll(records), { code: "CORRUPT" }, id);
      const last = records.at(-1);
      assert.ok(last && decode(last), `${id}: what lies past the damage can be read`);
    }
    assert.equal(decodeAll(await store.read("fine")).length, 3);
    await store.close();
  });

  test("deleting erases the records that no living child reads, and those of ancestors with the last child", async () => {
    const { file, store } = await open();
    await createSession(store, "a", "a2", "a3", "a4");
    await forkSession(store, "b", "a", 3);
    await forkSession(store, "c", "b", 2);
    const count = (): unknown => {
      const db = new DatabaseSync(file, { readOnly: true });
      const rows = db.prepare("SELECT at >> 32 AS session, COUNT(*) AS n FROM record GROUP BY 1").all();
      db.close();
      return Object.fromEntries(rows.map((row) => [Number(row["session"]), row["n"]]));
    };
    await store.delete("a");
    assert.deepEqual(count(), { 1: 3, 2: 1, 3: 1 });
    await store.delete("b");
    assert.deepEqual(count(), { 1: 2, 3: 1 });
    await store.delete("c");
    assert.deepEqual(count(), {});
    await store.close();
  });

  test("what was deleted is gone from the files, also of a text that fills many pages", async () => {
    const { dir, store } = await open();
    const secret = "the-secret-of-the-house ";
    await createSession(store, "a", secret.repeat(3_000), secret);
    await createSession(store, "b", "something else");
    const found = async (): Promise<number> => {
      const files = (await readdir(dir)).filter((name) => name.startsWith("pawl.db"));
      const texts = await Promise.all(files.map((name) => readFile(join(dir, name), "latin1")));
      return texts.reduce((sum, text) => sum + text.split(secret).length - 1, 0);
    };
    assert.ok((await found()) >= 3_000);
    await store.delete("a");
    assert.equal(await found(), 0);
    assert.deepEqual(textsOf(await store.read("b")), ["created", "something else"]);
    await store.close();
  });
});
