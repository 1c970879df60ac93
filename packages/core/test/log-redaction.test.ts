/** Erasing content: what stays is a valid event with the same ids, and it is sealed to its record. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { checkEvent } from "../src/log/check.ts";
import { decode, decodeAll, encode } from "../src/log/codec.ts";
import { type LogRecord, redactionSeal } from "../src/log/envelope.ts";
import type { LogEvent, MessagePart } from "../src/log/event.ts";
import { erasedText, erasePayload, redact } from "../src/log/redaction.ts";
import { verify } from "../src/turn/verify.ts";
import { arbitraryEvent, eventTypes } from "./arbitrary.ts";
import { samples } from "./event-sample.ts";
import { turnEvents } from "./fixtures/store-content.ts";

const at = { session: "s", epoch: 3, expectedSeq: 0, time: 1_900_000_000_000 };

function one(event: LogEvent): LogRecord {
  const [record] = encode([event], at);
  assert.ok(record);
  return record;
}

function erased(record: LogRecord): LogRecord {
  return { ...record, payload: erasePayload(record) };
}

/** Ids, order, kinds and what names a call stay; texts, inputs, data and provider state go. */
const erasedParts: MessagePart[] = [
  { type: "text", id: "p-1", text: "[erased]" },
  { type: "reasoning", id: "p-2", text: "[erased]" },
  {
    type: "tool-call",
    id: "p-3",
    providerId: "call_1",
    tool: "read",
    input: '{"erased":"[erased]"}',
    providerExecuted: false,
    cut: true,
  },
  { type: "tool-result", id: "p-4", call: "p-3", tool: "read", result: "[erased]", isError: false },
  { type: "file", id: "p-5", mediaType: "image/png" },
  { type: "source", id: "p-6", source: "[erased]" },
  { type: "custom", id: "p-7", kind: "x" },
];

function omit(event: LogEvent, ...names: string[]): LogEvent {
  return Object.fromEntries(Object.entries(event).filter(([name]) => !names.includes(name))) as unknown as LogEvent;
}

const erasable = eventTypes.filter((type) => redact(samples[type]) !== undefined);

describe("redaction", () => {
  test("types that hold content may be erased, those that only say what happened may not", () => {
    assert.deepEqual([...erasable].sort(), [
      "attempt.ended",
      "context.compacted",
      "input.accepted",
      "message.committed",
      "note.recorded",
      "tool.entered",
      "tool.settled",
      "turn.ended",
    ]);
    assert.throws(() => erasePayload(one(samples["step.ended"])), {
      code: "INVALID_INPUT",
      message: /record 1 is step\.ended.*: input\.accepted, turn\.ended, /,
    });
  });

  test("leaves a valid event of the same type, whatever it was, and is the same done twice", () => {
    fc.assert(
      fc.property(arbitraryEvent, (event) => {
        const left = redact(event);
        if (!left) return;
        assert.equal(left.type, event.type);
        assert.equal(checkEvent(left), undefined);
        assert.deepEqual(redact(left), left);
      }),
    );
  });

  test("keeps ids, kinds, codes and figures; content and the state that signs it are gone", () => {
    const words = ["hello", "hmm", "msg_1", "example.org", "late usage", '"any"', '"{}"', "a.png", "disk-7"];
    for (const type of erasable) {
      const text = JSON.stringify(redact(samples[type]));
      for (const word of words) assert.ok(!text.includes(word), `${type} still says ${word}: ${text}`);
      if (type !== "turn.ended") assert.ok(text.includes(erasedText) || type === "tool.entered", text);
    }
    assert.deepEqual(redact(samples["message.committed"]), { ...samples["message.committed"], parts: erasedParts });
    assert.deepEqual(redact(samples["attempt.ended"]), {
      ...samples["attempt.ended"],
      fragment: erasedParts,
      notes: ["[erased]"],
    });
    const { site } = samples["tool.entered"];
    assert.deepEqual(redact(samples["tool.entered"]), {
      ...samples["tool.entered"],
      input: '{"erased":"[erased]"}',
      site: { ...site, where: "[erased]" },
    });
    assert.deepEqual(redact(samples["turn.ended"]), { ...samples["turn.ended"], output: "[erased]" });
    assert.deepEqual(redact(samples["tool.settled"]), {
      ...samples["tool.settled"],
      output: { content: [{ type: "text", text: erasedText }], isError: true, code: "TOOL_FAILED" },
    });
  });

  test("puts nothing where nothing was", () => {
    const bare: LogEvent[] = [
      { type: "turn.ended", turn: "t-1", outcome: { type: "completed" } },
      omit(samples["attempt.ended"], "fragment", "notes"),
      omit(samples["tool.entered"], "site", "input"),
    ];
    for (const event of bare) assert.deepEqual(redact(event), event);
  });
});

describe("an erased record", () => {
  test("reads as its event with the fixed text; envelope, hash and checksum are as they were", () => {
    for (const type of erasable) {
      const record = one(samples[type]);
      const entry = decode(erased(record));
      assert.deepEqual(entry?.event, redact(samples[type]));
      assert.deepEqual({ ...erased(record), payload: record.payload }, record);
    }
  });

  test("erased again is what it was", () => {
    const once = erased(one(samples["note.recorded"]));
    assert.deepEqual(erased(once), once);
    assert.ok(!(once.payload instanceof Uint8Array));
    const left = new TextEncoder().encode('{"about":"p-3","text":"[gone, in the words of another version]"}');
    const older = { ...once, payload: { ...once.payload, left, seal: redactionSeal(once.checksum, left) } };
    assert.deepEqual(erased(older), older);
  });

  test("whose remains were changed, or belong to another record, is CORRUPT", () => {
    const record = erased(one(samples["input.accepted"]));
    assert.ok(!(record.payload instanceof Uint8Array));
    const other = erasePayload(one({ ...samples["input.accepted"], input: "i-2" }));
    for (const payload of [
      { ...record.payload, left: record.payload.left.with(5, 0x41) },
      { ...record.payload, seal: "0".repeat(32) },
      { ...record.payload, left: other.left, seal: other.seal },
    ]) {
      assert.throws(() => decode({ ...record, payload }), { code: "CORRUPT", message: /record 1.*erased.*seal/ });
    }
  });

  test("any set of records of a turn may be erased: every law holds, calls keep their results (L1, L7)", () => {
    const records = encode([{ type: "session.created" }, ...turnEvents(1, "ab"), ...turnEvents(2, "ab")], at);
    const may = records.map((record) =>
      redact(decodeAll([record], record.seq - 1)[0]?.event ?? { type: "session.created" }),
    );
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: records.length, maxLength: records.length }), (chosen) => {
        const some = records.map((record, index) => (chosen[index] && may[index] ? erased(record) : record));
        const broken = verify(decodeAll(some)).filter(({ violations }) => violations.length > 0);
        assert.deepEqual(broken, []);
      }),
      { numRuns: 50 },
    );
  });
});
