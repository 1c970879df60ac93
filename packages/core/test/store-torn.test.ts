/** Writes that stopped half way, at every byte, and disks that were full for a while. No record is torn, glued or doubled. */
import assert from "node:assert/strict";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { decodeAll } from "../src/log/codec.ts";
import { memoryStore } from "../src/store/memory.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import { Group } from "../src/store/sqlite-group.ts";
import { openDatabase } from "../src/store/sqlite-open.ts";
import { Reader } from "../src/store/sqlite-read.ts";
import { type Answer, type Call, packRecords, unpackRecords } from "../src/store/sqlite-wire.ts";
import { exportSession, importSession } from "../src/store/transfer.ts";
import { createSession, notes, StoreWorld, TestDriver, textsOf } from "../src/testing/store-world.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-torn-"));
after(() => rm(root, { recursive: true, force: true }));

/** A store without its thread: thousands are opened here. */
class Opened {
  readonly db: DatabaseSync;
  readonly #group: Group;

  constructor(path: string) {
    this.db = openDatabase({ path }).db;
    // What is torn is torn by the test; flushing it would only take time.
    this.db.exec("PRAGMA synchronous = OFF");
    this.#group = new Group(this.db, path);
  }

  run(call: Call): Answer {
    const [answer] = this.#group.run([call]);
    assert.ok(answer);
    return answer;
  }

  append(expectedSeq: number, text: string): string {
    const records = packRecords(notes("s", 1, expectedSeq, text));
    const answer = this.run({ id: 1, kind: "append", in: { session: "s", epoch: 1, expectedSeq, records, now: 1 } });
    return "fault" in answer ? answer.fault.code : "ok";
  }

  texts(): string[] {
    const page = new Reader(this.db).read({ session: "s", after: 0, limit: 10_000 });
    const records = unpackRecords(page.records);
    decodeAll(records);
    return textsOf(records);
  }
}

async function driven(dir: string, ...texts: string[]) {
  const world = new StoreWorld();
  const { clock, timers, isAlive } = world;
  const store = await sqliteStore({ dir, clock, timers, isAlive });
  await createSession(store, "s");
  const driver = await TestDriver.take(store, "s", world.holder());
  for (const text of texts) await driver.append(text);
  return { store, driver };
}

describe("the last record was torn", () => {
  test("R52: the log beside the file, cut or overwritten at every byte of it: it is there or not, and the next two are whole", async () => {
    const dir = join(root, "wal");
    const { store, driver } = await driven(dir, "before");
    const walBefore = await readFile(join(dir, "pawl.db-wal"));
    await driver.append(`the last ${"x".repeat(200)}`);
    const wal = await readFile(join(dir, "pawl.db-wal"));
    const cut = join(root, "cut");
    await mkdir(cut);
    await copyFile(join(dir, "pawl.db"), join(cut, "as-it-was.db"));
    await store.close();

    // The frames of the last commit are what the log has grown by; its bytes lie in the middle of one.
    const record = wal.indexOf("the last xxx", walBefore.length - 1);
    assert.ok(record > 0);
    const everyByte = Array.from({ length: 320 }, (_, index) => record - 60 + index);
    const frames = Array.from({ length: 9 }, (_, index) => walBefore.length + index * 1_031);
    let [whole, without] = [0, 0];
    for (const at of [...frames, ...everyByte, wal.length].filter((one) => one <= wal.length)) {
      const path = join(cut, "pawl.db");
      await copyFile(join(cut, "as-it-was.db"), path);
      // Cut, or as a disk leaves it that had made room and not written yet.
      const torn =
        at % 2 === 0 ? wal.subarray(0, at) : Buffer.concat([wal.subarray(0, at), Buffer.alloc(wal.length - at)]);
      await writeFile(`${path}-wal`, torn);
      const opened = new Opened(path);
      const texts = opened.texts();
      assert.deepEqual(texts.slice(0, 2), ["created", "before"]);
      assert.ok(texts.length <= 3);
      if (texts.length === 3) whole += 1;
      else without += 1;
      assert.equal(opened.append(texts.length, "one"), "ok");
      assert.equal(opened.append(texts.length + 1, "two"), "ok");
      opened.db.close();
      const again = new Opened(path);
      assert.deepEqual(again.texts(), [...texts, "one", "two"]);
      again.db.close();
      for (const end of ["", "-wal", "-shm"]) await rm(`${path}${end}`, { force: true });
    }
    assert.equal(whole, 1, "only the uncut log has it");
    assert.ok(without > 300);
  });

  test("R52: an exported file, cut at every byte, also inside a character: refused with its line, nothing of it is there", async () => {
    const world = new StoreWorld();
    const source = memoryStore(world);
    await createSession(source, "s", "zwei ✓ 🦀");
    const lines: string[] = [];
    for await (const line of exportSession(source, "s")) lines.push(line);
    const bytes = Buffer.from(`${lines.join("\n")}\n`);
    for (let at = 0; at < bytes.length - 1; at += 1) {
      const target = memoryStore(world);
      const torn = bytes.subarray(0, at).toString().split("\n");
      await assert.rejects(importSession(target, torn, { now: 1 }), { code: "INVALID_INPUT", message: /^line \d+: / });
      assert.deepEqual(await target.list(), []);
    }
    for (const end of [bytes.length - 1, bytes.length]) {
      const target = memoryStore(world);
      await importSession(target, bytes.subarray(0, end).toString().split("\n"), { now: 1 });
      assert.deepEqual(textsOf(await target.read("s")), ["created", "zwei ✓ 🦀"]);
    }
  });
});

describe("a disk that was full for a while", () => {
  test("R57: full after n pages, for n = 0, 1, 2, ...: what was refused is tried again in order, without a gap or a double", async () => {
    const dir = join(root, "full");
    const { store } = await driven(dir);
    await store.close();
    const opened = new Opened(join(dir, "pawl.db"));
    const pages = () => Number(opened.db.prepare("PRAGMA page_count").get()?.["page_count"]);
    const texts = ["created"];
    for (let room = 0; room < 8; room += 1) {
      opened.db.exec(`PRAGMA max_page_count = ${pages() + room}`);
      let refused = 0;
      for (let n = 0; n < 40; n += 1) {
        const text = `${room}-${n} ${"x".repeat(2_500)}`;
        let outcome = opened.append(texts.length, text);
        for (let tries = 0; outcome !== "ok"; tries += 1) {
          assert.equal(outcome, "STORE_FULL");
          assert.deepEqual(opened.texts(), texts, "a refusal leaves no trace");
          refused += 1;
          if (tries === 2) opened.db.exec("PRAGMA max_page_count = 1000000");
          outcome = opened.append(texts.length, text);
        }
        texts.push(text);
      }
      assert.ok(refused >= 3, `with room for ${room} pages`);
    }
    assert.deepEqual(opened.texts(), texts);
    assert.equal(opened.db.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok");
    opened.db.close();
  });
});

describe("a file that was taken away", () => {
  for (const end of ["-wal", "-shm", ""]) {
    test(`pawl.db${end} removed under an open store: nothing is acknowledged that would be lost, what was is saved at close`, async () => {
      const dir = join(root, `removed${end}`);
      const { store, driver } = await driven(dir, "before");
      const kept = await readFile(join(dir, `pawl.db${end}`));
      await rm(join(dir, `pawl.db${end}`));
      const gone = {
        code: "STORE_UNAVAILABLE",
        message: /was removed or replaced.*nothing was written.*open it again/,
      };
      await assert.rejects(driver.append("refused"), gone);
      // Put back it is another file: it may be anybody's.
      await writeFile(join(dir, `pawl.db${end}`), kept);
      await assert.rejects(driver.append("refused"), gone);
      assert.deepEqual(textsOf(await store.read("s")), ["created", "before"]);
      if (end !== "") await rm(join(dir, `pawl.db${end}`));
      await store.close();
      if (end === "") return;
      const { clock, timers, isAlive } = new StoreWorld();
      const again = await sqliteStore({ dir, clock, timers, isAlive });
      assert.deepEqual(textsOf(await again.read("s")), ["created", "before"]);
      await again.close();
    });
  }
});
