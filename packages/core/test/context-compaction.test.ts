/** A conversation made shorter: what stands for what was cut, where it may be cut, and how large it is. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { failureOf } from "../src/attempt/failure.ts";
import { type Boundary, boundaries, chooseCut, promptUpTo, prunable, sizeOf } from "../src/context/compaction.ts";
import { pairing, stablePrefix, unpaired } from "../src/context/laws.ts";
import { contextFold, promptOf } from "../src/context/projection.ts";
import type { LogEntry } from "../src/log/envelope.ts";
import type { EventOf, LogEvent, MessagePart, Part } from "../src/log/event.ts";
import { runFold } from "../src/log/fold.ts";
import { messageChars, tokensOf } from "../src/log/size.ts";
import type { RequestHeader } from "../src/log/value.ts";
import { verifyWith } from "../src/log/verify.ts";
import { promptsOf } from "./context-request.ts";
import {
  attemptEnded,
  attemptStarted,
  callPart,
  committed,
  entered,
  header,
  input,
  logOf,
  settled,
  stepStarted,
  text,
  turnEnded,
  turnOf,
  turnStarted,
} from "./log-builder.ts";
import { testTarget } from "./turn-world.ts";

function compacted(upTo: number, words = `up to ${upTo}`, rest: Partial<EventOf<"context.compacted">> = {}): LogEvent {
  return { type: "context.compacted", upTo, summary: [{ type: "text", text: words }], ...rest };
}

function prune(upTo: number, resultChars: number): LogEvent {
  return { type: "context.compacted", upTo, by: "prune", summary: [], resultChars };
}

function stateOf(events: readonly LogEvent[]) {
  return runFold(contextFold(testTarget), logOf(events));
}

function told(events: readonly LogEvent[]): string[] {
  return words(promptOf(stateOf(events), undefined));
}

/** Each message in short: the role's letter, and its texts, calls and results. */
function words(prompt: LanguageModelV4Prompt): string[] {
  return prompt.map(({ role, content }) => {
    if (typeof content === "string") return `s:${content}`;
    const parts = content.map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "tool-call") return `call ${part.toolCallId}`;
      return part.type === "tool-result" ? `result ${part.toolCallId}` : part.type;
    });
    return `${role[0]}:${parts.join("|")}`;
  });
}

const frame = "[The earlier conversation was replaced by this summary:]";
const inTool = [input("in1"), committed("a1", text("a1-1", "I look."), callPart("c1")), input("in2")];
const open = [input("in1"), committed("a1", text("a1-1", "I look."), callPart("c1"))];

describe("compaction", () => {
  test("a summary, of a model or of our own, stands as one message for everything up to its seq", () => {
    const log = [...turnOf(1, callPart("c1")), ...turnOf(2)];
    const upTo = turnOf(1, callPart("c1")).length;
    for (const by of ["summary", "drop"] as const) {
      const later = [...log, compacted(upTo, "it went well", { by })];
      assert.deepEqual(told(later), [`u:${frame}|it went well`, "u:in2", "a:words"]);
    }
    assert.deepEqual(
      told([...log, compacted(upTo, "old"), ...turnOf(3), compacted(log.length + 1, "new"), input("in4")]),
      [`u:${frame}|new`, "u:in3", "a:words", "u:in4"],
    );
  });

  test("R41: recorded while a tool runs, it stands before the pair, and the result goes to its call", () => {
    const running = [input("in0"), ...open, compacted(1)];
    assert.deepEqual(told(running), [`u:${frame}|up to 1`, "u:in1", "a:I look.|call c1", "t:result c1"]);
    const done = [...running, settled("c1", "found"), input("in2"), compacted(2)];
    assert.deepEqual(told(done), [`u:${frame}|up to 2`, "a:I look.|call c1", "t:result c1", "u:in2"]);
    assert.match(JSON.stringify(promptsOf(logOf(done), testTarget)), /found/);
    assert.doesNotMatch(JSON.stringify(promptsOf(logOf(done), testTarget)), /up to 1/, "an older one is not kept");
  });

  test("R41: thirty-three of them, each cutting wherever it likes, never part a call from its result", () => {
    for (let upTo = 0; upTo <= 40; upTo += 1) {
      const events: LogEvent[] = [];
      for (let n = 1; n <= 33; n += 1)
        events.push(...turnOf(n, callPart(`c${n}`), callPart(`d${n}`)), compacted(n * 7 + upTo));
      assert.deepEqual(unpaired(promptsOf(logOf(events), testTarget)), []);
    }
  });

  test("R41: a result whose call is cut away is not sent; nor is a call whose message is", () => {
    assert.deepEqual(told([...open, settled("c1"), compacted(2), input("in2")]), [`u:${frame}|up to 2`, "u:in2"]);
    assert.deepEqual(told([...open, compacted(2), settled("c1"), input("in2")]), [`u:${frame}|up to 2`, "u:in2"]);
    assert.deepEqual(told([...inTool, settled("c1"), compacted(3)]), [`u:${frame}|up to 3`]);
  });

  test("a cut that falls back brings nothing back, and one that reaches ahead takes nothing that follows it", () => {
    const log = [input("in1"), input("in2"), input("in3"), compacted(2), compacted(1, "later"), input("in4")];
    assert.deepEqual(told(log), [`u:${frame}|later`, "u:in3", "u:in4"]);
    assert.deepEqual(told([input("in1"), compacted(99), input("in2")]), [`u:${frame}|up to 99`, "u:in2"]);
  });

  test("wire ids begin again with what is kept, so that a context loaded from there on has the same bytes", () => {
    const log = logOf([...turnOf(1, callPart("c1", "call_0")), ...turnOf(2, callPart("c2", "call_0")), compacted(10)]);
    const later = log.filter(({ seq }) => seq > 10);
    assert.match(JSON.stringify(promptsOf(log, testTarget)), /"call_0"/);
    assert.deepEqual(promptsOf(later, testTarget), promptsOf(log, testTarget));
  });

  test("the request for a summary, its answer and what broke it are no part of the conversation", () => {
    const aside = { ...attemptStarted("x1", "st1"), purpose: "compaction" } as LogEvent;
    assert.deepEqual(told([...open, aside, committed("x1", text("x1-1", "a summary")), settled("c1")]), [
      "u:in1",
      "a:I look.|call c1",
      "t:result c1",
    ]);
  });

  const long = "x".repeat(500);
  const data: Part[] = [{ type: "data", data: { long } }];
  const results = [
    input("in1"),
    committed("a1", callPart("c1"), callPart("c2"), callPart("c3")),
    settled("c1", long),
    { type: "tool.settled", call: "c2", output: { content: data, isError: false }, by: "tool" } as LogEvent,
    settled("c3", "short"),
    committed("a2", callPart("c4")),
    settled("c4", long),
  ];

  test("a prune cuts the text of old results, data too, says how much, and leaves the rest alone", () => {
    const lengths = (log: readonly LogEvent[]) =>
      promptOf(stateOf(log), undefined).flatMap(({ role, content }) =>
        role === "tool" ? content.map((part) => JSON.stringify(part).length > 300) : [],
      );
    assert.deepEqual(lengths(results), [true, true, false, true]);
    assert.deepEqual(lengths([...results, prune(5, 100)]), [false, false, false, true]);
    assert.deepEqual(lengths([...results, prune(5, 100), prune(7, 120), input("in2")]), [false, false, false, false]);
    assert.deepEqual(
      lengths([...results, prune(99, 100), committed("a3", callPart("c5")), settled("c5", long)]).at(-1),
      true,
    );
    const prompt = JSON.stringify(promptOf(stateOf([...results, prune(5, 100)]), undefined));
    assert.match(prompt, /"x{100}\\n\[… 400 characters of an old result were left out\]"/);
    assert.match(prompt, /"type":"text","value":"{\\"long\\":\\"x{91}\\n\[… 411 characters/);
    assert.deepEqual(
      words(promptOf(stateOf([...results, prune(5, 100)]), undefined)),
      told(results),
      "no message goes",
    );
  });

  test("a prune cuts between characters, and never makes a result longer", () => {
    const smileys = [
      input("in1"),
      committed("a1", callPart("c1")),
      settled("c1", "\u{1f600}".repeat(100)),
      prune(3, 9),
    ];
    const prompt = JSON.stringify(promptOf(stateOf(smileys), undefined));
    assert.ok(prompt.isWellFormed() && !prompt.includes("\\ud"));
    assert.match(prompt, /"\u{1f600}{4}\\n\[… 192 /u);
    const near = [input("in1"), committed("a1", callPart("c1")), settled("c1", "x".repeat(20)), prune(3, 10)];
    assert.match(JSON.stringify(promptOf(stateOf(near), undefined)), /"x{20}"/);
  });

  test("a prune stays in force behind a later summary", () => {
    const log = [...results, prune(7, 100), compacted(5)];
    assert.deepEqual(told(log), [`u:${frame}|up to 5`, "a:call c4", "t:result c4"]);
    assert.match(JSON.stringify(promptsOf(logOf(log), testTarget)), /400 characters of an old result/);
  });

  test("prunable says what a prune would save, and nothing for what is pruned already", () => {
    const state = stateOf(results);
    const before = sizeOf(state);
    const saved = prunable(state, 7, 100);
    assert.equal(sizeOf(state), before, "asking changes nothing");
    assert.equal(before - sizeOf(stateOf([...results, prune(7, 100)])), saved);
    assert.ok(saved > 300);
    assert.ok(prunable(state, 5, 100) < saved);
    assert.equal(prunable(stateOf([...results, prune(7, 100)]), 7, 100), 0);
  });

  test("a result of another call says nothing of the open ones", () => {
    const log = [...open, entered("c1"), settled("c9"), input("in2")];
    assert.deepEqual(
      boundaries(stateOf(log)).map(({ seq }) => seq),
      [1, 3, 5],
    );
  });

  test("boundaries are where no call is open; their prompt is the beginning of the request, their size its size", () => {
    const log = [...results, settled("c4", "late"), input("in2"), ...open.slice(1)];
    const state = stateOf(log);
    const found = boundaries(state);
    assert.deepEqual(
      found.map(({ seq, beforeInput }) => [seq, beforeInput]),
      [
        [1, false],
        [5, false],
        [7, true],
        [9, false],
      ],
    );
    const whole = promptOf(state, "Be brief.");
    for (const { seq, tokens } of found) {
      const part = promptUpTo(state, "Be brief.", seq);
      assert.deepEqual(part, whole.slice(0, part.length));
      assert.deepEqual(unpaired(part), []);
      assert.equal(tokens, tokensOf(part.slice(1).reduce((sum, message) => sum + messageChars(message), 0)));
    }
    const chars = promptOf(state, undefined).reduce((sum, message) => sum + messageChars(message), 0);
    assert.equal(sizeOf(state), tokensOf(chars), "the open message and its results so far are counted");
    assert.deepEqual(
      boundaries(stateOf([...log, compacted(5)])).map(({ seq }) => seq),
      [7, 9],
    );
  });

  test("what an attempt has let out belongs to what stands before it: no boundary parts them", () => {
    const fragment = [text("a1-1", "half a sen")];
    const failed = [input("in1"), attemptStarted("a1", "st1"), attemptEnded("a1", { end: "failed", fragment })];
    const found = boundaries(stateOf([...failed, input("in2"), turnEnded("t1"), input("in3")]));
    assert.deepEqual(
      found.map(({ seq }) => seq),
      [1, 5, 6],
    );
  });

  test("a cut at any boundary gives what stood behind it, behind the summary", () => {
    const log = [
      ...turnOf(1, callPart("c1")),
      ...turnOf(2),
      input("in3"),
      ...turnOf(4, callPart("c4"), callPart("c5")),
    ];
    const all = told(log);
    for (const { seq } of boundaries(stateOf(log))) {
      const before = promptUpTo(stateOf(log), undefined, seq).length;
      assert.deepEqual(told([...log, compacted(seq)]).slice(1), all.slice(before));
    }
  });

  test("the cut is the last boundary that leaves enough, or the input just before it", () => {
    const at = (tokens: number, beforeInput = false): Boundary => ({ seq: tokens, tokens, beforeInput });
    assert.equal(chooseCut([], 10), undefined);
    assert.equal(chooseCut([at(100)], 10), undefined);
    assert.equal(chooseCut([at(50), at(100)], 51), undefined);
    assert.equal(chooseCut([at(50), at(100)], 50), 50);
    assert.equal(chooseCut([at(50), at(100)], 0), 100);
    assert.equal(chooseCut([at(40), at(70, true), at(80), at(100)], 20), 70);
    assert.equal(chooseCut([at(40), at(60, true), at(80), at(100)], 20), 80, "too much would stay");
    assert.equal(chooseCut([at(64, true), at(80), at(100)], 20), 64, "a fifth at most, the first one too");
  });

  test("L10: the law asks nothing across a recorded change, and everything elsewhere", () => {
    const asked = (n: number) => attemptStarted(`a${n}`, "st1");
    const begun = [input("in1"), turnStarted("t1", "in1"), stepStarted("st1", "t1", 1), asked(1)];
    const call = [committed("a1", callPart("c1"))];
    const broken = (events: readonly LogEvent[]) =>
      verifyWith([pairing, stablePrefix], logOf(events)).flatMap(({ violations }) => violations.map(({ law }) => law));
    // A request that has shown a call without its result, which comes later, is what the law is there to find.
    assert.deepEqual(broken([...begun, ...call, asked(2), settled("c1"), asked(3)]), ["L10"]);
    const elsewhere: LogEvent = { type: "provider-state.stripped", provider: "other", reason: "" };
    assert.deepEqual(broken([...begun, ...call, asked(2), settled("c1"), elsewhere, asked(3)]), ["L10"]);
    assert.deepEqual(broken([...begun, ...call, asked(2), settled("c1"), turnStarted("t2"), asked(3)]), ["L10"]);
    const changes: LogEvent[] = [
      compacted(0),
      prune(9, 1),
      { ...elsewhere, provider: header.model.provider } as LogEvent,
    ];
    for (const change of changes) {
      assert.deepEqual(broken([...begun, ...call, asked(2), settled("c1"), change, asked(3)]), []);
      assert.deepEqual(broken([...begun, ...call, change, asked(2), settled("c1"), asked(3)]), ["L10"], "once only");
    }
    const during = { ...asked(9), purpose: "compaction" } as LogEvent;
    assert.deepEqual(broken([...begun, ...call, during, settled("c1"), asked(3)]), [], "not a request of the step");
  });

  test("L10: where reasoning goes with its turn, the start of a turn is a recorded change; a new target is another", () => {
    const turn = (n: number, rest: Partial<RequestHeader>): LogEvent[] => [
      input(`in${n}`),
      turnStarted(`t${n}`, `in${n}`),
      { ...stepStarted(`st${n}`, `t${n}`, 2), header: { ...header, ...rest } } as LogEvent,
      attemptStarted(`a${n}`, `st${n}`),
      committed(`a${n}`, { type: "reasoning", id: `a${n}-1`, text: "why" }, text(`a${n}-2`)),
    ];
    const laws = (events: LogEvent[]) =>
      verifyWith([pairing, stablePrefix], logOf(events)).flatMap(({ violations }) => violations);
    assert.deepEqual(laws([...turn(1, { reasoning: "turn" }), ...turn(2, { reasoning: "turn" })]), []);
    assert.deepEqual(laws([...turn(1, { reasoning: "send" }), ...turn(2, { reasoning: "drop" })]), []);
  });

  test("a session of 2,000 steps: each step makes its own messages, and none of those before again", () => {
    const fold = contextFold(testTarget);
    let state = fold.init();
    let before: LanguageModelV4Prompt = [];
    let seq = 0;
    const take = (...events: LogEvent[]) => {
      for (const event of events) {
        seq += 1;
        const entry: LogEntry = { session: "s", seq, epoch: 1, time: seq, event };
        state = fold.step(state, entry);
      }
    };
    take(input("in1"));
    for (let n = 1; n <= 2_000; n += 1) {
      take(attemptStarted(`a${n}`, "st"), committed(`a${n}`, callPart(`c${n}`)), settled(`c${n}`));
      const prompt = promptOf(state, undefined);
      const made = prompt.filter((message, at) => message !== before[at]);
      assert.equal(made.length, n === 1 ? 3 : 2);
      assert.equal(state.marks.length, prompt.length);
      before = prompt;
    }
    take(compacted(seq - 3));
    assert.equal(promptOf(state, undefined).length, 3);
    assert.equal(state.kept.length, 3, "what is replaced is let go");
  });
});

describe("a conversation as its log goes on", () => {
  const hole: LogEvent = { type: "log.repaired", reason: "", from: 1, to: 99 };
  const said = (events: readonly LogEvent[]) => JSON.stringify(promptOf(stateOf(events), undefined));

  test("R40: a read that was entered before its message, and a call with a hole behind it, are in doubt", () => {
    const call = committed("a1", callPart("c1"));
    const eager = entered("c1", { attempt: "a1", effect: "read" });
    assert.match(said([input("in1"), attemptStarted("a1", "st1"), eager, call]), /TOOL_OUTCOME_UNKNOWN/);
    assert.match(said([input("in1"), call]), /TOOL_NOT_STARTED/);
    assert.match(said([input("in1"), call, hole]), /TOOL_OUTCOME_UNKNOWN/);
  });

  test("L10: a turn that ended has said what its calls came to; a late result changes nothing", () => {
    const ended = [...open, turnEnded("t1")];
    assert.equal(said([...ended, settled("c1", "late")]), said(ended));
    assert.deepEqual(
      boundaries(stateOf(ended)).map(({ seq }) => seq),
      [1, 2],
    );
  });

  test("a request that would end with the model's own words ends with ours, and is not cut directly behind it", () => {
    const again = [input("in1"), committed("a1", text("a1-1")), attemptStarted("a2", "st2")];
    assert.deepEqual(told(again), ["u:in1", "a:words", "u:Go on."]);
    assert.deepEqual(
      boundaries(stateOf(again)).map(({ seq }) => seq),
      [1, 2],
    );
    assert.deepEqual(told([...open, attemptStarted("a2", "st2")]), ["u:in1", "a:I look.|call c1", "t:result c1"]);
    assert.deepEqual(told([input("in1"), attemptStarted("a1", "st1")]), ["u:in1"]);
  });

  test("after two answers that delivered nothing the next request says so, once, and is not cut directly behind it", () => {
    const asked = (n: number) => attemptStarted(`a${n}`, "st1");
    const empty = (n: number) => attemptEnded(`a${n}`, { end: "failed", failure: failureOf("empty", "x") });
    const broken = (n: number) => attemptEnded(`a${n}`, { end: "failed", failure: failureOf("server", "x") });
    const nudged = ["u:in1", "u:Your last answers were empty. Answer now, or say what you would need to answer."];
    const begun = [input("in1"), asked(1), empty(1), asked(2)];
    assert.deepEqual(told(begun), ["u:in1"]);
    assert.deepEqual(told([...begun, empty(2)]), ["u:in1"]);
    const third = [...begun, empty(2), asked(3)];
    assert.deepEqual(told(third), nudged);
    assert.deepEqual(
      boundaries(stateOf(third)).map(({ seq }) => seq),
      [1],
    );
    assert.deepEqual(told([...third, empty(3), asked(4)]), nudged, "once");
    assert.deepEqual(told([...begun, broken(2), asked(3)]), ["u:in1"]);
    assert.deepEqual(told([...begun, broken(2), asked(3), empty(3), asked(4)]), nudged, "whatever else broke between");
    assert.deepEqual(
      told([...begun, empty(2), input("in2"), turnStarted("t2", "in2"), asked(3)]),
      ["u:in1", "u:in2"],
      "a turn begins anew",
    );
    const answered = [...begun, committed("a2", text("a2-1")), empty(2), asked(3)];
    assert.deepEqual(told(answered), ["u:in1", "a:words", "u:Go on."]);
  });

  test("what an attempt had let out is sent where it failed or was interrupted, without blanks behind it", () => {
    const broken = (end: "failed" | "interrupted" | "discarded" | "sealed", ...words: string[]) =>
      told([
        input("in1"),
        attemptStarted("a1", "st1"),
        attemptEnded("a1", { end, fragment: words.map((each, at) => text(`a1-${at}`, each)) }),
        turnEnded("t1"),
      ]).slice(1);
    for (const end of ["failed", "interrupted"] as const)
      assert.deepEqual(broken(end, " half", " a sen \n"), ["a: half a sen [interrupted]"], end);
    for (const end of ["discarded", "sealed"] as const) assert.deepEqual(broken(end, "half"), [], end);
    assert.deepEqual(broken("failed", " ", "\n"), []);
    assert.deepEqual(broken("failed"), []);
  });

  test("a compaction reaches no further than itself, also when the conversation is made again later", () => {
    assert.deepEqual(told([input("in1"), compacted(99), input("in2"), prune(3, 9)]), [`u:${frame}|up to 99`, "u:in2"]);
  });

  test("a prune without a length is none, and one that a summary has overtaken is let go", () => {
    const long = [input("in1"), committed("a1", callPart("c1")), settled("c1", "x".repeat(500))];
    const { resultChars: _, ...bare } = prune(3, 9) as EventOf<"context.compacted">;
    assert.equal(said([...long, bare]), said(long));
    assert.equal(stateOf([...long, prune(3, 9), compacted(3)]).prunes.length, 0);
    assert.equal(stateOf([...long, prune(3, 9), compacted(2)]).prunes.length, 1);
  });

  test("a result is as old as its first record; that a call was entered does not age it", () => {
    const long = "x".repeat(500);
    const two = committed("a1", callPart("c1"), callPart("c2"));
    const cut = /characters of an old result/;
    assert.match(said([input("in1"), two, settled("c1", long), settled("c1", long), prune(3, 9)]), cut);
    assert.doesNotMatch(said([input("in1"), two, entered("c1"), settled("c1", long), prune(3, 9)]), cut);
    const others = [input("in1"), two, settled("c1"), entered("c9"), settled("c9"), input("in2")];
    assert.deepEqual(
      boundaries(stateOf(others)).map(({ seq }) => seq),
      [1, 3, 6],
    );
  });

  test("pictures stand behind their results and go with them; no cut parts the two, and a prune takes the picture", () => {
    const shown: Part[] = [{ type: "file", mediaType: "image/png", url: "https://example.org/a.png" }];
    const log: LogEvent[] = [
      input("in1"),
      committed("a1", callPart("c1"), callPart("c2")),
      { type: "tool.settled", call: "c1", output: { content: shown, isError: false }, by: "tool" },
      settled("c2"),
      input("in2"),
    ];
    const of = (events: readonly LogEvent[], rest: object = { images: "send" }) =>
      runFold(contextFold({ ...testTarget, ...rest }), logOf(events));
    const told = ["u:in1", "a:call c1|call c2", "t:result c1|result c2", "u:[shown by act]|file", "u:in2"];
    assert.deepEqual(words(promptOf(of(log), undefined)), told);
    assert.deepEqual(words(promptOf(of(log.slice(0, 3)), undefined)), told.slice(0, 4));
    assert.deepEqual(
      boundaries(of(log)).map(({ seq, beforeInput }) => [seq, beforeInput]),
      [
        [1, false],
        [4, true],
        [5, false],
      ],
    );
    const without = told.filter((each) => !each.includes("shown"));
    assert.deepEqual(words(promptOf(of(log, {}), undefined)), without);
    assert.deepEqual(words(promptOf(of([...log, prune(4, 0)]), undefined)), without);
  });

  test("where reasoning goes with its turn, the next one begins without it, and with all else in place", () => {
    const why = (id: string): MessagePart => ({ type: "reasoning", id, text: `why ${id}` });
    const first: LogEvent[] = [
      input("in1"),
      committed("a0", text("a0-1", "before")),
      committed("a1", why("a1-1"), callPart("c1")),
      settled("c1"),
      committed("a2", text("a2-1", "between")),
      committed("a3", why("a3-1"), text("a3-2", "after")),
      turnEnded("t1"),
      input("in2"),
    ];
    const of = (events: readonly LogEvent[]) =>
      runFold(contextFold({ ...testTarget, reasoning: "turn" }), logOf(events));
    const plain = ["u:in1", "a:before", "a:call c1", "t:result c1", "a:between", "a:after", "u:in2"];
    const whole = of(first);
    assert.deepEqual(words(promptOf(whole, undefined)), [
      "u:in1",
      "a:before",
      "a:reasoning|call c1",
      "t:result c1",
      "a:between",
      "a:reasoning|after",
      "u:in2",
    ]);
    const next = of([...first, turnStarted("t2", "in2")]);
    assert.deepEqual(words(promptOf(next, undefined)), plain);
    assert.deepEqual(
      boundaries(next).map(({ seq, beforeInput }) => [seq, beforeInput]),
      boundaries(whole).map(({ seq, beforeInput }) => [seq, beforeInput]),
    );
    assert.ok(sizeOf(next) < sizeOf(whole));
    const again = of([...first, turnStarted("t2", "in2"), committed("a4", why("a4-1"), text("a4-2", "new"))]);
    assert.deepEqual(words(promptOf(again, undefined)), [...plain, "a:reasoning|new"]);
    const own = callPart("c9", "c9", { meta: { test: { id: "i9" } } });
    const kept = of([input("in1"), committed("a1", why("a1-1"), own), settled("c9"), turnStarted("t2")]);
    assert.deepEqual(promptOf(kept, undefined)[1]?.content, [
      {
        type: "tool-call",
        toolCallId: "c9",
        toolName: "act",
        input: {},
        providerOptions: { test: { id: "i9" } },
      },
    ]);
    assert.equal(stateOf(first).thoughts.length, 0, "elsewhere nothing is kept for it");
  });
});
