/** What a driver does next, state by state: the expectations are written out, not computed from the code under test. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { noExposure } from "../src/attempt/exposure.ts";
import { failureOf } from "../src/attempt/failure.ts";
import type { Boundary } from "../src/context/compaction.ts";
import { isPawlError } from "../src/error.ts";
import { limit } from "../src/limit.ts";
import type { EventOf, MessagePart } from "../src/log/event.ts";
import type { Action, Decision, Exposure, Failure, FailureKind } from "../src/log/value.ts";
import { pendingOf } from "../src/tool/pending.ts";
import {
  compactionOf,
  defaultCompaction,
  hopelessness,
  type Measured,
  planCompaction,
  roomFor,
  summaryRequest,
} from "../src/turn/compaction.ts";
import { type Circumstances, decideNext, type TurnLimits } from "../src/turn/decide.ts";
import { type OpenStep, type OpenTurn, type TurnState, turnFold } from "../src/turn/state.ts";
import { attemptEnded, attemptStarted, callPart, committed, text } from "./log-builder.ts";

const limits: TurnLimits = { stepsPerTurn: 5, recovery: {} };
const calm: Circumstances = { aborted: false, steered: false, room: "enough", compactable: () => true };

function stateOf(turn: Partial<OpenTurn> | undefined, rest: Partial<TurnState> = {}): TurnState {
  const bare: OpenTurn = {
    id: "t1",
    session: "s",
    steps: 1,
    attempts: 0,
    elapsedMs: 0,
    cost: 0,
    step: undefined,
    lastMessage: undefined,
  };
  return { ...turnFold.init(), ...rest, turn: turn && { ...bare, ...turn } };
}

function stepOf(rest: Partial<OpenStep> = {}): OpenStep {
  return {
    id: "st1",
    attempts: 0,
    seals: 0,
    empties: 0,
    compactions: 0,
    stripped: false,
    attempt: undefined,
    ended: undefined,
    summary: undefined,
    compacted: false,
    stateStripped: false,
    message: undefined,
    calls: new Map(),
    snapshot: undefined,
    eager: new Map(),
    ...rest,
  };
}

type Ended = EventOf<"attempt.ended">;

function ended(action: Action, kind: FailureKind = "server", more: { [key: string]: unknown } = {}): Ended {
  const { exposure, ...rest } = more as { exposure?: Partial<Exposure> } & Partial<Decision>;
  const decision: Decision = { action, delayMs: 0, at: 0, reason: "", ...rest };
  const whole = { ...noExposure(), ...exposure };
  return attemptEnded("a1", { end: "failed", failure: failureOf(kind, "x"), decision, exposure: whole }) as Ended;
}

function messageOf(reason: string, ...parts: MessagePart[]): EventOf<"message.committed"> {
  return { ...(committed("a1", ...parts) as EventOf<"message.committed">), finish: { reason } };
}

function inStep(step: Partial<OpenStep>, now: Partial<Circumstances> = {}, rest: Partial<TurnState> = {}) {
  return decideNext(stateOf({ step: stepOf(step) }, rest), limits, { ...calm, ...now });
}

function between(turn: Partial<OpenTurn>, now: Partial<Circumstances> = {}, recovery: TurnLimits["recovery"] = {}) {
  return decideNext(stateOf(turn), { ...limits, recovery }, { ...calm, ...now });
}

const asking = messageOf("tool-calls", callPart("c1"));
const executed = messageOf("stop", text("p"), callPart("c1", "c1", { providerExecuted: true }));
const hopeless = failureOf("overflow", "no room at all");

describe("what a driver does next", () => {
  test("without a turn, nothing; a turn begins with a step", () => {
    assert.deepEqual(decideNext(stateOf(undefined), limits, { ...calm, aborted: true }), { do: "idle" });
    assert.deepEqual(between({ steps: 0 }), { do: "start-step" });
    assert.deepEqual(
      between({ steps: 1 }),
      { do: "end-turn", outcome: { type: "failed" } },
      "a step without a message",
    );
  });

  test("within a step: the dead attempt first, then its calls, then its end", () => {
    const attempt = attemptStarted("a1", "st1") as EventOf<"attempt.started">;
    const calls = pendingOf([callPart("c1")]);
    assert.deepEqual(inStep({ attempt, message: asking }), { do: "close-attempt" });
    assert.deepEqual(inStep({ message: asking, calls }), { do: "run-tools" });
    for (const call of calls.values()) call.output = { content: [], isError: false };
    assert.deepEqual(inStep({ message: asking, calls }), { do: "end-step" });
    assert.deepEqual(inStep({ message: executed }), { do: "end-step" });
    assert.deepEqual(inStep({}), { do: "attempt" });
  });

  test("an attempt that ended and about which nothing was decided is made again", () => {
    const undecided = attemptEnded("a1", { end: "failed", failure: failureOf("server", "x") }) as Ended;
    assert.deepEqual(inStep({ ended: undecided }), { do: "attempt" });
    assert.deepEqual(inStep({ summary: undecided }), { do: "compact" });
  });

  test("a decision is carried out: another request, or stripped state, once", () => {
    for (const action of ["retry", "seal", "discard"] as const)
      assert.deepEqual(inStep({ ended: ended(action) }), { do: "attempt" }, action);
    const strip = ended("strip", "provider-state");
    assert.deepEqual(inStep({ ended: strip }), { do: "strip" });
    assert.deepEqual(inStep({ ended: strip, stateStripped: true }), { do: "attempt" });
    assert.deepEqual(inStep({ summary: strip }), { do: "strip" }, "also where a summary was refused");
    assert.deepEqual(inStep({ ended: ended("retry"), summary: strip }), { do: "strip" });
  });

  test("what was told to stop begins nothing new, and closes what is open first", () => {
    const failure = failureOf("store", "x");
    const aborted = { do: "end-turn", outcome: { type: "aborted" } };
    assert.deepEqual(inStep({}, { aborted: true }), aborted);
    assert.deepEqual(inStep({}, { aborted: true, failure }), { ...aborted, failure });
    assert.deepEqual(inStep({ ended: ended("compact", "overflow") }, { aborted: true }), aborted);
    assert.deepEqual(between({ lastMessage: asking }, { aborted: true }), aborted);
    const calls = pendingOf([callPart("c1")]);
    assert.deepEqual(inStep({ message: asking, calls }, { aborted: true }), { do: "run-tools" });
    assert.deepEqual(inStep({ message: asking }, { aborted: true }), { do: "end-step" });
    assert.deepEqual(inStep({ ended: ended("stop", "quota") }, { aborted: true }), {
      do: "end-turn",
      outcome: { type: "quota" },
      failure: failureOf("quota", "x"),
    });
  });
});

describe("how a turn ends with its step", () => {
  const outcomeOf = (kind: FailureKind, more: { [key: string]: unknown } = {}, step: Partial<OpenStep> = {}) => {
    const next = inStep({ ...step, ended: ended("stop", kind, more) });
    assert.ok(next.do === "end-turn");
    assert.deepEqual(next.failure, failureOf(kind, "x"), "the original failure");
    return next.outcome;
  };

  test("L7: by the kind of its failure", () => {
    for (const kind of ["aborted", "rate-limited", "quota", "empty", "filtered", "overflow"] as const)
      assert.deepEqual(outcomeOf(kind), { type: kind }, kind);
    for (const kind of ["connect", "server", "auth", "rejected", "store", "unknown", "stream-broken"] as const)
      assert.deepEqual(outcomeOf(kind), { type: "failed" }, kind);
  });

  test("L7: an answer that broke after something was let out is truncated", () => {
    for (const exposure of [{ text: true }, { toolInput: true }, { calls: 1 }]) {
      assert.deepEqual(outcomeOf("stream-broken", { exposure }), { type: "truncated" });
      assert.deepEqual(outcomeOf("server", { exposure }), { type: "failed" });
    }
    assert.deepEqual(outcomeOf("stream-broken", { exposure: { reasoning: true } }), { type: "failed" });
  });

  test("L7: a request that does not fit even when it was made shorter is a full context", () => {
    assert.deepEqual(outcomeOf("overflow", {}, { compactions: 1 }), { type: "context-full" });
  });

  test("L6 R13: the moment that a provider named, or the budget that was used up, comes before the kind", () => {
    assert.deepEqual(outcomeOf("overloaded", { until: 7 }), { type: "rate-limited", until: 7 });
    assert.deepEqual(outcomeOf("quota", { limit: "time" }), { type: "limit", limit: "time" });
    assert.deepEqual(outcomeOf("quota", { limit: "cost", until: 7 }), { type: "rate-limited", until: 7 });
  });

  test("an end that nobody can explain has no failure", () => {
    const { failure: _, ...plain } = ended("stop");
    assert.deepEqual(inStep({ ended: plain }), { do: "end-turn", outcome: { type: "failed" } });
  });
});

describe("when a step makes the conversation shorter", () => {
  const compact = { do: "compact" };
  const full = (failure?: Failure) => ({
    do: "end-turn",
    outcome: { type: "context-full" },
    ...(failure ? { failure } : {}),
  });
  const asked = ended("compact", "overflow");
  const overflow = failureOf("overflow", "x");
  const useless = (kind: "overflow" | "empty") => ended("stop", kind);

  test("before its first attempt where it is crowded, and whenever a request did not fit", () => {
    assert.deepEqual(inStep({}, { room: "crowded" }), compact);
    assert.deepEqual(inStep({ ended: ended("retry") }, { room: "crowded" }), { do: "attempt" });
    assert.deepEqual(inStep({ ended: asked }), compact);
    assert.deepEqual(inStep({ ended: asked, compacted: true }), { do: "attempt" }, "once it is done");
    assert.deepEqual(inStep({ compacted: true }, { room: "crowded" }), { do: "attempt" });
  });

  test("a summary that was begun is gone on with", () => {
    assert.deepEqual(inStep({ summary: ended("retry") }), compact);
    assert.deepEqual(inStep({ summary: ended("retry"), ended: ended("retry") }), { do: "attempt" });
  });

  test("where nothing old is there: what is crowded may still fit, what was refused does not", () => {
    const now = { room: "crowded", compactable: () => false } as const;
    assert.deepEqual(inStep({}, now), { do: "attempt" });
    assert.deepEqual(inStep({ ended: asked }, now), full(overflow));
  });

  test("nobody looks at all messages before there is something to decide", () => {
    const compactable = () => assert.fail("a look at all messages");
    assert.deepEqual(inStep({}, { compactable }), { do: "attempt" });
    assert.deepEqual(inStep({ compacted: true, ended: asked }, { compactable }), { do: "attempt" });
    assert.deepEqual(inStep({ ended: asked }, { compactable }, { compactionFailures: 2 }), full(overflow));
  });

  test("L6: a second useless summary ends the turn, the first does not", () => {
    for (const kind of ["overflow", "empty"] as const) {
      assert.deepEqual(inStep({ summary: useless(kind) }, {}, { compactionFailures: 1 }), { do: "attempt" }, kind);
      assert.deepEqual(inStep({ summary: useless(kind), ended: asked }, {}, { compactionFailures: 1 }), compact, kind);
      assert.deepEqual(
        inStep({ summary: useless(kind) }, {}, { compactionFailures: 2 }),
        full(failureOf(kind, "x")),
        kind,
      );
    }
    assert.deepEqual(inStep({}, { room: "crowded" }, { compactionFailures: 2 }), full());
  });

  test("a fault of the world that stopped a summary ends the turn as it would have the step", () => {
    assert.deepEqual(inStep({ summary: ended("stop", "quota") }), {
      do: "end-turn",
      outcome: { type: "quota" },
      failure: failureOf("quota", "x"),
    });
    const cut = ended("stop", "stream-broken", { exposure: { text: true } });
    assert.deepEqual(inStep({ summary: cut }), {
      do: "end-turn",
      outcome: { type: "failed" },
      failure: failureOf("stream-broken", "x"),
    });
    assert.deepEqual(inStep({ summary: ended("stop", "server", { until: 9 }), ended: asked }), {
      do: "end-turn",
      outcome: { type: "rate-limited", until: 9 },
      failure: failureOf("server", "x"),
    });
  });

  test("no request at all where none can fit; one that was made already is judged by what it met", () => {
    assert.deepEqual(inStep({}, { hopeless }), full(hopeless));
    assert.deepEqual(inStep({ ended: ended("retry") }, { hopeless }), { do: "attempt" });
  });
});

describe("between steps", () => {
  const completed = { do: "end-turn", outcome: { type: "completed" } };

  test("calls ask for another step, whatever the finish says; answers, and calls that the provider ran, do not", () => {
    assert.deepEqual(between({ lastMessage: asking }), { do: "start-step" });
    assert.deepEqual(between({ lastMessage: messageOf("stop", text("p"), callPart("c1")) }), { do: "start-step" });
    assert.deepEqual(between({ lastMessage: messageOf("stop", text("p")) }), completed);
    assert.deepEqual(between({ lastMessage: executed }), completed);
  });

  test("a steer that waits asks for another step, and a filter's veto for none", () => {
    assert.deepEqual(between({ lastMessage: executed }, { steered: true }), { do: "start-step" });
    const filtered = { do: "end-turn", outcome: { type: "filtered" } };
    const vetoed = messageOf("content-filter", text("p"), callPart("c1"));
    assert.deepEqual(between({ lastMessage: vetoed }, { steered: true }), filtered);
  });

  test("an answer that its limit cut is truncated; with a call that is whole, the turn goes on", () => {
    const truncated = { do: "end-turn", outcome: { type: "truncated" } };
    assert.deepEqual(between({ lastMessage: messageOf("length", text("p")) }), truncated);
    assert.deepEqual(between({ lastMessage: messageOf("length", callPart("c1")) }), { do: "start-step" });
  });

  test("L6: steps, time and money end a turn that would go on, and no other", () => {
    const recovery = { elapsedMsPerTurn: 1_000, costPerTurn: 3 };
    for (const [turn, name] of [
      [{ steps: 5 }, "steps"],
      [{ elapsedMs: 1_000 }, "time"],
      [{ cost: 3 }, "cost"],
      [{ steps: 9, elapsedMs: 9_000, cost: 9 }, "steps"],
      [{ elapsedMs: 9_000, cost: 9 }, "time"],
    ] as const) {
      const ends = { do: "end-turn", outcome: { type: "limit", limit: name } };
      assert.deepEqual(between({ ...turn, lastMessage: asking }, {}, recovery), ends);
      assert.deepEqual(between({ ...turn, lastMessage: executed }, { steered: true }, recovery), completed);
    }
    const near = { steps: 4, elapsedMs: 999, cost: 2.9, lastMessage: asking };
    assert.deepEqual(between(near, {}, recovery), { do: "start-step" });
    assert.deepEqual(between({ ...near, elapsedMs: 1e12, cost: 1e12 }), { do: "start-step" }, "no budget, no end");
  });
});

describe("the plan of a compaction", () => {
  const at = (seq: number, tokens: number): Boundary => ({ seq, tokens, beforeInput: false });
  const measured = (saves: number, rest: Partial<Measured> = {}): Measured => ({
    tokens: 0,
    size: 1_000,
    boundaries: [at(1, 300), at(2, 400), at(3, 650), at(4, 1_000)],
    prunable: () => saves,
    ...rest,
  });

  test("old results are cut where that is enough, else the model sums up; the newest part stays", () => {
    assert.deepEqual(planCompaction(measured(250), defaultCompaction, 0), { by: "prune", upTo: 3, prune: true });
    assert.deepEqual(planCompaction(measured(249), defaultCompaction, 0), { by: "summary", upTo: 3, prune: false });
    const seen: number[] = [];
    const prunable = (upTo: number) => seen.push(upTo);
    planCompaction(measured(0, { prunable }), defaultCompaction, 0);
    assert.deepEqual(seen, [3]);
  });

  test("after a failure it asks for less, in a request that is itself shorter", () => {
    assert.deepEqual(planCompaction(measured(0), defaultCompaction, 1), { by: "summary", upTo: 1, prune: true });
    const keepsMore = { ...defaultCompaction, keep: 0.1 };
    assert.deepEqual(planCompaction(measured(0), keepsMore, 0)?.upTo, 3);
    assert.deepEqual(planCompaction(measured(0), keepsMore, 1)?.upTo, 2);
  });

  test("where nothing old is there, there is no plan", () => {
    assert.equal(planCompaction(measured(999, { boundaries: [] }), defaultCompaction, 0), undefined);
    assert.equal(planCompaction(measured(999, { boundaries: [at(1, 1_000)] }), defaultCompaction, 0), undefined);
  });

  test("nor is there one where all of what it could replace is too little beside the instructions", () => {
    assert.equal(planCompaction(measured(0, { size: 2_600 }), defaultCompaction, 0)?.upTo, 3);
    assert.equal(planCompaction(measured(0, { size: 2_601 }), defaultCompaction, 0), undefined);
  });

  test("a request is crowded from the policy's share of a known window on", () => {
    const room = (tokens: number, windowTokens?: number, compaction = defaultCompaction) =>
      roomFor(tokens, { windowTokens, compaction });
    assert.equal(room(799, 1_000), "enough");
    assert.equal(room(800, 1_000), "crowded");
    assert.equal(room(1e9), "enough");
    assert.equal(room(1e9, 1_000, { ...defaultCompaction, mode: "off" }), "enough");
  });

  test("what no compaction can mend is said with its figures", () => {
    const hope = (overheadTokens: number, windowTokens?: number, compaction = defaultCompaction) =>
      hopelessness({ windowTokens, overheadTokens, compaction });
    assert.equal(hope(1e9), undefined);
    assert.equal(hope(99, 100), undefined);
    assert.equal(hope(100, 100, { ...defaultCompaction, mode: "off" }), undefined, "left to the provider");
    const { kind, message, detector, code } = hope(100, 100) ?? {};
    assert.deepEqual([kind, detector, code], ["overflow", "runtime", "OVERHEAD"]);
    assert.match(message ?? "", /take about 100 tokens of a window of 100: give fewer tools/);
  });

  test("a policy that would never come to an end is refused, by name and value", () => {
    assert.deepEqual(compactionOf(), { mode: "auto", at: 0.8, keep: 0.3, resultChars: 2_000, shrink: 0.25 });
    assert.equal(compactionOf({ keep: 0.5 }).keep, 0.5);
    assert.equal(compactionOf({ mode: "off" }).mode, "off");
    refused({ mode: "on" as "off" }, 'compaction.mode is "on"; use "auto" or "off"');
    for (const name of ["at", "keep", "shrink"] as const)
      for (const value of [0, 1, -1, 2, Number.NaN])
        refused({ [name]: value }, `compaction.${name} is ${value}; use a share`);
    for (const resultChars of [-1, limit.messageChars + 1, Number.NaN])
      refused({ resultChars }, `compaction.resultChars is ${resultChars}; use 0 to ${limit.messageChars}`);
    for (const resultChars of [0, limit.messageChars])
      assert.equal(compactionOf({ resultChars }).resultChars, resultChars);
  });

  test("a summary is asked for by what it must keep, and as the only answer", () => {
    const lines = summaryRequest.split("\n");
    assert.equal(lines.length, 4);
    assert.match(
      lines[0] ?? "",
      /^The conversation has become too long .* Write a summary that replaces everything above/,
    );
    for (const kept of [
      "what the user asked for",
      "decisions and their reasons",
      "names of files",
      "what failed",
      "what remains to be done",
    ])
      assert.ok(summaryRequest.includes(kept), kept);
    assert.match(lines[3] ?? "", /Answer with the summary alone and call no tool\.$/);
  });

  function refused(changes: Parameters<typeof compactionOf>[0], words: string): void {
    assert.throws(
      () => compactionOf(changes),
      (error) => isPawlError(error, "INVALID_INPUT") && error.message.includes(words),
    );
  }
});
