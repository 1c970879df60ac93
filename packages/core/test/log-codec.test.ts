/** Between events and records: nothing is lost, nothing changes unseen, what is unknown is handled as it asks. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { limit } from "../src/limit.ts";
import { checkEvent } from "../src/log/check.ts";
import { decode, decodeAll, encode } from "../src/log/codec.ts";
import { checksum, type Envelope, type LogRecord } from "../src/log/envelope.ts";
import type { LogEvent } from "../src/log/event.ts";
import { erasePayload } from "../src/log/redaction.ts";
import { arbitraryEvent, arbitraryEventOf, eventTypes } from "./arbitrary.ts";

const at = { session: "s", epoch: 3, expectedSeq: 0, time: 1_900_000_000_000 };
const note = (text: string): LogEvent => ({ type: "note.recorded", about: "test", text });

function one(event: LogEvent, position = at): LogRecord {
  const [record] = encode([event], position);
  assert.ok(record);
  return record;
}

/** Seals a changed record again, as another version of Pawl would have written it. */
function resealed(record: LogRecord, change: Partial<LogRecord>): LogRecord {
  const changed = { ...record, ...change };
  return { ...changed, checksum: checksum(changed, changed.payload) };
}

describe("encode and decode", () => {
  for (const type of eventTypes) {
    test(`${type}: any event comes back as it was`, () => {
      fc.assert(
        fc.property(arbitraryEventOf(type), (event) => {
          assert.equal(checkEvent(event), undefined);
          const entry = decode(one(event));
          assert.deepEqual(entry, { session: "s", seq: 1, epoch: 3, time: at.time, event });
        }),
        { numRuns: 60 },
      );
    });
  }

  test("a batch is numbered from the seq before it, and decodes in order", () => {
    fc.assert(
      fc.property(fc.array(arbitraryEvent, { maxLength: 10 }), fc.nat(1_000), (events, expectedSeq) => {
        const entries = decodeAll(encode(events, { ...at, expectedSeq }), expectedSeq);
        assert.deepEqual(
          entries.map((entry) => entry.event),
          events,
        );
        assert.deepEqual(
          entries.map((entry) => entry.seq),
          events.map((_, index) => expectedSeq + 1 + index),
        );
      }),
    );
  });

  test("an invalid event refuses the whole batch, naming the event and the field", () => {
    const bad = { type: "step.ended", step: "../x" } as const;
    assert.throws(() => encode([note("fine"), bad], at), {
      code: "INVALID_EVENT",
      message: /step\.ended.*step\.ended\.step must be an id.*"\.\.\/x"/,
    });
  });

  test("a payload beyond the bound is refused with its size and the way out", () => {
    const event = note("x".repeat(limit.recordBytes));
    assert.throws(() => encode([event], at), { code: "INVALID_EVENT", message: /\d{8} bytes, at most 16777216.*blob/ });
  });
});

describe("the checksum", () => {
  const record = one(note("text"));
  const changes: { [K in keyof Envelope]: Envelope[K] } = {
    session: "t",
    seq: 2,
    epoch: 4,
    type: "snapshot.recorded",
    version: 2,
    ignorable: false,
    time: at.time + 1,
  };
  for (const [field, value] of Object.entries(changes)) {
    test(`covers ${field}`, () => {
      assert.throws(() => decode({ ...record, [field]: value }), { code: "CORRUPT", message: /checksum/ });
    });
  }

  test("covers every byte of the payload, and of its hash once it is erased", () => {
    const { payload } = record;
    assert.ok(payload instanceof Uint8Array);
    for (const [index, byte] of payload.entries()) {
      const changed = payload.with(index, byte ^ 1);
      assert.throws(() => decode({ ...record, payload: changed }), { code: "CORRUPT" });
    }
    assert.throws(() => decode({ ...record, payload: payload.subarray(1) }), { code: "CORRUPT" });
    const other = { ...erasePayload(record), erased: "0".repeat(64) };
    assert.throws(() => decode({ ...record, payload: other }), { code: "CORRUPT", message: /checksum/ });
  });

  test("a record whose bytes were sealed but are no event is CORRUPT, and says why", () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    for (const payload of [bytes("{"), bytes(""), new Uint8Array([0xff, 0xfe])]) {
      assert.throws(() => decode(resealed(record, { payload })), { code: "CORRUPT", message: /record 1.*not JSON/ });
    }
    for (const payload of [bytes("[]"), bytes("null"), bytes("7"), bytes('{"about":1,"text":""}')]) {
      assert.throws(() => decode(resealed(record, { payload })), {
        code: "CORRUPT",
        message: /about must be a string/,
      });
    }
  });
});

describe("records of other versions", () => {
  const record = one(note("text"));

  test("unknown and ignorable: passed over, also a newer version of a known type", () => {
    assert.equal(decode(resealed(record, { type: "future.fact" })), undefined);
    assert.equal(decode(resealed(record, { version: 2 })), undefined);
  });

  test("unknown and not ignorable: read-only, naming the version it needs", () => {
    for (const change of [{ type: "future.fact", version: 5 }, { version: 5 }]) {
      const future = resealed(record, { ...change, ignorable: false });
      assert.throws(() => decode(future), { code: "SESSION_READ_ONLY", message: /record 1.*version 5.*update/ });
    }
  });

  test("damage in an unknown record is still damage", () => {
    const future = { ...resealed(record, { type: "future.fact" }), time: 1 };
    assert.throws(() => decode(future), { code: "CORRUPT" });
  });

  test("a passed-over record keeps its place in the sequence", () => {
    const records = encode([note("1"), note("2"), note("3")], at);
    const [first, second, third] = records;
    assert.ok(first && second && third);
    const entries = decodeAll([first, resealed(second, { type: "future.fact" }), third]);
    assert.deepEqual(
      entries.map((entry) => entry.seq),
      [1, 3],
    );
  });
});

describe("a sequence", () => {
  const records = encode(["1", "2", "3", "4"].map(note), at);

  test("with a record missing, doubled or out of order is CORRUPT, naming the place", () => {
    const [a, b, c, d] = records;
    assert.ok(a && b && c && d);
    const wrong: [LogRecord[], RegExp][] = [
      [[b, c], /record 1 is missing, found 2/],
      [[a, c, d], /record 2 is missing, found 3/],
      [[a, b, b], /record 3 is missing, found 2/],
      [[a, c, b], /record 2 is missing, found 3/],
    ];
    for (const [list, message] of wrong) assert.throws(() => decodeAll(list), { code: "CORRUPT", message });
    assert.throws(() => decodeAll([c, d], 1), { code: "CORRUPT", message: /record 2 is missing/ });
    assert.equal(decodeAll([c, d], 2).length, 2);
  });

  test("whose epoch falls is CORRUPT: a fenced driver's record got in (L8)", () => {
    const [a, b] = records;
    assert.ok(a && b);
    const message = /epoch falls from 3 to 2 at 2/;
    assert.throws(() => decodeAll([a, resealed(b, { epoch: 2 })]), { code: "CORRUPT", message });
    assert.equal(decodeAll([a, resealed(b, { epoch: 9 })]).length, 2);
  });

  test("of a fork begins its epochs anew where the child begins", () => {
    const parent = { session: "s", seq: 4 };
    const first = { ...at, session: "c", epoch: 0, expectedSeq: 4 };
    const child = encode([{ type: "session.created", parent }], first);
    const own = encode([note("own")], { ...first, epoch: 1, expectedSeq: 5 });
    assert.equal(decodeAll([...records, ...child, ...own]).length, 6);
  });
});
