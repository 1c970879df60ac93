/** What somebody is told who comes to a session: what happened to an open turn, and what can be done. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEntry, LogEvent, SessionSummary } from "@pawl/core";
import { Printer } from "../src/chat/block.ts";
import { lineText } from "../src/chat/span.ts";
import { standingOf } from "../src/chat/standing.ts";
import { attempt, begun, committed, entered, finished } from "./chat-world.ts";

const holder = { id: "h", host: "here", boot: "b", pid: 7, start: "1" };
const driven = { lease: { epoch: 1, holder, expiresAt: 0 } };

function standing(events: LogEvent[], rest: Partial<SessionSummary>, self = 1) {
  const entries = events.map((event, at): LogEntry => ({ session: "s", seq: at + 1, epoch: 1, time: 0, event }));
  const summary: SessionSummary = { session: "s", seq: 1, epoch: 1, createdAt: 0, updatedAt: 0, head: {}, ...rest };
  const { state, offer, blocks } = standingOf(summary, entries, self);
  return { state, offer, text: new Printer().print(blocks, 200).map(lineText).join("\n") };
}

const open = { head: { openTurn: "t" } };
const call = (tool: string) => committed("", [{ id: "c", tool, input: { command: "make" } }]);

test("interrupted in the middle of an answer: it is asked again", () => {
  const { state, offer, text } = standing([...begun, attempt(2)], open);
  assert.deepEqual([state, offer], ["interrupted", "resume"]);
  assert.match(text, /in the middle of an answer \(attempt 2 of its step\)[\s\S]*Enter goes on inside the turn/);
});

test("interrupted with a call: whether it was not started, asked about, read or may have taken effect", () => {
  const asked: LogEvent = { type: "approval.requested", approval: "ap", call: "c", digest: "d", ordinal: 1 };
  const cases: [LogEvent[], RegExp][] = [
    [[], /Not started: bash make/],
    [[asked], /It asked you about: bash make/],
    [[entered("c", "bash", "read")], /It was reading: bash make\. That is done again\./],
    [[entered("c", "bash")], /It was running: bash make\. What became of it is looked up;.* It is not run again\./],
  ];
  for (const [more, words] of cases)
    assert.match(standing([...begun, attempt(), ...call("bash"), ...more], open).text, words);
});

test("driven by another process: watched; by this one: not", () => {
  const { state, offer, text } = standing(begun, { ...open, ...driven });
  assert.deepEqual([state, offer], ["driven", undefined]);
  assert.match(text, /Another process \(7 on here\) drives this session/);
  assert.equal(standing(begun, { ...open, ...driven }, 7).state, "interrupted");
});

test("ended: nothing to say of a completed turn, a way on from any other; a new session is new", () => {
  assert.deepEqual(standing([...begun, ...finished], {}), { state: "ended", offer: undefined, text: "" });
  const failed = standing([...begun, { type: "turn.ended", turn: "t", outcome: { type: "limit", limit: "cost" } }], {});
  assert.equal(failed.offer, "continue");
  assert.match(failed.text, /The last turn ended: the limit on cost is reached\.[\s\S]*Enter follows it/);
  assert.equal(standing([], {}).state, "new");
});
