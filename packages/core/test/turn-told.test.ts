/** What a watcher is told, decided without a store: journals that are torn, late, foreign or have a gap. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { LogEntry } from "../src/log/envelope.ts";
import type { LogEvent, MessagePart } from "../src/log/event.ts";
import { readJournal } from "../src/turn/journal.ts";
import { Told } from "../src/turn/told.ts";
import type { LiveItem } from "../src/view/live.ts";

const model = { provider: "test", id: "m" };
const started: LogEvent = { type: "attempt.started", attempt: "a", step: "st", number: 1, purpose: "step", model };
const exposure = readJournal(undefined, "a").exposure;
const usage = { measure: "unknown" } as const;
const ended = (rest: Partial<Extract<LogEvent, { type: "attempt.ended" }>>): LogEvent => ({
  type: "attempt.ended",
  attempt: "a",
  end: "committed",
  exposure,
  usage,
  durationMs: 0,
  ...rest,
});
const committed = (...parts: MessagePart[]): LogEvent => ({
  type: "message.committed",
  attempt: "a",
  parts,
  finish: { reason: "stop" },
  model,
});
const text = (said: string, id = "a-1"): MessagePart => ({ type: "text", id, text: said });
const line = (said: string, rest: object = {}) =>
  `${JSON.stringify({ part: "a-1", kind: "text", text: said, ...rest })}\n`;
const journal = (...chunks: string[]) => ({ attempt: "a", epoch: 1, chunks });

class Reader {
  readonly told = new Told("s");
  #seq = 0;

  constructor() {
    this.facts(started);
  }

  facts(...events: LogEvent[]): string {
    const entries = this.entries(events);
    return entries.map((entry, at) => short(this.told.entry(entry, entries[at + 1]))).join(" ");
  }

  entries(events: readonly LogEvent[]): LogEntry[] {
    return events.map((event) => ({ session: "s", seq: ++this.#seq, epoch: 1, time: 0, event }));
  }

  reads(...chunks: string[]): string {
    return short(this.told.journal(journal(...chunks)));
  }
}

function short(items: readonly LiveItem[]): string {
  return items.map(word).join(" ");
}

function word(item: LiveItem): string {
  switch (item.type) {
    case "entry":
      return item.entry.event.type;
    case "part.started":
      return `<${item.kind}${item.tool ? ` ${item.tool}` : ""}`;
    case "part.delta":
      return JSON.stringify(item.text);
    case "part.ended":
      return ">";
    default:
      throw new Error(`nobody is told ${JSON.stringify(item)}`);
  }
}

describe("told", () => {
  test("a line that is still on its way waits for its end", () => {
    const reader = new Reader();
    const whole = line("one ", { at: 0 });
    assert.equal(reader.reads(whole, line("two", { at: 4 }).slice(0, 20)), '<text "one "');
    assert.equal(reader.reads(whole, line("two", { at: 4 })), '"two"');
    assert.equal(reader.reads(whole, line("two", { at: 4 })), "");
  });

  test("behind a write that was lost nothing is told, until the message brings it whole", () => {
    const reader = new Reader();
    const chunks = [line("one ", { at: 0 }), line("three", { at: 8, ended: true }), line("", { at: 13, ended: true })];
    assert.equal(reader.reads(...chunks), '<text "one "');
    assert.equal(
      reader.facts(ended({}), committed(text("one two three"))),
      '"two three" > attempt.ended message.committed',
    );
    assert.deepEqual(readJournal(journal(...chunks), "a").parts, [text("one ")], "and a crash proves no more");
  });

  test("pieces that overlap are told once; lines of older drivers follow one another", () => {
    const reader = new Reader();
    assert.equal(reader.reads(line("one ", { at: 0 }), line("ne two", { at: 1 }), line("!")), '<text "one two!"');
  });

  test("a journal of another attempt, or of another driver, says nothing", () => {
    const reader = new Reader();
    assert.equal(short(reader.told.journal({ ...journal(line("one")), attempt: "b" })), "");
    assert.equal(reader.reads(line("one")), '<text "one"');
    assert.equal(short(reader.told.journal({ ...journal(line("one"), line("two")), epoch: 2 })), "");
  });

  test("once its end is told nothing more comes of an attempt, whatever stands in the journal", () => {
    for (const end of ["discarded", "sealed", "failed", "interrupted"] as const) {
      const reader = new Reader();
      reader.reads(line("one"));
      reader.facts(ended({ end }));
      assert.equal(reader.told.listens, false);
      assert.equal(reader.reads(line("one"), line("two")), "");
    }
  });

  test("what ends a turn or stays as a fragment is told whole, what is withdrawn is not completed", () => {
    const fragment = [text("one two")];
    const retry = { action: "discard", delayMs: 0, at: 0, reason: "" } as const;
    const telling = (end: Parameters<typeof ended>[0]) => {
      const reader = new Reader();
      reader.reads(line("one"));
      return reader.facts(ended({ fragment, ...end }));
    };
    assert.equal(telling({ end: "sealed" }), '" two" > attempt.ended');
    assert.equal(telling({ end: "failed" }), '" two" > attempt.ended');
    assert.equal(telling({ end: "interrupted" }), '" two" > attempt.ended');
    assert.equal(telling({ end: "interrupted", decision: retry }), "attempt.ended");
    assert.equal(telling({ end: "discarded", decision: retry }), "attempt.ended");
  });

  test("a message whose record was erased meanwhile is not joined to what was read of it", () => {
    const reader = new Reader();
    reader.reads(line("my secret"));
    assert.equal(reader.facts(ended({}), committed(text("[erased]"))), "> attempt.ended message.committed");
    assert.equal(
      new Reader().facts(ended({}), committed(text("[erased]"))),
      '<text "[erased]" > attempt.ended message.committed',
    );
  });

  test("an end whose message is on the next page is told first, and the words all the same", () => {
    const reader = new Reader();
    reader.reads(line("one"));
    assert.equal(reader.facts(ended({})), "attempt.ended");
    assert.equal(reader.reads(line("one"), line("two")), "");
    assert.equal(reader.facts(committed(text("one two"))), '" two" > message.committed');
  });

  test("of a summary of the conversation no word is told", () => {
    const reader = new Reader();
    reader.facts(ended({ end: "failed" }), { ...started, attempt: "c", purpose: "compaction" } as LogEvent);
    assert.equal(reader.told.listens, false);
    const summed = ended({ attempt: "c", end: "sealed", fragment: [text("all in all")] });
    const message = { ...committed(text("all in all")), attempt: "c" } as LogEvent;
    assert.equal(reader.facts(summed, message), "attempt.ended message.committed");
  });

  test("what another attempt ends with is not told as words of the open one", () => {
    const other = { ...committed(text("two")), attempt: "b" } as LogEvent;
    const reader = new Reader();
    reader.reads(line("one"));
    const late = ended({ attempt: "b", end: "failed", fragment: [text("two", "b-1")] });
    assert.equal(reader.facts(late), "attempt.ended");
    assert.equal(reader.reads(line("one"), line(" two")), '" two"', "and the open one goes on");
    assert.equal(reader.facts(ended({}), other), "attempt.ended message.committed");
    assert.equal(reader.facts(committed(text("one two"))), "message.committed", "its own message can come no more");
  });

  test("an attempt ends at last with its turn, and with its message", () => {
    const turn: LogEvent = { type: "turn.ended", turn: "t", outcome: { type: "failed" } };
    for (const last of [turn, committed()]) {
      const reader = new Reader();
      assert.equal(reader.told.listens, true);
      assert.equal(
        reader.facts({ type: "provider-state.stripped", provider: "p", reason: "" }),
        "provider-state.stripped",
      );
      assert.equal(reader.told.listens, true);
      assert.equal(reader.facts(last), last.type);
      assert.equal(reader.told.listens, false);
    }
  });

  test("an end that keeps nothing completes nothing", () => {
    const reader = new Reader();
    assert.equal(reader.facts(ended({ end: "failed" })), "attempt.ended");
  });

  test("of what a parent began the journal lies elsewhere, and its end brings the words", () => {
    const told = new Told("child");
    const [begun, end] = new Reader().entries([started, ended({ end: "interrupted", fragment: [text("one")] })]);
    assert.ok(begun && end);
    told.entry(begun, end);
    assert.equal(told.listens, false);
    assert.deepEqual(told.journal(journal(line("one"))), []);
    assert.equal(short(told.entry(end, undefined)), '<text "one" > attempt.ended');
  });

  test("each word is told with its attempt, its part and what that is; only calls name a tool", () => {
    const reader = new Reader();
    const at = (part: string, said: string, rest = {}) => line(said, { part, ...rest });
    const tool = { kind: "tool-call", tool: "look" };
    const [one, two, three] = ["a-1", "a-2", "a-3"].map((part) => ({ attempt: "a", part }));
    const lines = [
      at("a-1", "I", { kind: "reasoning" }),
      at("a-2", "{", tool),
      at("a-1", " see", { kind: "reasoning" }),
      at("a-1", ".", { kind: "reasoning" }),
      at("a-2", "}", tool),
    ];
    assert.deepEqual(reader.told.journal(journal(...lines)), [
      { type: "part.started", ...one, kind: "reasoning" },
      { type: "part.delta", ...one, kind: "reasoning", text: "I" },
      { type: "part.started", ...two, kind: "tool-call", tool: "look" },
      { type: "part.delta", ...two, kind: "tool-call", text: "{" },
      { type: "part.delta", ...one, kind: "reasoning", text: " see." },
      { type: "part.delta", ...two, kind: "tool-call", text: "}" },
    ]);
    const call = { type: "tool-call", providerId: "p", tool: "look", input: "{}" } as const;
    const message = committed(
      { type: "reasoning", id: "a-1", text: "I see." },
      { ...call, id: "a-2" },
      { type: "source", id: "a-9", source: {} },
      { ...call, id: "a-3" },
    );
    const items = reader.entries([message]).flatMap((entry) => reader.told.entry(entry, undefined));
    assert.deepEqual(
      items.filter(({ type }) => type !== "entry"),
      [
        { type: "part.ended", ...one },
        { type: "part.ended", ...two },
        { type: "part.started", ...three, kind: "tool-call", tool: "look" },
        { type: "part.delta", ...three, kind: "tool-call", text: "{}" },
        { type: "part.ended", ...three },
      ],
    );
  });

  test("a journal that is gone, or is shorter than it was, takes nothing back", () => {
    const reader = new Reader();
    const lines = [line("one "), line("two ")];
    assert.equal(reader.reads(...lines), '<text "one two "');
    assert.deepEqual(reader.told.journal(undefined), []);
    assert.equal(reader.reads(lines[0] ?? ""), "");
    assert.equal(reader.reads(...lines, line("three")), '"three"');
  });

  test("of what is known from elsewhere nothing is told, and what follows is told as if it had been", () => {
    const reader = new Reader();
    const events = [ended({ end: "failed" }), started, ended({}), committed(text("one")), { ...started, attempt: "b" }];
    const told = new Told("s");
    told.know(reader.entries([started]));
    assert.equal(short(told.journal(journal(line("one")))), '<text "one"');
    told.know(reader.entries(events as LogEvent[]));
    assert.equal(told.listens, true);
    const fragment = [text("two", "b-1")];
    const [end] = reader.entries([ended({ attempt: "b", end: "sealed", fragment })]);
    assert.ok(end);
    assert.equal(short(told.entry(end, undefined)), '<text "two" > attempt.ended');
  });

  test("a message that is known with its end is not told again by it", () => {
    const reader = new Reader();
    reader.told.know(reader.entries([ended({}), committed(text("one"))]));
    assert.equal(reader.facts(committed(text("one"))), "message.committed");
  });

  test("a question is told once while it waits, also one that was known, and again only when it is asked anew", () => {
    const call = { type: "tool-call", id: "a-1", providerId: "p", tool: "rm", input: "{}" } as const;
    const asked = (approval: string): LogEvent => {
      return { type: "approval.requested", approval, call: "a-1", digest: "d", ordinal: 0, expiresAt: 9 };
    };
    const denied = { type: "approval.resolved", approval: "q", answer: "deny", by: "me", scope: "call" } as const;
    const shown = { call: "a-1", tool: "rm", input: "{}", digest: "d", askedAt: 0, expiresAt: 9 };
    const reader = new Reader();
    const other = { ...call, id: "a-2" };
    reader.told.know(reader.entries([ended({}), committed(call, other), asked("q")]));
    assert.deepEqual(reader.told.questions(), [{ type: "approval.pending", approval: { approval: "q", ...shown } }]);
    assert.deepEqual(reader.told.questions(), []);
    reader.facts(denied);
    assert.deepEqual(reader.told.questions(), []);
    reader.facts(asked("q-2"));
    assert.deepEqual(reader.told.questions(), [{ type: "approval.pending", approval: { approval: "q-2", ...shown } }]);
  });

  test("whatever stands in a journal, however it is cut: it is read without a fault, and no part starts twice", () => {
    const anyLine = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .record({
          part: fc.constantFrom("a-1", "a-2", "__proto__"),
          kind: fc.constantFrom("text", "reasoning", "tool-call", "file"),
          text: fc.string(),
          at: fc.option(fc.integer({ min: -2, max: 9 }), { nil: undefined }),
          ended: fc.constantFrom(true, undefined),
        })
        .map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 12 }), fc.array(fc.nat(400), { maxLength: 6 }), (lines, cuts) => {
        const whole = lines.map((each) => `${each}\n`).join("");
        const piecewise = new Reader();
        const items = [...cuts.sort((a, b) => a - b), whole.length].flatMap((cut) =>
          piecewise.told.journal(journal(whole.slice(0, cut))),
        );
        const heads = items.flatMap((item) => (item.type === "part.started" ? [item.part] : []));
        assert.equal(new Set(heads).size, heads.length);
        const words = (all: readonly LiveItem[]) =>
          heads.map((part) =>
            all.map((item) => (item.type === "part.delta" && item.part === part ? item.text : "")).join(""),
          );
        assert.deepEqual(words(items), words(new Reader().told.journal(journal(whole))));
      }),
    );
  });
});
