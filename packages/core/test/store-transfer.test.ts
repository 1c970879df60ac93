/** Export, import and erasure over real stores: byte for byte, whole or not at all. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { decodeAll, encode } from "../src/log/codec.ts";
import { checksum, type LogRecord } from "../src/log/envelope.ts";
import { erasePayloadOf } from "../src/store/erasure.ts";
import { pages } from "../src/store/pages.ts";
import { sqliteStore } from "../src/store/sqlite.ts";
import type { Store } from "../src/store/store.ts";
import { exportSession, importSession } from "../src/store/transfer.ts";
import { createSession, forkSession, notes, StoreWorld, TestDriver } from "../src/testing/store-world.ts";
import { verify } from "../src/turn/verify.ts";
import { corpusBlob, fillStore, turnEvents } from "./fixtures/store-content.ts";
import { ground } from "./ground.ts";

const root = await mkdtemp(join(tmpdir(), "pawl-transfer-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;
const world = new StoreWorld();
const now = 1_900_000_000_000;

interface Opened {
  store: Store;
  dir: string;
}

async function sqlite(): Promise<Opened> {
  folders += 1;
  const dir = join(root, `${folders}`);
  const store = await sqliteStore({ dir, clock: world.clock, timers: world.timers, isAlive: world.isAlive });
  return { store, dir };
}

const kinds: { [name: string]: () => Promise<Opened> } = {
  [ground().name]: async () => ({ store: empty(), dir: "" }),
  sqlite,
};

/** An empty store of whatever kind tests stand on. */
function empty(): Store {
  return ground().open({ effects: world, isAlive: world.isAlive });
}

/** Once on each kind of store. */
function onEach(title: string, body: (store: Store) => Promise<void>): void {
  for (const [kind, open] of Object.entries(kinds)) {
    test(`${kind}: ${title}`, async () => {
      const { store } = await open();
      await body(store);
      await store.close();
    });
  }
}

async function exported(store: Store, session: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportSession(store, session)) lines.push(line);
  return lines;
}

/** What another program does to the file. */
function meddle(dir: string, sql: string): void {
  const db = new DatabaseSync(join(dir, "pawl.db"));
  db.exec(sql);
  db.close();
}

describe("export and import", () => {
  for (const [from, openFrom] of Object.entries(kinds)) {
    for (const [to, openTo] of Object.entries(kinds)) {
      test(`from ${from} to ${to}: same records, same checksums, same blobs, and exported again the same bytes`, async () => {
        const [source, target] = [(await openFrom()).store, (await openTo()).store];
        await fillStore(source);
        for (const session of ["whole", "fork"]) {
          const lines = await exported(source, session);
          assert.equal(await importSession(target, lines, { now }), session);
          assert.deepEqual(await target.read(session), await source.read(session));
          assert.deepEqual(await exported(target, session), lines);
          const [summary, original] = [await target.get(session), await source.get(session)];
          assert.deepEqual([summary?.seq, summary?.head], [original?.seq, original?.head]);
          assert.equal(summary?.parent, undefined, "the lineage is flattened: the copy needs nobody");
        }
        const blob = await source.putBlob(corpusBlob);
        assert.deepEqual(new Uint8Array((await target.getBlob(blob)) ?? []), corpusBlob);
        const driver = await TestDriver.take(target, "whole", world.holder());
        await driver.append("goes on");
        decodeAll(await target.read("whole"));
        await Promise.all([source.close(), target.close()]);
      });
    }
  }

  onEach(
    "under another id it begins as a fork of the original: the records stay, the first own one says so",
    async (store) => {
      await fillStore(store);
      const lines = await exported(store, "whole");
      await importSession(store, lines, { session: "copy", now });
      const [original, copy] = [await store.read("whole"), await store.read("copy")];
      assert.deepEqual(copy.slice(0, -1), original);
      const own = decodeAll(copy).at(-1);
      const parent = { session: "whole", seq: original.length };
      assert.deepEqual(own?.event, { type: "session.created", title: "a title", cwd: "/work", parent });
      assert.equal((await store.get("copy"))?.epoch, 0);
      await store.delete("whole");
      assert.equal((await store.read("copy")).length, original.length + 1);
      await importSession(store, await exported(store, "open"), { session: "later", now });
      assert.equal((await store.get("later"))?.head.openTurn, undefined, "the turn is open elsewhere");
    },
  );

  onEach("an id that exists is refused, with the way out", async (store) => {
    await fillStore(store);
    const lines = await exported(store, "whole");
    await assert.rejects(importSession(store, lines, { now }), { code: "SESSION_EXISTS", message: /whole.*--session/ });
    await assert.rejects(importSession(store, lines, { session: "../x", now }), { code: "INVALID_INPUT" });
    const ancestor = await exported(store, "fork");
    const elsewhere = importSession(empty(), ancestor, { session: "whole", now });
    await assert.rejects(elsewhere, { message: /line 2: .*ancestors/ });
  });

  onEach("every damaged line is refused by its number, and nothing of the session is there", async (store) => {
    const source = empty();
    await fillStore(source);
    const lines = await exported(source, "whole");
    const last = lines.length;
    const changed = (at: number, change: (line: string) => string) => lines.with(at - 1, change(lines[at - 1] ?? ""));
    const wrong: [string[], RegExp][] = [
      [[], /line 1: .*no exported session/],
      [lines.slice(1), /line 1: .*no header/],
      [changed(1, (line) => line.replace('"format":1', '"format":9')), /line 1: has format 9.*update Pawl/],
      [changed(3, (line) => line.slice(0, 50)), /line 3: is not a JSON object/],
      [changed(4, (line) => line.replace("input-1", "input-7")), /line 4: record 3 does not match its checksum/],
      [changed(4, (line) => line.replace('"epoch":1', '"epoch":2')), /line 4: record 3 does not match/],
      [changed(5, () => "{}"), /line 5: is neither/],
      [lines.toSpliced(5, 1), /line 6: record 5 is missing, found 6/],
      [lines.toSpliced(5, 0, lines[4] ?? ""), /line 6: record 5 is missing, found 4/],
      [lines.slice(0, -1), new RegExp(`line ${last}: .*cut`)],
      [lines.toSpliced(last - 2, 1), /0 blobs|lines are missing|and 0/],
      [
        changed(last - 1, (line) => line.replace("YSBw", "YSBx")),
        new RegExp(`line ${last - 1}: the blob .* is damaged`),
      ],
      [[...lines, lines[1] ?? ""], new RegExp(`line ${last + 1}: comes after the end`)],
    ];
    for (const [damaged, message] of wrong) {
      await assert.rejects(importSession(store, damaged, { now }), { code: "INVALID_INPUT", message });
      await assert.rejects(importSession(store, damaged, { now }), { message: /nothing was imported/ });
      assert.equal(await store.get("whole"), undefined);
    }
    assert.deepEqual(await store.list(), []);
    await importSession(store, [...lines, ""], { now });
  });

  test("R52: every cut of the file, at any line, is refused", async () => {
    const source = empty();
    await fillStore(source);
    const lines = await exported(source, "fork");
    for (let count = 0; count < lines.length; count += 1) {
      const target = empty();
      await assert.rejects(importSession(target, lines.slice(0, count), { now }), { code: "INVALID_INPUT" });
      assert.deepEqual(await target.list(), []);
    }
  });

  test("a session with a hole is carried with the hole, which is said in the header and nowhere hidden", async () => {
    const { store, dir } = await sqlite();
    await fillStore(store);
    meddle(
      dir,
      "DELETE FROM record WHERE at IN (1 << 32 | 5, 1 << 32 | 6); UPDATE record SET time = 1 WHERE at = (1 << 32 | 8)",
    );
    const lines = await exported(store, "whole");
    assert.deepEqual(JSON.parse(lines[0] ?? "").absent, [
      { from: 4, to: 7 },
      { from: 7, to: 9 },
    ]);
    const target = empty();
    await importSession(target, lines, { now });
    assert.deepEqual(await exported(target, "whole"), lines);
    await assert.rejects(importSession(empty(), lines.with(0, lines[0]?.replace('"to":7', '"to":8') ?? ""), { now }), {
      message: /record 5 is missing, found 7/,
    });
    await store.close();
  });

  test("L4: a lost tail stays a hole on the other side, under its own id and under another", async () => {
    const { store, dir } = await sqlite();
    await fillStore(store);
    const { seq = 0 } = (await store.get("whole")) ?? {};
    meddle(dir, `DELETE FROM record WHERE at IN (1 << 32 | ${seq - 1}, 1 << 32 | ${seq})`);
    const lines = await exported(store, "whole");
    const tail = { from: seq - 2, to: seq + 1 };
    assert.deepEqual(JSON.parse(lines[0] ?? "").absent, [tail]);
    const target = empty();
    for (const [session, type] of [
      ["whole", "note.recorded"],
      ["copy", "session.created"],
    ] as const) {
      await importSession(target, lines, { session, now });
      const last = (await target.read(session)).at(-1);
      assert.deepEqual([last?.session, last?.seq, last?.type], [session, seq + 1, type]);
      assert.deepEqual(JSON.parse((await exported(target, session))[0] ?? "").absent, [tail]);
      await assert.rejects(async () => decodeAll(await target.read(session)), { code: "CORRUPT" });
    }
    const again = empty();
    await importSession(again, await exported(target, "whole"), { now });
    assert.deepEqual(await again.read("whole"), await target.read("whole"), "carried once more, nothing is added");
    await store.close();
  });

  test("events out of order, which no driver could go on from, are refused by law and record; behind a hole they may be", async () => {
    const source = empty();
    const started = (turn: string) => ({ type: "turn.started" as const, turn, inputs: [] });
    const events = [{ type: "session.created" as const }, started("turn-1"), started("turn-2")];
    await source.create({
      session: "s",
      head: {},
      records: encode(events, { session: "s", epoch: 0, expectedSeq: 0, time: now }),
    });
    const lines = await exported(source, "s");
    await assert.rejects(importSession(empty(), lines, { now }), {
      code: "INVALID_INPUT",
      message: /line 4: record 3 breaks L7 .*turn turn-2 starts while turn-1 is open; nothing/,
    });
    const head = { ...JSON.parse(lines[0] ?? ""), absent: [{ from: 1, to: 3 }] };
    const holed = [JSON.stringify(head), lines[1] ?? "", lines[3] ?? "", '{"end":{"records":2,"blobs":0}}'];
    await importSession(empty(), holed, { now });
  });

  test("a field of another type than it has is refused by its line, its name and its value", async () => {
    const source = empty();
    await fillStore(source);
    const lines = await exported(source, "whole");
    const wrong: [number, object, RegExp][] = [
      [1, { head: { title: 5 } }, /line 1: the header\.head\.title must be a string, is 5/],
      [1, { absent: [null] }, /line 1: the header\.absent\[0\] must be an object, is null/],
      [1, { seq: 2 ** 32 }, /line 1: the header\.seq must be less than/],
      [2, { version: { toString: 1 } }, /line 2: the record\.version must be a whole number.*is \{"toString":1\}/],
      [2, { type: "\ud800" }, /line 2: the record\.type must be well-formed/],
      [3, { time: 0.5 }, /line 3: .*time must be whole milliseconds, is 0\.5/],
      [3, { payload: { erased: { toString: 1 }, left: "", seal: "" } }, /line 3: the payload\.erased must be a string/],
      [lines.length, { end: { records: { valueOf: 1 }, blobs: 0 } }, /: end\.records must be a whole number/],
    ];
    for (const [at, change, message] of wrong) {
      const changed = JSON.stringify({ ...JSON.parse(lines[at - 1] ?? ""), ...change });
      const target = empty();
      await assert.rejects(importSession(target, lines.with(at - 1, changed), { now }), {
        code: "INVALID_INPUT",
        message,
      });
      assert.deepEqual(await target.list(), []);
    }
  });

  onEach(
    "payloads that are no text, erased ones and those of a newer version are carried as they are",
    async (store) => {
      const source = empty();
      const odd = notes("s", 0, 0, "1", "2", "\u2028 and \ud83e\udd80", "4");
      const [a, b, c, d] = odd;
      assert.ok(a && b && c && d);
      const reseal = (record: LogRecord): LogRecord => ({ ...record, checksum: checksum(record, record.payload) });
      const future = { ...d, type: "future.fact", version: 9, payload: new Uint8Array([0xef, 0xbb, 0xbf, 0xff]) };
      await source.create({ session: "s", head: {}, records: [a, b, c, reseal(future)] });
      await erasePayloadOf(source, world.holder(), "s", 2);
      const lines = await exported(source, "s");
      await importSession(store, lines, { now });
      assert.deepEqual(await store.read("s"), await source.read("s"));
    },
  );

  onEach("a long session travels in pages", async (store) => {
    const source = empty();
    await createSession(source, "s");
    const driver = await TestDriver.take(source, "s", world.holder());
    for (let batch = 0; batch < 3; batch += 1) await driver.append(...Array.from({ length: 900 }, (_, i) => `${i}`));
    await importSession(store, exportSession(source, "s"), { now });
    assert.deepEqual(await store.read("s", { limit: 9_000 }), await source.read("s", { limit: 9_000 }));
  });

  test("a session that is not there is not exported", async () => {
    await assert.rejects(exported(empty(), "s"), { code: "SESSION_NOT_FOUND" });
  });
});

describe("what was posted before", () => {
  const given = async (store: Store, session: string, ...ids: string[]) => {
    const answers = [];
    for (const id of ids) answers.push(await store.post(session, { id, kind: "input", body: { content: [] } }));
    return answers;
  };

  onEach("the inputs of a log are duplicates on the other side; of a fork its own, of a copy none", async (store) => {
    const source = empty();
    await fillStore(source);
    const { epoch, seq } = await TestDriver.take(source, "fork", world.holder());
    const at = { session: "fork", epoch, expectedSeq: seq };
    const [input] = turnEvents(4, await source.putBlob(corpusBlob));
    assert.ok(input);
    await source.append({ ...at, records: encode([input], { ...at, time: now }) });
    for (const session of ["whole", "fork"]) await importSession(store, await exported(source, session), { now });
    await importSession(store, await exported(source, "whole"), { session: "copy", now });
    const ids = ["input-1", "input-2", "input-4"];
    assert.deepEqual(await given(store, "whole", ...ids), ["duplicate", "duplicate", "accepted"]);
    assert.deepEqual(await given(store, "fork", ...ids), ["accepted", "accepted", "duplicate"]);
    assert.deepEqual(await given(store, "copy", ...ids), ["accepted", "accepted", "accepted"]);
    await source.close();
  });
});

describe("erasing", () => {
  const secret = "the-secret-of-the-house";

  async function withSecret(): Promise<Opened> {
    const opened = await sqlite();
    const { store } = opened;
    const blob = await store.putBlob(corpusBlob);
    const [input, ...rest] = turnEvents(1, blob);
    assert.ok(input?.type === "input.accepted");
    const content = [{ type: "text" as const, text: secret }];
    const at = { session: "s", epoch: 0, expectedSeq: 0, time: now };
    const events = [{ type: "session.created" as const }, { ...input, content }, ...rest];
    await store.create({ session: "s", head: {}, records: encode(events, at) });
    await forkSession(store, "fork", "s", 4);
    return opened;
  }

  test("the bytes are gone from the files, the log reads on, every law holds, forks read the fixed text too (L3)", async () => {
    const { store, dir } = await withSecret();
    const before = await store.read("s");
    await erasePayloadOf(store, world.holder(), "s", 2);
    for (const name of ["pawl.db", "pawl.db-wal"]) {
      const bytes = await readFile(join(dir, name)).catch(() => Buffer.alloc(0));
      assert.equal(bytes.includes(secret), false, `${name} still holds it`);
    }
    for (const session of ["s", "fork"]) {
      const entries = decodeAll(await store.read(session));
      const input = entries.find(({ event }) => event.type === "input.accepted")?.event;
      assert.deepEqual(input, {
        type: "input.accepted",
        input: "input-1",
        kind: "prompt",
        content: [{ type: "text", text: "[erased]" }],
      });
      assert.deepEqual(
        verify(entries).flatMap(({ violations }) => violations),
        [],
      );
    }
    const after = await store.read("s");
    assert.deepEqual(
      after.map(({ checksum: sum }) => sum),
      before.map(({ checksum: sum }) => sum),
    );
    await store.close();
  });

  onEach("nothing of an open turn, nothing without content, nothing while somebody drives", async (store) => {
    await fillStore(store);
    const holder = world.holder();
    await assert.rejects(erasePayloadOf(store, holder, "open", 2), { code: "SESSION_BUSY" });
    await store.releaseLease("open", 1);
    await assert.rejects(erasePayloadOf(store, holder, "open", 2), { code: "INVALID_INPUT", message: /turn-3.*open/ });
    await assert.rejects(erasePayloadOf(store, holder, "whole", 3), {
      code: "INVALID_INPUT",
      message: /turn\.started/,
    });
    await assert.rejects(erasePayloadOf(store, holder, "whole", 99), { code: "INVALID_INPUT", message: /not there/ });
    await assert.rejects(erasePayloadOf(store, holder, "fork", 2), { code: "INVALID_INPUT", message: /forked from/ });
    assert.equal((await store.get("whole"))?.lease, undefined, "the lease is given back");
  });
});

describe("pages", () => {
  test("strict where nothing is mended, over a mended hole where it is, also across the seams of pages", async () => {
    const store = empty();
    const whole = notes("s", 0, 0, ...Array.from({ length: 1_500 }, (_, i) => `${i}`));
    const left = whole.filter(({ seq }) => seq < 998 || seq > 1_003);
    async function* batches(records: LogRecord[]): AsyncGenerator<LogRecord[]> {
      yield records.slice(0, 900);
      yield records.slice(900);
    }
    const repair = { type: "log.repaired" as const, reason: "lost", from: 997, to: 1_004 };
    const repaired = encode([repair], { session: "s", epoch: 0, expectedSeq: 1_500, time: now });
    await store.restore({ session: "s", head: {}, batches: batches(left) });
    const seen = async (session: string) => {
      const seqs: number[] = [];
      for await (const { entries } of pages(store, session)) seqs.push(...entries.map((entry) => entry.seq));
      return seqs;
    };
    await assert.rejects(seen("s"), { code: "CORRUPT", message: /record 998 is missing/ });
    const renamed = empty();
    await renamed.restore({ session: "s", head: {}, batches: batches([...left, ...repaired]) });
    const seqs: number[] = [];
    for await (const { entries } of pages(renamed, "s")) seqs.push(...entries.map((entry) => entry.seq));
    assert.deepEqual(
      seqs,
      [...left.map(({ seq }) => seq), 1_003, 1_501].sort((a, b) => a - b),
    );
    await assert.rejects(seen("nobody"), { code: "SESSION_NOT_FOUND" });
  });
});
