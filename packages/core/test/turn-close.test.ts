/** How an open turn is closed whole, at every point where it may stand open. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { noExposure } from "../src/attempt/exposure.ts";
import { failureOf } from "../src/attempt/failure.ts";
import type { EventOf, LogEvent } from "../src/log/event.ts";
import { runFold } from "../src/log/fold.ts";
import { closeTurn, unrecordedFacts } from "../src/turn/close.ts";
import { turnFold } from "../src/turn/state.ts";
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
  turnStarted,
} from "./log-builder.ts";

const begun = [input("in1"), turnStarted("t1", "in1")];
const inStep = [...begun, stepStarted("st1", "t1", 1)];
const attempting = [...inStep, attemptStarted("a1", "st1")];
const message = committed("a1", text("p"), callPart("c1"), callPart("c2"), callPart("c3"));
const calling = [...attempting, attemptEnded("a1"), message, entered("c1"), settled("c1"), entered("c2")];

const failure = failureOf("server", "503");
const interrupted = { outcome: { type: "interrupted" } } as const;
const turnEnd: LogEvent = { type: "turn.ended", turn: "t1", outcome: { type: "interrupted" } };

function stateOf(events: readonly LogEvent[]) {
  return runFold(turnFold, logOf(events));
}

describe("closing a turn", () => {
  test("L7: no turn, nothing to close; between steps, the turn alone", () => {
    assert.deepEqual(closeTurn(stateOf([]), interrupted), []);
    assert.deepEqual(closeTurn(stateOf(begun), interrupted), [turnEnd]);
    assert.deepEqual(closeTurn(stateOf([...inStep, stepEnded("st1")]), interrupted), [turnEnd]);
  });

  test("L7: the open attempt first, with what its journal proves and the reads it entered", () => {
    const end: EventOf<"attempt.ended"> = {
      type: "attempt.ended",
      attempt: "a1",
      end: "interrupted",
      exposure: noExposure(),
      usage: { measure: "unknown" },
      durationMs: 0,
    };
    const closed = (events: readonly LogEvent[], rest = {}) => closeTurn(stateOf(events), { ...interrupted, ...rest });
    assert.deepEqual(closed(attempting), [end, stepEnded("st1"), turnEnd]);
    const proven = { parts: [text("a1-1", "half")], exposure: { ...noExposure(), text: true } };
    const read = entered("a1-2", { attempt: "a1", effect: "read" });
    assert.deepEqual(closed([...attempting, read], { fragment: proven })[0], {
      ...end,
      exposure: { ...noExposure(), text: true, readsEntered: 1 },
      fragment: proven.parts,
    });
    const nothing = { parts: [], exposure: noExposure() };
    assert.deepEqual(closed(attempting, { fragment: nothing })[0], end, "no fragment of nothing");
    assert.deepEqual(closed(attempting, { failure }), [
      { ...end, failure },
      { ...stepEnded("st1"), failure },
      { ...turnEnd, failure },
    ]);
  });

  test("L7: calls get their results before the step ends, in call order; recorded ones stay", () => {
    const events = closeTurn(stateOf(calling), { outcome: { type: "failed" }, failure });
    assert.deepEqual(
      events.map((event) => (event.type === "tool.settled" ? [event.call, event.output.code] : event.type)),
      [["c2", "TOOL_OUTCOME_UNKNOWN"], ["c3", "TOOL_NOT_STARTED"], "step.ended", "turn.ended"],
    );
    assert.deepEqual(events.slice(-2), [
      { ...stepEnded("st1"), failure },
      { type: "turn.ended", turn: "t1", outcome: { type: "failed" }, failure },
    ]);
  });
});

describe("what the log refused", () => {
  const facts = (before: readonly LogEvent[], refused: readonly LogEvent[]) =>
    unrecordedFacts(stateOf(before), refused);
  const end = attemptEnded("a1");
  const summary: LogEvent = { type: "context.compacted", upTo: 1, summary: [], attempt: "a1" };

  test("L3: how the open attempt ended, its message, and results of its calls have happened", () => {
    const happened = [end, message, settled("c1"), settled("c3")];
    assert.deepEqual(facts(attempting, happened), happened);
    assert.deepEqual(facts(attempting, [end, summary]), [end, summary]);
    assert.deepEqual(facts(calling, [settled("c2"), settled("c3")]), [settled("c2"), settled("c3")]);
  });

  test("what was only announced has not", () => {
    const announced = [
      entered("c3"),
      stepEnded("st1"),
      stepStarted("st2", "t1", 2),
      attemptStarted("a2", "st2"),
      turnEnd,
    ];
    assert.deepEqual(facts(calling, announced), []);
    assert.deepEqual(facts(attempting, [end, message, ...announced]), [end, message]);
  });

  test("L7: nothing has its end twice, nor a result", () => {
    assert.deepEqual(facts(attempting, [end, end, message]), [end, message]);
    assert.deepEqual(facts(calling, [settled("c1"), settled("c2"), settled("c2"), settled("c9")]), [settled("c2")]);
    assert.deepEqual(facts(attempting, [settled("c1"), end, message]), [end, message], "before its message");
  });

  test("L2: what belongs to no attempt that is open, or to one that was not committed, is left out", () => {
    const other = attemptEnded("a2");
    assert.deepEqual(facts(attempting, [other, committed("a2", callPart("c4")), settled("c4")]), []);
    const failed = attemptEnded("a1", { end: "failed" });
    assert.deepEqual(facts(attempting, [failed, message, summary]), [failed]);
    assert.deepEqual(facts(attempting, [message, summary]), [], "without its end");
    for (const nothing of [[], begun, inStep, calling]) {
      assert.deepEqual(facts(nothing, [end, message, summary]), []);
      const { attempt: _, ...drop } = summary as EventOf<"context.compacted">;
      assert.deepEqual(facts(nothing, [drop]), [], "of no attempt");
    }
  });
});
