/** Reading past damage: what is good comes in order, what is not is named, and a mended hole is a mark. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { decodeAll, encode } from "../src/log/codec.ts";
import { checksum, type LogRecord } from "../src/log/envelope.ts";
import type { LogEvent } from "../src/log/event.ts";
import { logLaws } from "../src/log/laws.ts";
import { decodeMended, isHoleMark, markHoles, repairsAmong, salvage } from "../src/log/salvage.ts";
import { verifyWith } from "../src/log/verify.ts";
import { samples } from "./event-sample.ts";
import { turnEvents } from "./fixtures/store-content.ts";

const at = { session: "s", epoch: 3, expectedSeq: 0, time: 1_900_000_000_000 };
const note = (text: string): LogEvent => ({ type: "note.recorded", about: "test", text });
const records = encode(["1", "2", "3", "4", "5", "6"].map(note), at);

function broken(record: LogRecord | undefined): LogRecord {
  assert.ok(record);
  return { ...record, time: record.time + 1 };
}

function resealed(record: LogRecord | undefined, change: Partial<LogRecord>): LogRecord {
  assert.ok(record);
  const changed = { ...record, ...change };
  return { ...changed, checksum: checksum(changed, changed.payload) };
}

const seqs = (entries: readonly { seq: number }[]) => entries.map(({ seq }) => seq);

describe("salvage", () => {
  test("of a whole log is what decodeAll gives, without a hole", () => {
    assert.deepEqual(salvage(records, { head: 6 }), { entries: decodeAll(records), holes: [] });
  });

  test("reads past records that are missing, changed or undecodable; neighbours are one hole", () => {
    const undecodable = resealed(records[3], { payload: new Uint8Array([0xff]) });
    const damaged = [records[0], broken(records[2]), undecodable, records[5]].filter((record) => record !== undefined);
    const { entries, holes } = salvage(damaged);
    assert.deepEqual(seqs(entries), [1, 6]);
    assert.deepEqual(holes, [
      {
        from: 1,
        to: 6,
        kind: "damaged",
        reason: "records 2 to 5: missing, does not match its checksum, does not decode",
        mayHoldTools: true,
        mended: false,
      },
    ]);
  });

  test("a missing beginning and a missing tail are holes too; an empty log is one", () => {
    const { entries, holes } = salvage(records.slice(2, 4), { head: 6 });
    assert.deepEqual(seqs(entries), [3, 4]);
    assert.deepEqual(
      holes.map(({ from, to }) => [from, to]),
      [
        [0, 3],
        [4, 7],
      ],
    );
    assert.deepEqual(
      salvage([], { head: 2 }).holes.map(({ from, to, reason }) => [from, to, reason]),
      [[0, 3, "records 1 to 2: missing"]],
    );
    // A gap of a billion costs no more than one of two.
    assert.equal(salvage([resealed(records[0], { seq: 1e9 })]).holes[0]?.to, 1e9);
  });

  test("says whether calls or results may be lost: only a trusted envelope proves that they are not", () => {
    const doubt = (record: LogRecord) => salvage([record]).holes[0]?.mayHoldTools;
    const payload = new Uint8Array([0xff]);
    assert.equal(doubt(resealed(records[0], { payload })), false);
    assert.equal(doubt(broken(records[0])), true);
    assert.equal(salvage([], { head: 1 }).holes[0]?.mayHoldTools, true);
    const harmless = Object.keys(samples).filter((type) => !doubt(resealed(records[0], { payload, type })));
    assert.deepEqual(harmless.sort(), [
      "attempt.started",
      "input.accepted",
      "note.recorded",
      "provider-state.stripped",
      "session.created",
      "snapshot.recorded",
      "turn.started",
    ]);
  });

  test("passes over what is unknown and says that it may be, without a hole", () => {
    const future = resealed(records[1], { type: "future.fact", ignorable: true });
    const [first, , third] = records;
    assert.ok(first && third);
    assert.deepEqual(salvage([first, future, third]), { entries: decodeAll([first, future, third]), holes: [] });
  });

  test("what is no damage but a fault of the program, or of the disk, is thrown", () => {
    const [first] = records;
    assert.ok(first);
    let looks = 0;
    const unread = {
      ...first,
      get payload() {
        looks += 1;
        if (looks === 1) throw new RangeError("the disk is gone");
        return first.payload;
      },
    };
    assert.throws(() => salvage([unread]), RangeError);
  });

  test("what a newer version wrote is no damage, and keeps damage beside it apart", () => {
    const newer = resealed(records[1], { type: "future.fact", ignorable: false, version: 7 });
    const { holes } = salvage([records[0], newer, broken(records[2]), records[3]].filter((one) => one !== undefined));
    assert.deepEqual(
      holes.map(({ from, to, kind }) => [from, to, kind]),
      [
        [1, 3, "newer"],
        [2, 4, "damaged"],
      ],
    );
    assert.match(holes[0]?.reason ?? "", /record 2: future\.fact, version 7/);
    assert.equal(holes[0]?.mayHoldTools, true);
  });

  test("a record of a fenced driver and a second record for one place are not followed (R55)", () => {
    const [a, b, c] = records;
    assert.ok(a && b && c);
    const late = resealed(b, { epoch: 2 });
    assert.deepEqual(salvage([a, late, c]).holes, [
      {
        from: 1,
        to: 3,
        kind: "damaged",
        reason: "record 2: its epoch falls to 2",
        mayHoldTools: true,
        mended: false,
      },
    ]);
    assert.deepEqual(seqs(salvage([a, b, resealed(b, { epoch: 9 }), c]).entries), [1, 2, 3]);
  });

  test("whatever is broken, each good record is given once, in order, and every seq is an entry or in a hole", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("good", "broken", "missing"), { maxLength: 12 }), (fates) => {
        const whole = encode(fates.map(note), at);
        const damaged = whole.flatMap((record, index) =>
          fates[index] === "missing" ? [] : [fates[index] === "broken" ? broken(record) : record],
        );
        const { entries, holes } = salvage(damaged, { head: fates.length });
        const inHoles = holes.flatMap(({ from, to }) => Array.from({ length: to - from - 1 }, (_, i) => from + 1 + i));
        assert.deepEqual(
          seqs(entries),
          fates.flatMap((fate, index) => (fate === "good" ? index + 1 : [])),
        );
        assert.deepEqual(
          [...seqs(entries), ...inHoles].sort((a, b) => a - b),
          fates.map((_, index) => index + 1),
        );
      }),
    );
  });
});

describe("a mended hole", () => {
  const holed = [records[0], records[1], records[4], records[5]].filter((record) => record !== undefined);
  const repair = { from: 2, to: 5, reason: "records 3 to 4: missing" };
  const mended = [...holed, ...encode([{ type: "log.repaired", ...repair }], { ...at, expectedSeq: 6 })];

  test("is one that a log.repaired behind it covers", () => {
    assert.equal(salvage(mended).holes[0]?.mended, true);
    for (const wrong of [
      { from: 3, to: 5 },
      { from: 2, to: 4 },
    ]) {
      const other = encode([{ type: "log.repaired", ...repair, ...wrong }], { ...at, expectedSeq: 6 });
      assert.equal(salvage([...holed, ...other]).holes[0]?.mended, false);
    }
  });

  test("is one before its repair alone, up to the repair's own place", () => {
    const directly = encode([{ type: "log.repaired", from: 2, to: 5, reason: "" }], { ...at, expectedSeq: 4 });
    const read = salvage([...records.slice(0, 2), ...directly]);
    assert.equal(read.holes[0]?.mended, true);
    assert.deepEqual(read.entries.map(isHoleMark), [false, false, false]);
    const early = encode([{ type: "log.repaired", from: 0, to: 9, reason: "" }], { ...at, expectedSeq: 2 });
    assert.equal(salvage([...records.slice(0, 2), ...early, ...records.slice(4)]).holes[0]?.mended, false);
  });

  test("has its repairs in the records of the log, not in what stands for its holes", () => {
    assert.deepEqual(repairsAmong(markHoles(salvage(mended))), [repair]);
    assert.deepEqual(repairsAmong(decodeAll(records)), []);
  });

  test("is marked as what stands before it is, and as what follows where nothing does", () => {
    const later = encode(["5", "6"].map(note), { ...at, epoch: 4, expectedSeq: 4, time: at.time + 9 });
    const event = (from: number, to: number, reason: string) => ({ type: "log.repaired", from, to, reason });
    const marksOf = (left: LogRecord[], head = 0) => markHoles(salvage(left, { head })).filter(isHoleMark);
    assert.deepEqual(marksOf([...records.slice(0, 2), ...later.slice(0, 1)], 6), [
      { session: "s", seq: 4, epoch: 3, time: at.time, event: event(2, 5, "records 3 to 4: missing") },
      { session: "s", seq: 6, epoch: 4, time: at.time + 9, event: event(5, 7, "record 6: missing") },
    ]);
    assert.deepEqual(marksOf(later), [
      { session: "s", seq: 4, epoch: 0, time: at.time + 9, event: event(0, 5, "records 1 to 4: missing") },
    ]);
    assert.deepEqual(marksOf([], 2), [
      { session: "", seq: 2, epoch: 0, time: 0, event: event(0, 3, "records 1 to 2: missing") },
    ]);
  });

  test("reads as a mark in its place, whatever the page; any other damage is thrown as before", () => {
    const strict = new Error("strict");
    const entries = decodeMended(mended, 0, [repair], strict);
    assert.deepEqual(seqs(entries), [1, 2, 4, 5, 6, 7]);
    assert.deepEqual(entries.map(isHoleMark), [false, false, true, false, false, false]);
    assert.deepEqual(entries[2]?.event, { type: "log.repaired", ...repair });
    assert.deepEqual(seqs(decodeMended(mended.slice(2), 2, [repair], strict)), [4, 5, 6, 7]);
    assert.throws(() => decodeMended(mended, 0, [], strict), strict);
    assert.throws(() => decodeMended([broken(mended[0]), ...mended.slice(1)], 0, [repair], strict), strict);
  });

  test("of what a newer version wrote there is none: it stays a reason not to drive", () => {
    const newer = resealed(records[2], { type: "future.fact", ignorable: false, version: 7 });
    const all = [records[0], records[1], newer, ...mended.slice(2)].filter((record) => record !== undefined);
    assert.deepEqual(
      salvage(all).holes.map(({ kind, mended: done }) => [kind, done]),
      [
        ["newer", false],
        ["damaged", true],
      ],
    );
  });
});

test("the laws ask for nothing that a hole may hold, and still see what is there twice (L1-L10)", () => {
  const whole = encode([{ type: "session.created" }, ...turnEvents(1, "ab"), ...turnEvents(2, "ab")], at);
  const violations = (left: LogRecord[]) =>
    verifyWith(logLaws, markHoles(salvage(left, { head: whole.length }))).flatMap((verdict) => verdict.violations);
  assert.deepEqual(violations(whole), []);
  for (let from = 0; from < whole.length; from += 1) {
    for (let to = from + 1; to <= whole.length; to += 1) {
      const left = [...whole.slice(0, from), ...whole.slice(to)];
      assert.deepEqual(violations(left), [], `records ${from + 1} to ${to} are missing`);
    }
  }
  const [input] = whole.filter((record) => record.type === "input.accepted");
  assert.ok(input);
  const again = resealed(input, { seq: whole.length + 2 });
  assert.match(violations([...whole, again])[0]?.message ?? "", /accepted twice/);
});
