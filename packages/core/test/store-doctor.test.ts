/** Damage is confined to its session, said out loud, and mended only on request; a broken file gives what it still holds. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, open as openFile, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { checkSession } from "../src/doctor/session-checkup.ts";
import { checkFolder, checkStoreBlobs, sessionIds, sweep } from "../src/doctor/store-checkup.ts";
import { decodeAll } from "../src/log/codec.ts";
import { checksum, type LogEntry } from "../src/log/envelope.ts";
import { thisHolder } from "../src/node/holder.ts";
import { erasePayloadOf } from "../src/store/erasure.ts";
import type { Finding } from "../src/store/finding.ts";
import { pages } from "../src/store/pages.ts";
import { type SqliteStore, sqliteStore } from "../src/store/sqlite.ts";
import { FakeEffects, fakeHolder } from "../src/testing/fake.ts";
import { createSession, forkSession, notes, StoreWorld, TestDriver } from "../src/testing/store-world.ts";
import type { Runtime } from "../src/turn/session.ts";
import { verify } from "../src/turn/verify.ts";
import { fillStore } from "./fixtures/store-content.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-doctor-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;
const now = Date.UTC(2030, 0, 1);

interface Ward {
  dir: string;
  runtime: Runtime;
  store: SqliteStore;
  meddle(sql: string): void;
}

async function ward(): Promise<Ward> {
  folders += 1;
  const dir = join(root, `${folders}`);
  const effects = new FakeEffects();
  effects.time = now;
  const { clock, timers } = effects;
  const store = await sqliteStore({ dir, clock, timers, isAlive: () => undefined });
  const meddle = (sql: string): void => {
    const db = new DatabaseSync(join(dir, "pawl.db"));
    db.exec(sql);
    db.close();
  };
  return { dir, store, meddle, runtime: { store, effects, holder: fakeHolder("doctor") } };
}

/** `whole` is the store's first session, `open` its second. */
const at = (session: number, seq: number) => `at = (${session} << 32 | ${seq})`;
const whats = (findings: readonly Finding[]) => findings.map(({ what }) => what);
const severities = (findings: readonly Finding[]) => findings.map(({ severity }) => severity);

async function entriesOf(runtime: Runtime, session: string): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for await (const page of pages(runtime.store, session)) entries.push(...page.entries);
  return entries;
}

describe("a session with a hole", () => {
  test("is said with its place and what it may have held; looking changes nothing; the others are as they were", async () => {
    const { runtime, store, meddle } = await ward();
    await fillStore(store);
    meddle(`DELETE FROM record WHERE ${at(1, 8)}; DELETE FROM record WHERE ${at(1, 9)}`);
    const before = await store.read("whole");
    const { findings, holes } = await checkSession(runtime, "whole");
    assert.deepEqual(whats(findings), ["records 8 to 9: missing; calls or results may be lost"]);
    assert.deepEqual(severities(findings), ["wrong"]);
    assert.equal(findings[0]?.done, undefined);
    assert.deepEqual(
      holes.map(({ from, to, mended }) => [from, to, mended]),
      [[7, 10, false]],
    );
    assert.deepEqual(await store.read("whole"), before);
    await assert.rejects(entriesOf(runtime, "whole"), { code: "CORRUPT" });
    assert.deepEqual(severities((await checkSession(runtime, "open")).findings), ["good"]);
    await (await TestDriver.take(store, "fork", fakeHolder())).append(
      "the fork reads the hole, and its own end is fine",
    );
    await store.close();
  });

  test("is forked before the hole without ado", async () => {
    const { runtime, store, meddle } = await ward();
    await fillStore(store);
    meddle(`UPDATE record SET checksum = x'00' WHERE ${at(1, 9)}`);
    await forkSession(store, "before", "whole", 8);
    assert.equal(decodeAll(await store.read("before")).length, 9);
    assert.deepEqual(severities((await checkSession(runtime, "before")).findings), ["good"]);
    await store.close();
  });

  test("is readable again once the repair is recorded; the laws hold around the hole; a second repair does nothing", async () => {
    const { runtime, store, meddle } = await ward();
    await fillStore(store);
    meddle(`DELETE FROM record WHERE ${at(1, 8)}; UPDATE record SET payload = x'7b' WHERE ${at(1, 9)}`);
    const { findings } = await checkSession(runtime, "whole", { repair: true });
    assert.ok(findings.every(({ done }) => done));
    const entries = await entriesOf(runtime, "whole");
    const last = entries.at(-1);
    assert.deepEqual(last?.event, {
      type: "log.repaired",
      reason: "records 8 to 9: missing, does not match its checksum",
      from: 7,
      to: 10,
    });
    assert.deepEqual(
      verify(entries).flatMap(({ violations }) => violations),
      [],
    );
    const seq = (await store.get("whole"))?.seq;
    const again = await checkSession(runtime, "whole", { repair: true });
    assert.deepEqual(whats(again.findings), ["records 8 to 9: missing, does not match its checksum; mended before"]);
    assert.equal((await store.get("whole"))?.seq, seq);
    assert.equal((await store.get("whole"))?.lease, undefined);
    await store.close();
  });

  test("whose call was committed before the hole: it is closed as TOOL_OUTCOME_UNKNOWN, for its entry may be lost", async () => {
    const { runtime, store, meddle } = await ward();
    await fillStore(store);
    // The second turn loses all that came after its message: entry, result, ends.
    const records = await store.read("whole");
    const message = records.findLastIndex(({ type }) => type === "tool.entered");
    meddle(`DELETE FROM record WHERE at >= (1 << 32 | ${records[message]?.seq}) AND at < (2 << 32)`);
    const { findings } = await checkSession(runtime, "whole", { repair: true });
    assert.match(whats(findings).at(-1) ?? "", /closed turn turn-2, 1 calls without a result/);
    const closing = (await entriesOf(runtime, "whole")).slice(-4).map(({ event }) => event);
    assert.deepEqual(
      closing.map(({ type }) => type),
      ["log.repaired", "tool.settled", "step.ended", "turn.ended"],
    );
    const settled = closing[1];
    assert.ok(settled?.type === "tool.settled");
    assert.deepEqual([settled.output.code, settled.by], ["TOOL_OUTCOME_UNKNOWN", "recovery"]);
    assert.equal((await store.get("whole"))?.head.outcome, "interrupted");
    await store.close();
  });

  test("that is driven, or holds records of a newer version, is not mended", async () => {
    const { runtime, store, meddle } = await ward();
    await fillStore(store);
    meddle(`DELETE FROM record WHERE ${at(2, 2)}; DELETE FROM record WHERE ${at(1, 3)}`);
    await assert.rejects(checkSession(runtime, "open", { repair: true }), { code: "SESSION_BUSY", message: /corpus/ });
    const driver = await TestDriver.take(store, "whole", fakeHolder());
    const [future] = notes("whole", driver.epoch, driver.seq, "x");
    assert.ok(future);
    const newer = { ...future, type: "future.fact", ignorable: false, version: 9 };
    const records = [{ ...newer, checksum: checksum(newer, newer.payload) }];
    await store.append({ session: "whole", epoch: driver.epoch, expectedSeq: driver.seq, records });
    await store.releaseLease("whole", driver.epoch);
    await assert.rejects(checkSession(runtime, "whole", { repair: true }), {
      code: "SESSION_READ_ONLY",
      message: /newer/,
    });
    const { findings } = await checkSession(runtime, "whole");
    assert.deepEqual(severities(findings), ["wrong", "note"]);
    await store.close();
  });
});

describe("a store's folder", () => {
  test("in order: format, disk, journal, every session; nothing is written", async () => {
    const { dir, runtime, store } = await ward();
    await fillStore(store);
    await store.releaseLease("open", 1);
    const { findings, usable } = await checkFolder(dir, { now, repair: false });
    assert.equal(usable, true);
    assert.ok(
      findings.every(({ severity }) => severity === "good"),
      JSON.stringify(findings),
    );
    assert.match(whats(findings).join("\n"), /free on the disk[\s\S]*no damage[\s\S]*format 3, journal wal/);
    const ids: string[] = [];
    for await (const id of sessionIds(store)) ids.push(id);
    assert.deepEqual(ids.sort(), ["fork", "open", "whole"]);
    const blobs = await checkStoreBlobs({ ...runtime, dir }, { repair: false, whole: true });
    assert.deepEqual(whats(blobs), ["1 blobs, all as their names say"]);
    assert.deepEqual((await checkFolder(join(dir, "none"), { now, repair: false })).usable, false);
    await store.close();
  });

  test("what dead processes left is said, then cleared: a lease, a partial journal, an unfinished import (R56)", async () => {
    const { dir, store, meddle } = await ward();
    await fillStore(store);
    await createSession(store, "idle");
    // A pid that no process has, on this host and boot: surely dead.
    const dead = { ...thisHolder(), pid: 2 ** 22 + 7 };
    const { epoch } = await TestDriver.take(store, "idle", dead, 1e9);
    await store.writePartial("idle", epoch, "attempt", "orphan");
    async function* never() {
      yield notes("half", 0, 0, "1", "2");
      await new Promise(() => {});
    }
    void store.restore({ session: "half", head: {}, batches: never() });
    await store.read("idle");
    await sweep(store);
    meddle("UPDATE session SET updated_at = updated_at - 7200000 WHERE deleted = 3");
    const seen = (await checkFolder(dir, { now, repair: false })).findings.filter(({ remedy }) => remedy);
    assert.deepEqual(whats(seen), [
      `session idle: its lease is held by process ${dead.pid}, which is dead`,
      "a partial journal (1 chunks) of session idle, which has no open turn",
      "an import that was never finished (half, 2 records)",
    ]);
    assert.ok(seen.every(({ done }) => done === undefined));
    const done = (await checkFolder(dir, { now, repair: true })).findings.filter(({ remedy }) => remedy);
    assert.deepEqual(whats(done).slice(0, 3), whats(seen));
    await sweep(store);
    const left = (await checkFolder(dir, { now, repair: false })).findings.filter(({ remedy }) => remedy);
    assert.deepEqual(left, []);
    assert.ok((await store.acquireLease("idle", fakeHolder(), 1_000)).granted);
    await store.close();
  });

  test("blobs that nobody names go after a day, also those of an erased payload; damaged and missing ones are said", async () => {
    const { dir, runtime, store } = await ward();
    await fillStore(store);
    const orphan = await store.putBlob(new Uint8Array([1, 2, 3]));
    const young = await store.putBlob(new Uint8Array([4, 5, 6]));
    const old = new Date(now - 2 * 86_400_000);
    const pathOf = (name: string) => join(dir, "blobs", name.slice(0, 2), name);
    for (const name of (await readdir(join(dir, "blobs"), { recursive: true })).filter((one) => one.length > 60))
      await utimes(join(dir, "blobs", name), old, name.endsWith(young) ? new Date(now) : old);
    const look = (repair: boolean, whole = true) => checkStoreBlobs({ ...runtime, dir }, { repair, whole });
    assert.deepEqual(whats(await look(false)), ["1 of 3 blobs are named by no session"]);
    assert.deepEqual(
      severities(await look(true, false)),
      ["good"],
      "with damage about, an unnamed blob may be somebody's",
    );
    await look(true);
    assert.equal(await store.getBlob(orphan), undefined);
    assert.ok(await store.getBlob(young));
    await store.delete("open");
    const records = await store.read("whole");
    for (const { type, seq } of records) {
      if (type === "input.accepted") await erasePayloadOf(store, fakeHolder(), "whole", seq);
    }
    assert.deepEqual(whats(await look(true)), ["1 of 2 blobs are named by no session"]);
    await writeFile(pathOf(young), "changed");
    assert.match(whats(await look(false)).join(), /does not hold what its name says/);
    await store.close();
  });
});

describe("a broken file", () => {
  /** Overwrites the pages that hold most of one session's records. */
  async function breakFile(dir: string, table: string): Promise<void> {
    const file = join(dir, "pawl.db");
    const db = new DatabaseSync(file, { readOnly: true });
    const size = Number(db.prepare("PRAGMA page_size").get()?.["page_size"]);
    const sql = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno";
    const leaves = db
      .prepare(sql)
      .all(table)
      .map((row) => Number(row["pageno"]));
    db.close();
    const middle = leaves[Math.floor(leaves.length / 2)];
    assert.ok(middle);
    const handle = await openFile(file, "r+");
    await handle.write(new Uint8Array(size).fill(0xa5), 0, size, (middle - 1) * size);
    await handle.close();
  }

  test("gives what SQLite can still read: other sessions whole, this one with a hole; the damaged file stays aside", async () => {
    const { dir, store } = await ward();
    await fillStore(store);
    await createSession(store, "long");
    const driver = await TestDriver.take(store, "long", fakeHolder());
    for (let batch = 0; batch < 40; batch += 1)
      await driver.append(...Array.from({ length: 5 }, () => "x".repeat(900)));
    await store.releaseLease("long", driver.epoch);
    const whole = await store.read("whole");
    await store.close();
    await breakFile(dir, "record");

    const looked = await checkFolder(dir, { now, repair: false });
    assert.equal(looked.usable, false);
    assert.match(whats(looked.findings).join("\n"), /pawl\.db is damaged/);
    assert.deepEqual(
      (await readdir(dir)).filter((name) => /damaged|rescue/.test(name)),
      [],
    );

    const repaired = await checkFolder(dir, { now, repair: true });
    assert.equal(repaired.usable, true);
    assert.match(whats(repaired.findings).join("\n"), /3 sessions|4 sessions|5 sessions/);
    assert.ok((await readdir(dir)).includes("pawl.db.damaged-1"));
    const { clock, timers } = new StoreWorld();
    const again = await sqliteStore({ dir, clock, timers, isAlive: () => undefined });
    assert.deepEqual(await again.read("whole"), whole);
    assert.equal((await again.mailbox("fork")).length, 1);
    assert.equal(await again.resolveName("main"), "whole");
    const runtime = { store: again, effects: new FakeEffects(), holder: fakeHolder() };
    const { holes } = await checkSession(runtime, "long");
    assert.equal(holes.length, 1);
    await checkSession(runtime, "long", { repair: true });
    assert.ok((await entriesOf(runtime, "long")).length > 150);
    assert.deepEqual(
      (await checkFolder(dir, { now, repair: false })).findings.filter(({ severity }) => severity === "wrong"),
      [],
    );
    await again.close();
  });

  test("that is no database at all is said to be one, and is not touched", async () => {
    const dir = join(root, "garbage");
    await mkdir(dir);
    await writeFile(join(dir, "pawl.db"), "not a database".repeat(500));
    assert.match(
      whats((await checkFolder(dir, { now, repair: false })).findings).join(),
      /is damaged: .*not a database/,
    );
    await assert.rejects(checkFolder(dir, { now, repair: true }), {
      code: "CORRUPT",
      message: /nothing of .*restore a backup/,
    });
    assert.deepEqual(await readdir(dir), ["pawl.db"]);
  });
});
