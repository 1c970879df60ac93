/** Each law with the least log that breaks it and nothing else, beside a good one. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { noExposure } from "../src/attempt/exposure.ts";
import { unpaired } from "../src/context/laws.ts";
import { limit } from "../src/limit.ts";
import type { LogEntry } from "../src/log/envelope.ts";
import type { LogEvent } from "../src/log/event.ts";
import type { Decision } from "../src/log/value.ts";
import { type LawName, verifyWith } from "../src/log/verify.ts";
import { laws, verify } from "../src/turn/verify.ts";
import {
  attemptEnded,
  attemptStarted,
  callPart,
  committed,
  entered,
  input,
  logOf,
  settled,
  stepEnded,
  stepStarted,
  text,
  turnEnded,
  turnOf,
  turnStarted,
} from "./log-builder.ts";
import { promptFor } from "./turn-world.ts";

function broken(entries: readonly LogEntry[]): LawName[] {
  return verify(entries).flatMap(({ law, violations }) => (violations.length > 0 ? [law] : []));
}

/** Everything up to the request of the first step. */
const opening: LogEvent[] = [
  input("in1"),
  turnStarted("t1", "in1"),
  stepStarted("st1", "t1", 1),
  attemptStarted("a1", "st1"),
];
const closing: LogEvent[] = [stepEnded("st1"), turnEnded("t1")];
const decided = (action: Decision["action"]): Decision => ({ action, delayMs: 0, at: 0, reason: "" });
const failure = { kind: "stream-broken" as const, message: "", retryable: true };
const snapshot = (step: string): LogEvent => ({ type: "snapshot.recorded", step, snapshot: "files" });
const asked = callPart("a1-1");
const asking: LogEvent[] = [...opening, attemptEnded("a1"), committed("a1", asked)];

const breaking: [LawName, string, LogEvent[]][] = [
  ["L2", "a part of another attempt", [...opening, attemptEnded("a1"), committed("a1", text("a0-1")), ...closing]],
  [
    "L2",
    "a fragment of another attempt",
    [...opening, attemptEnded("a1", { end: "failed", failure, fragment: [text("a0-1")] }), ...closing],
  ],
  ["L3", "an input accepted twice", [input("in0"), input("in0"), ...turnOf(1)]],
  ["L3", "a claimed input that is not there", [turnStarted("t1", "in1"), turnEnded("t1")]],
  ["L3", "a snapshot of a step that is not open", [...turnOf(1), snapshot("st1")]],
  [
    "L3",
    "two snapshots of one step",
    [...opening, snapshot("st1"), snapshot("st1"), attemptEnded("a1", { end: "failed", failure }), ...closing],
  ],
  [
    "L3",
    "a snapshot behind the effects that it should stand before",
    [...asking, entered("a1-1"), snapshot("st1"), settled("a1-1"), ...closing],
  ],
  ["L4", "a write entered twice", [...asking, entered("a1-1"), entered("a1-1"), settled("a1-1"), ...closing]],
  [
    "L4",
    "a write entered before its message",
    [...opening, entered("a1-1"), attemptEnded("a1"), committed("a1", asked), settled("a1-1"), ...closing],
  ],
  [
    "L4",
    "a call entered after its result",
    [...asking, settled("a1-1"), entered("a1-1", { effect: "read" }), ...closing],
  ],
  [
    "L5",
    "a retry after an effect at the provider",
    [
      ...opening,
      attemptEnded("a1", {
        end: "discarded",
        failure,
        decision: decided("discard"),
        exposure: { ...noExposure(), providerWrite: true },
      }),
      ...closing,
    ],
  ],
  [
    "L5",
    "text that is sealed",
    [
      ...opening,
      attemptEnded("a1", {
        end: "sealed",
        failure,
        decision: decided("seal"),
        exposure: { ...noExposure(), text: true },
      }),
      ...closing,
    ],
  ],
  [
    "L5",
    "a retry after an abort",
    [
      ...opening,
      attemptEnded("a1", { end: "discarded", failure: { ...failure, kind: "aborted" }, decision: decided("retry") }),
      ...closing,
    ],
  ],
  [
    "L6",
    "attempts without end",
    [
      ...opening.slice(0, 3),
      ...Array.from({ length: limit.attemptsPerTurn + 2 }, (_, n) => [
        attemptStarted(`a${n}`, "st1"),
        attemptEnded(`a${n}`, { end: "discarded", failure, decision: decided("retry") }),
      ]).flat(),
      ...closing,
    ],
  ],
  [
    "L7",
    "a step that ends twice",
    [...opening, attemptEnded("a1"), committed("a1", text("a1-1")), stepEnded("st1"), ...closing],
  ],
  [
    "L7",
    "a turn that ends with its step open",
    [...opening, attemptEnded("a1"), committed("a1", text("a1-1")), turnEnded("t1")],
  ],
  ["L7", "an ended turn reopened", [...turnOf(1), turnStarted("t1", "in1"), turnEnded("t1")]],
  ["L7", "a step that ends while a call has no result", [...asking, ...closing]],
  ["L7", "two results for one call", [...asking, settled("a1-1"), settled("a1-1"), ...closing]],
  ["L9", "a committed attempt without its message", [...opening, attemptEnded("a1"), ...closing]],
  [
    "L9",
    "a message without its attempt's end",
    [...opening, committed("a1", text("a1-1")), attemptEnded("a1", { end: "failed", failure }), ...closing],
  ],
  [
    "L10",
    "a request that has shown a result before it was there",
    [
      ...asking,
      attemptStarted("a2", "st1"),
      attemptEnded("a2", { end: "failed", failure }),
      settled("a1-1"),
      attemptStarted("a3", "st1"),
      attemptEnded("a3", { end: "failed", failure }),
      ...closing,
    ],
  ],
];

describe("verify", () => {
  test("every law has its name and says what it is, in order", () => {
    assert.deepEqual(
      laws.map(({ law }) => law),
      ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "L9", "L10"],
    );
    for (const { title } of laws) assert.match(title, /: /);
  });

  test("good logs break none: no turn, one, several with calls, an open one", () => {
    for (const events of [
      [],
      turnOf(1),
      [...turnOf(1, callPart("a1-2"), callPart("a1-3")), ...turnOf(2, callPart("a2-2", "a1-2"))],
      asking,
      [...asking, entered("a1-1", { effect: "read" }), snapshot("st1"), settled("a1-1"), ...closing],
    ]) {
      assert.deepEqual(broken(logOf(events)), []);
    }
  });

  for (const [law, title, events] of breaking) {
    test(`${law}: ${title}, and no other law`, () => assert.deepEqual(broken(logOf(events)), [law]));
  }

  test("L3: a seq that does not grow, and no other law", () => {
    const entries = logOf(turnOf(1));
    assert.deepEqual(broken(entries.map((entry, index) => (index === 3 ? { ...entry, seq: 3 } : entry))), ["L3"]);
  });

  test("L8: an epoch that falls, and no other law; a fork begins its own", () => {
    const entries = logOf([...turnOf(1), ...turnOf(2)]);
    const falling = entries.map((entry, index) => (index < 9 ? { ...entry, epoch: 2 } : entry));
    assert.deepEqual(broken(falling), ["L8"]);
    assert.deepEqual(broken(falling.map((entry, index) => (index < 9 ? entry : { ...entry, session: "child" }))), []);
  });

  test("L9: a fork cut between an attempt's end and its message is no missing message", () => {
    const cut = logOf([
      ...opening,
      attemptEnded("a1"),
      { type: "session.created", parent: { session: "s", seq: 5 } },
      ...closing,
    ]);
    assert.deepEqual(broken(cut), []);
  });

  test("laws that run together, and share what they derive, say what each says alone, on any log", () => {
    const pieces = [
      opening,
      closing,
      asking,
      turnOf(1),
      turnOf(2, callPart("a2-2")),
      ...breaking.map(([, , log]) => log),
    ];
    const events = [...new Set(pieces.flat())];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces, ...events.map((event) => [event]))), (drawn) => {
        const log = logOf(drawn.flat());
        const alone = laws.flatMap((law) => verifyWith([law], log));
        assert.deepEqual(verify(log), alone);
        // In whatever order they look.
        assert.deepEqual(verifyWith(laws.toReversed(), log).reverse(), alone);
      }),
    );
  });

  test("L1: no log breaks it: the request is derived. What it looks for is found in a prompt made by hand", () => {
    const mess = logOf([
      ...asking,
      ...closing,
      ...turnOf(2, callPart("a2-2", "a1-1")),
      settled("a1-1"),
      settled("nobody"),
    ]);
    assert.deepEqual(unpaired(promptFor(mess)), []);
    const call = {
      role: "assistant" as const,
      content: [{ type: "tool-call" as const, toolCallId: "x", toolName: "t", input: {} }],
    };
    const result = {
      role: "tool" as const,
      content: [
        { type: "tool-result" as const, toolCallId: "x", toolName: "t", output: { type: "text" as const, value: "" } },
      ],
    };
    assert.deepEqual(unpaired([call, result]), []);
    assert.equal(unpaired([call]).length, 1);
    assert.equal(unpaired([result]).length, 1);
    assert.equal(unpaired([call, { role: "tool", content: [...result.content, ...result.content] }]).length, 1);
    assert.equal(unpaired([call, result, call, result]).length, 1);
    assert.equal(unpaired([call, { role: "user", content: [] }, result]).length, 2);
  });
});
