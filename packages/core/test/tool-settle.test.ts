/** Calls without a result: what is known of each, and what the model is told. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LogEntry } from "../src/log/envelope.ts";
import type { CallPart, LogEvent, ResultCode, ToolOutput } from "../src/log/event.ts";
import {
  callDigest,
  type EagerEntries,
  type Pending,
  type PendingCall,
  pendingOf,
  track,
  trackEager,
  unsettled,
} from "../src/tool/pending.ts";
import { codedOutput, missingOutput, settleMissing } from "../src/tool/settle.ts";
import { attemptStarted, callPart, entered, settled, text } from "./log-builder.ts";
import { outputText } from "./turn-world.ts";

function at(event: LogEvent, seq = 1): LogEntry {
  return { session: "s", seq, epoch: 1, time: seq * 10, event };
}

function tracked(events: readonly LogEvent[], ids = ["c1", "c2"]): Pending {
  const pending = pendingOf(ids.map((id) => callPart(id)));
  for (const [index, event] of events.entries()) track(pending, at(event, index + 1));
  return pending;
}

function asked(approval: string, call: string, expiresAt?: number): LogEvent {
  const question = { type: "approval.requested", approval, call, digest: "d", ordinal: 2 } as const;
  return { ...question, ...(expiresAt === undefined ? {} : { expiresAt }) };
}

function resolved(approval: string, answer: "allow" | "deny"): LogEvent {
  return { type: "approval.resolved", approval, answer, by: "me", scope: "call" };
}

const output: ToolOutput = { content: [], isError: false };
const open = (rest: Partial<PendingCall> = {}, part: Partial<CallPart> = {}): PendingCall => ({
  part: callPart("c1", "c1", part),
  ...rest,
});
const entry = { ...(entered("c1") as Extract<LogEvent, { type: "tool.entered" }>), at: 1 };

describe("results that no body gave", () => {
  test("L4: the code says whether the body was entered, or may have been", () => {
    assert.equal(missingOutput(open()).code, "TOOL_NOT_STARTED");
    assert.equal(missingOutput(open({ entered: entry })).code, "TOOL_OUTCOME_UNKNOWN");
    assert.equal(missingOutput(open({ lost: true })).code, "TOOL_OUTCOME_UNKNOWN");
    assert.equal(missingOutput(open({}, { cut: true })).code, "TOOL_INPUT_CUT", "a cut call is never entered");
  });

  test("L3: a recorded result is kept, the others get theirs in call order", () => {
    const calls = [open(), open({ output }), open({ entered: entry }, { id: "c3" })];
    assert.deepEqual(
      settleMissing(calls).map((event) => [event.type, event.call, event.output.code, event.by]),
      [
        ["tool.settled", "c1", "TOOL_NOT_STARTED", "recovery"],
        ["tool.settled", "c3", "TOOL_OUTCOME_UNKNOWN", "recovery"],
      ],
    );
    assert.equal(settleMissing([open()], "abandoned")[0]?.by, "abandoned");
  });

  test("each is an error that begins with its code, and says what it means for another call", () => {
    const words: [ResultCode, RegExp][] = [
      ["TOOL_NOT_STARTED", /never started, so it had no effect\. Make it again/],
      [
        "TOOL_OUTCOME_UNKNOWN",
        /may have taken effect in whole, in part or not at all\. Do not simply repeat it\. First look/,
      ],
      ["TOOL_ABORTED", /stopped on request before it ended\. Part of its effect may be there/],
      ["TOOL_ABANDONED", /may still be running or take effect later\. Do not simply repeat it; look at what/],
      ["TOOL_INPUT_CUT", /cut this call's input, so it was not run\. Write less per call/],
    ];
    for (const [code, says] of words) {
      const told = codedOutput(code);
      assert.deepEqual([told.isError, told.code, told.content.length], [true, code, 1]);
      assert.ok(outputText(told).startsWith(`${code}: `), code);
      assert.match(outputText(told), says);
    }
    assert.equal(outputText(codedOutput("TOOL_DENIED")), "TOOL_DENIED: ", "no words of our own");
  });

  test("the words of others are cleaned, and a page of them is enough", () => {
    assert.equal(outputText(codedOutput("TOOL_FAILED", "a\u0000b")), "TOOL_FAILED: a\ufffdb");
    const long = outputText(codedOutput("TOOL_FAILED", "x".repeat(10_000)));
    assert.ok(long.length < 4_100 && long.length > 4_000);
    assert.equal(outputText(codedOutput("TOOL_FAILED", "x".repeat(4_000))), `TOOL_FAILED: ${"x".repeat(4_000)}`);
  });
});

describe("what is known of a message's calls", () => {
  test("only calls that the client runs are pending, in call order", () => {
    const executed = callPart("c2", "c2", { providerExecuted: true });
    const pending = pendingOf([callPart("c3"), text("p"), executed, callPart("c1")]);
    assert.deepEqual(
      [...pending],
      [
        ["c3", { part: callPart("c3") }],
        ["c1", { part: callPart("c1") }],
      ],
    );
  });

  test("a read that was entered while its attempt was open has run once, with the time of its entry", () => {
    const eager: EagerEntries = new Map();
    const event = entered("c1", { attempt: "a1", effect: "read" });
    trackEager(eager, at(event, 3));
    const call = pendingOf([callPart("c1"), callPart("c2")], eager);
    assert.deepEqual(call.get("c1"), { part: callPart("c1"), entered: { ...event, at: 30 }, runs: 1 });
    assert.deepEqual(call.get("c2"), { part: callPart("c2") });
  });

  test("entries of another attempt, and those of no attempt, are of no call to come", () => {
    const eager: EagerEntries = new Map();
    trackEager(eager, at(entered("c1")));
    assert.equal(eager.size, 0);
    trackEager(eager, at(entered("c1", { attempt: "a1" })));
    trackEager(eager, at(settled("c1")));
    assert.equal(eager.size, 1);
    trackEager(eager, at(attemptStarted("a2", "st1")));
    assert.equal(eager.size, 0);
  });

  test("the last entry counts, and how many there were", () => {
    const call = tracked([entered("c1", { key: "k1" }), entered("c1", { key: "k2" })]).get("c1");
    assert.deepEqual([call?.entered?.key, call?.entered?.at, call?.runs], ["k2", 20, 2]);
  });

  test("L3: the first result wins, a later one is passed over", () => {
    const pending = tracked([settled("c1", "first"), settled("c1", "second")]);
    assert.equal(outputText(pending.get("c1")?.output ?? output), "first");
    assert.deepEqual(
      unsettled(pending).map(({ part }) => part.id),
      ["c2"],
    );
  });

  test("a question holds its answer, the first one; entering the body spends both", () => {
    const question = { id: "q1", digest: "d", ordinal: 2, at: 10 };
    assert.deepEqual(tracked([asked("q1", "c1")]).get("c1")?.approval, question);
    assert.deepEqual(tracked([asked("q1", "c1", 99)]).get("c1")?.approval, { ...question, expiresAt: 99 });
    const answered = [asked("q1", "c1"), asked("q2", "c2"), resolved("q1", "deny"), resolved("q1", "allow")];
    const pending = tracked(answered);
    assert.equal(pending.get("c1")?.approval?.resolved?.answer, "deny");
    assert.equal(pending.get("c2")?.approval?.resolved, undefined);
    const spent = tracked([...answered, entered("c1")]).get("c1") ?? open();
    assert.ok(!("approval" in spent));
    assert.equal(tracked([...answered, asked("q3", "c1")]).get("c1")?.approval?.resolved, undefined);
  });

  test("a hole that was passed leaves calls without a result in doubt, and the repair of one elsewhere does not", () => {
    const repaired: LogEvent = { type: "log.repaired", reason: "", from: 1, to: 9 };
    const pending = tracked([settled("c1")]);
    track(pending, at(repaired, 20));
    assert.deepEqual(
      [...pending.values()].map(({ lost }) => lost),
      [undefined, undefined],
      "a record, no mark",
    );
    track(pending, at(repaired, 8));
    assert.deepEqual(
      [...pending.values()].map(({ lost }) => lost),
      [undefined, true],
    );
  });

  test("facts about calls that are not pending change nothing", () => {
    const before = tracked([]);
    const others = [entered("c9"), settled("c9"), asked("q", "c9"), resolved("q9", "allow"), text("p")] as LogEvent[];
    assert.deepEqual(tracked(others), before);
    assert.deepEqual(tracked(others, []), new Map());
  });

  test("a digest binds the tool and the exact input", () => {
    const digest = callDigest({ tool: "act", input: "{}" });
    assert.match(digest, /^[0-9a-f]{64}$/);
    for (const other of [
      { tool: "act2", input: "{}" },
      { tool: "act", input: "{ }" },
      { tool: "act{", input: "}" },
    ])
      assert.notEqual(callDigest(other), digest);
  });
});
