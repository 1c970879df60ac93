/** Formats: every one that was ever released opens, each step is taken once, a newer one is refused. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { decodeAll } from "../src/log/codec.ts";
import { memoryStore } from "../src/store/memory.ts";
import { type SqliteStore, sqliteStore } from "../src/store/sqlite.ts";
import { format } from "../src/store/sqlite-migration.ts";
import { openDatabase } from "../src/store/sqlite-open.ts";
import { exportSession, importSession } from "../src/store/transfer.ts";
import { StoreWorld, traceOf } from "../src/testing/store-world.ts";
import { verify } from "../src/turn/verify.ts";
import { corpusBlob, fillStore } from "./fixtures/store-content.ts";

const corpus = fileURLToPath(new URL("./fixtures/", import.meta.url));
const versions = (await readdir(corpus)).filter((name) => name.startsWith("store-v")).sort();
const root = await mkdtemp(join(tmpdir(), "pawl-migration-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;

async function copyOf(version: string): Promise<string> {
  folders += 1;
  const dir = join(root, `${folders}`);
  await cp(join(corpus, version), dir, { recursive: true });
  return dir;
}

function open(dir: string): Promise<SqliteStore> {
  const { timers } = new StoreWorld();
  // The corpus's own clock: what it leased is still leased.
  const clock = { now: () => 1_900_000_000_000, monotonic: () => 0 };
  return sqliteStore({ dir, clock, timers, isAlive: () => undefined });
}

function query(file: string, sql: string): unknown[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}

describe("the corpus", () => {
  test("holds every format up to this one", () => {
    assert.deepEqual(
      versions,
      Array.from({ length: format }, (_, index) => `store-v${index + 1}`),
    );
  });

  for (const version of versions) {
    test(`${version} opens: everything that a store keeps is there, as this build would have written it`, async () => {
      const [store, made] = [
        await open(await copyOf(version)),
        memoryStore({ clock: { now: () => 1_900_000_000_000, monotonic: () => 0 } }),
      ];
      await fillStore(made);
      for (const session of ["whole", "open", "fork", "gone"]) {
        assert.deepEqual(await traceOf(store, session), await traceOf(made, session), session);
        if (session !== "gone") decodeAll(await store.read(session));
      }
      assert.equal(await store.resolveName("main"), "whole");
      assert.equal((await store.loadSnapshot("whole", "turn"))?.seq, 9);
      assert.equal(await store.post("fork", { id: "waiting", kind: "input", body: null }), "duplicate");
      const blob = await made.putBlob(corpusBlob);
      assert.deepEqual(new Uint8Array((await store.getBlob(blob)) ?? []), corpusBlob);
      assert.deepEqual(
        verify(decodeAll(await store.read("whole"))).flatMap(({ violations }) => violations),
        [],
      );
      await store.close();
    });

    test(`${version}: what it exported is imported, and exported again byte for byte`, async () => {
      const store = memoryStore(new StoreWorld());
      for (const session of ["whole", "fork"]) {
        const text = await readFile(join(corpus, version, `${session}.jsonl`), "utf8");
        await importSession(store, text.split("\n"), { now: 0 });
        let again = "";
        for await (const line of exportSession(store, session)) again += `${line}\n`;
        assert.equal(again, text);
      }
    });
  }
});

describe("a migration", () => {
  test("copies the file first, says so once, and leaves this build's schema", async () => {
    const dir = await copyOf("store-v1");
    const store = await open(dir);
    assert.equal(store.warnings.length, 1);
    assert.match(store.warnings[0] ?? "", /format 3; a copy as it was is .*pawl\.db\.format-1/);
    await store.close();
    assert.deepEqual(query(join(dir, "pawl.db.format-1"), "PRAGMA user_version"), [{ user_version: 1 }]);
    assert.equal(query(join(dir, "pawl.db.format-1"), "SELECT * FROM session").length, 4);
    const again = await open(dir);
    assert.deepEqual(again.warnings, []);
    await again.close();
    const fresh = join(root, "fresh.db");
    openDatabase({ path: fresh }).db.close();
    const schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name";
    assert.deepEqual(query(join(dir, "pawl.db"), schema), query(fresh, schema));
  });

  test("that two processes begin at once is done once", async () => {
    const dir = await copyOf("store-v1");
    const [one, two] = await Promise.all([open(dir), open(dir)]);
    assert.equal((await one.read("whole")).length, (await two.read("whole")).length);
    await Promise.all([one.close(), two.close()]);
    assert.deepEqual(query(join(dir, "pawl.db"), "PRAGMA user_version"), [{ user_version: format }]);
    assert.deepEqual(query(join(dir, "pawl.db.format-1"), "PRAGMA user_version"), [{ user_version: 1 }]);
  });

  test("that fails leaves the file as it was, names the copy, and works once the reason is gone", async () => {
    const dir = await copyOf("store-v1");
    const db = new DatabaseSync(join(dir, "pawl.db"));
    db.exec("CREATE TABLE origin (in_the_way INTEGER)");
    await assert.rejects(open(dir), { code: "STORE_UNAVAILABLE", message: /from format 1 to 2.*as it was.*format-1/ });
    assert.deepEqual(query(join(dir, "pawl.db"), "PRAGMA user_version"), [{ user_version: 1 }]);
    db.exec("DROP TABLE origin");
    db.close();
    await (await open(dir)).close();
  });

  test("of a newer format is none: it is refused with what to do, and not touched", async () => {
    const dir = await copyOf("store-v1");
    const db = new DatabaseSync(join(dir, "pawl.db"));
    db.exec(`PRAGMA user_version = ${format + 1}`);
    db.close();
    const before = await readFile(join(dir, "pawl.db"));
    await assert.rejects(open(dir), { code: "STORE_UNAVAILABLE", message: /newer Pawl wrote it; update Pawl/ });
    assert.deepEqual(await readFile(join(dir, "pawl.db")), before);
  });
});
