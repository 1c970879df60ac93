import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { noExposure } from "../src/attempt/exposure.ts";
import type { LogEvent } from "../src/log/event.ts";
import { runFold } from "../src/log/fold.ts";
import { call, finish, type ScriptEntry, say, think } from "../src/testing/model.ts";
import { defineTool } from "../src/tool/tool.ts";
import { booksFold } from "../src/view/books.ts";
import { emptyTranscript, readItem, type TranscriptMessage, transcriptOf } from "../src/view/transcript.ts";
import {
  attemptEnded,
  attemptStarted,
  callPart,
  committed,
  entered,
  input,
  logOf,
  settled,
  stepStarted,
  text,
  turnStarted,
} from "./log-builder.ts";
import { agentOf, TurnWorld } from "./turn-world.ts";

const failure = { kind: "stream-broken" as const, message: "", retryable: true };
const opening: LogEvent[] = [
  input("in1"),
  turnStarted("t1", "in1"),
  stepStarted("st1", "t1", 1),
  attemptStarted("a1", "st1"),
];

function messagesOf(events: LogEvent[]): TranscriptMessage[] {
  return transcriptOf(logOf(events)).items.filter((item): item is TranscriptMessage => item.type === "message");
}

describe("transcript", () => {
  test("L2: a discarded attempt is retracted, a sealed one is kept and labelled, a broken one shows what it had said", () => {
    const fragment = [text("a1-1", "half")];
    const ends = [
      { end: "discarded" as const, shown: 0 },
      { end: "sealed" as const, shown: 1 },
      { end: "failed" as const, shown: 1 },
      { end: "interrupted" as const, shown: 1 },
    ];
    for (const { end, shown } of ends) {
      const [message] = messagesOf([...opening, attemptEnded("a1", { end, failure, fragment })]);
      assert.deepEqual([message?.state, message?.parts.length], [end, shown]);
    }
  });

  test("L2: what was heard live and is in no log is not shown once the attempt has ended", () => {
    const transcript = emptyTranscript();
    for (const entry of logOf(opening)) readItem(transcript, { type: "entry", entry });
    readItem(transcript, { type: "part.started", attempt: "a1", part: "a1-1", kind: "text" });
    readItem(transcript, { type: "part.delta", kind: "text", attempt: "a1", part: "a1-1", text: "heard" });
    const ended = logOf([...opening, attemptEnded("a1", { end: "interrupted", failure })]);
    for (const entry of ended.slice(4)) readItem(transcript, { type: "entry", entry });
    assert.deepEqual(transcript, transcriptOf(ended));
  });

  test("a call shows how far it is; one that the provider ran has its result", () => {
    const asked: LogEvent[] = [...opening, attemptEnded("a1"), committed("a1", callPart("a1-1"))];
    const states = [asked, [...asked, entered("a1-1")], [...asked, entered("a1-1"), settled("a1-1")]].map(
      (events) => messagesOf(events)[0]?.parts[0],
    );
    assert.deepEqual(
      states.map((part) => part?.type === "call" && part.state),
      ["asked", "entered", "settled"],
    );
    const result = { type: "tool-result" as const, id: "a1-2", call: "a1-1", tool: "search", result: { hits: 3 } };
    const [ran] =
      messagesOf([
        ...opening,
        attemptEnded("a1"),
        committed("a1", callPart("a1-1", "srv", { providerExecuted: true }), result),
      ])[0]?.parts ?? [];
    assert.deepEqual(ran?.type === "call" && [ran.state, ran.output?.content], [
      "settled",
      [{ type: "data", data: { hits: 3 } }],
    ]);
  });
});

describe("books", () => {
  test("L9: each request once, by fate and measure; what is not reported counts as not reported", () => {
    const usage = { measure: "reported" as const, input: 10, output: 5 };
    const books = runFold(
      booksFold,
      logOf([
        ...opening,
        attemptEnded("a1", { end: "discarded", failure, usage, cost: 2 }),
        attemptStarted("a2", "st1", 2),
        attemptEnded("a2", { end: "sealed", failure, exposure: noExposure() }),
        attemptStarted("a3", "st1", 3),
        attemptEnded("a3", { usage, cost: 3 }),
        committed("a3", text("a3-1")),
        attemptStarted("a4", "st1", 4),
      ]),
    );
    assert.deepEqual([books.committed.attempts, books.discarded.attempts, books.open], [1, 2, 1]);
    assert.deepEqual([books.committed.cost, books.discarded.cost, books.discarded.unmeasured], [3, 2, 1]);
    assert.deepEqual([books.committed.tokens.input, books.discarded.tokens.output], [10, 5]);
  });

  test("L9: a turn's result has the books of that turn alone", async () => {
    const world = new TurnWorld();
    const session = await world.session();
    const broken = { fail: Object.assign(new Error("reset"), { code: "ECONNRESET" }) };
    const act = defineTool({ inputSchema: { type: "object" }, execute: () => "ok" });
    const script: ScriptEntry[] = [
      [...think("hm"), broken],
      [...call("act", {}), finish()],
      [...say("a"), broken],
      [...say("done"), finish()],
      [...say("more"), finish()],
    ];
    const agent = agentOf(script, { tools: { act } });
    const { books } = await world.effects.run(session.run(agent, "go").result);
    assert.deepEqual(
      [books.turns, books.steps, books.tools, books.committed.attempts, books.discarded.attempts],
      [1, 2, 1, 2, 2],
    );
    const next = await world.effects.run(session.run(agent, "and").result);
    assert.deepEqual([next.books.turns, next.books.committed.attempts, next.books.discarded.attempts], [1, 1, 0]);
  });
});
