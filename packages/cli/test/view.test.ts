/** What a person at a terminal sees: the live view on a screen of its own, and the words it is made of. */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import type { LiveItem, LogEvent } from "@pawl/core";
import { LiveView } from "../src/live-view.ts";
import { StatusLine, type Ticker } from "../src/status-line.ts";
import { cut, line, seconds } from "../src/style.ts";
import { Timeline } from "../src/timeline.ts";

/** A terminal that understands what the view may send: text, newlines, colours and the erasing of a line. */
class Screen extends Writable {
  readonly isTTY = true;
  columns: number;
  raw = "";
  lines = [""];

  constructor(columns = 80) {
    super({ decodeStrings: false });
    this.columns = columns;
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.raw += chunk;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it looks for
    for (const [piece] of chunk.matchAll(/\r\u001b\[2K|\u001b\[\d+m|\n|[^\n\r\u001b]+|[\r\u001b]/g)) {
      if (piece === "\n") this.lines.push("");
      else if (piece === "\r\u001b[2K") this.lines[this.lines.length - 1] = "";
      else if (piece === "\u001b" || piece === "\r")
        assert.fail(`a control reached the terminal: ${JSON.stringify(chunk)}`);
      else if (!piece.startsWith("\u001b")) this.lines[this.lines.length - 1] += piece;
    }
    done();
  }

  get stream(): NodeJS.WriteStream {
    return this as unknown as NodeJS.WriteStream;
  }

  get text(): string {
    return this.lines.join("\n");
  }
}

class Hand implements Ticker {
  ms = 0;
  #fns = new Set<() => void>();
  now(): number {
    return this.ms;
  }
  every(_ms: number, fn: () => void): () => void {
    this.#fns.add(fn);
    return () => this.#fns.delete(fn);
  }
  turn(ms: number): void {
    this.ms += ms;
    for (const fn of this.#fns) fn();
  }
}

interface Bench {
  screen: Screen;
  hand: Hand;
  view: LiveView;
  reached: string[];
  event(event: LogEvent): void;
  say(part: string, kind: "text" | "reasoning", text: string): void;
}

function bench(columns = 80): Bench {
  const screen = new Screen(columns);
  const hand = new Hand();
  const reached: string[] = [];
  const status = new StatusLine(screen.stream, hand);
  const view = new LiveView({
    text: screen.stream,
    story: screen.stream,
    status,
    url: "http://model/v1",
    reached: (call) => reached.push(call),
  });
  let seq = 0;
  const event = (event: LogEvent) => {
    seq += 1;
    view.show({ type: "entry", entry: { session: "s", seq, epoch: 1, time: seq, event } });
  };
  const say = (part: string, kind: "text" | "reasoning", text: string) => {
    const items: LiveItem[] = [
      { type: "part.started", attempt: "a", part, kind },
      { type: "part.delta", kind: "text", attempt: "a", part, text },
    ];
    for (const item of items) view.show(item);
  };
  return { screen, hand, view, reached, event, say };
}

const model = { provider: "p", id: "m" };
const attempt = (number: number): LogEvent => ({
  type: "attempt.started",
  attempt: "a",
  step: "st",
  number,
  purpose: "step",
  model,
});
const step = (number: number): LogEvent => ({ type: "step.started", step: "st", turn: "t", number });

function broken(end: "discarded" | "sealed", delayMs: number): LogEvent {
  return {
    type: "attempt.ended",
    attempt: "a",
    end,
    exposure: {} as Extract<LogEvent, { type: "attempt.ended" }>["exposure"],
    failure: { kind: "stream-broken", message: "read ECONNRESET", retryable: true },
    decision: { action: end === "sealed" ? "seal" : "discard", delayMs, at: 0, reason: "" },
    usage: { measure: "unknown" },
    durationMs: 5,
  };
}

const called = (tool: string, input: object): LogEvent => ({
  type: "message.committed",
  attempt: "a",
  parts: [{ type: "tool-call", id: "c", providerId: "c", tool, input: JSON.stringify(input) }],
  finish: { reason: "tool-calls" },
  model,
});
const entered = (tool: string, effect: "read" | "write"): LogEvent => ({
  type: "tool.entered",
  call: "c",
  tool,
  digest: "d",
  effect,
  key: "c",
});
const settled = (text: string, isError = false): LogEvent => ({
  type: "tool.settled",
  call: "c",
  output: { content: [{ type: "text", text }], isError },
  by: "tool",
  durationMs: 1500,
});

test("words that are withdrawn get a clear break, and the wait counts down", () => {
  const { screen, hand, event, say } = bench();
  event(step(1));
  event(attempt(1));
  assert.equal(screen.text, "waiting for m");
  hand.turn(2_000);
  assert.equal(screen.text, "waiting for m · 2 s");
  say("1", "text", "Half an ans");
  assert.equal(screen.text, "Half an ans");
  event(broken("discarded", 3_000));
  const told = [
    "Half an ans",
    "── the words above are withdrawn ──",
    "✗ The connection broke: read ECONNRESET",
    "  What it had said is withdrawn. Trying again in 3.0 s (attempt 2 of 6).",
  ];
  assert.deepEqual(screen.lines, [...told, "trying again in 3 s · attempt 2 · Ctrl-C stops"]);
  hand.turn(1_500);
  assert.equal(screen.lines.at(-1), "trying again in 2 s · attempt 2 · Ctrl-C stops");
  event(attempt(2));
  say("2", "text", "A whole answer.");
  assert.deepEqual(screen.lines, [...told, "", "A whole answer."]);
});

test("a thought that breaks off is told from an answer, without colours too", () => {
  const { screen, event, say } = bench();
  event(attempt(1));
  say("1", "reasoning", "Let me see");
  event(broken("sealed", 0));
  assert.deepEqual(screen.lines.slice(0, 2), ["thinking: Let me see", "── the thought above broke off ──"]);
  assert.match(screen.text, /kept as a note\. Trying again at once \(attempt 2 of 6\)/);
});

test("steps are set apart by one blank line", () => {
  const { screen, view, event, say } = bench();
  view.line("quiet", "head");
  event(step(1));
  event(attempt(1));
  say("1", "reasoning", "Hm.");
  say("2", "text", "I look.");
  event(called("ls", {}));
  event(entered("ls", "read"));
  event(settled("a\nb"));
  event(step(2));
  event(attempt(1));
  say("3", "text", "Done.");
  view.end();
  assert.equal(screen.text, "head\n\nthinking: Hm.\n\nI look.\n\n✓ ls · 2 lines · 1.5 s\n\nDone.\n");
});

test("a running command shows its time and its last line, then how it ended: the end of its output", () => {
  const { screen, hand, view, event } = bench(60);
  event(called("bash", { command: "npm test" }));
  event(entered("bash", "write"));
  view.show({ type: "tool.progress", call: "c", data: { output: "one\ntwo\n" } });
  hand.turn(65_000);
  assert.equal(screen.text, "running bash npm test · 1 min 5 s · two");
  event(settled(Array.from({ length: 40 }, (_, n) => `line ${n + 1}`).join("\n"), true));
  const shown = ["line 1", "line 2", "… 33 more lines", "line 36", "line 37", "line 38", "line 39", "line 40"];
  assert.deepEqual(screen.lines, ["✗ bash npm test · 1.5 s", ...shown.map((text) => `  │ ${text}`), ""]);
});

test("no line that is erased ever wraps, and no escape sequence passes", () => {
  for (const columns of [20, 60, 200]) {
    const { screen, hand, view, event, say } = bench(columns);
    event(attempt(1));
    say("1", "text", "a\u001b[31mb\u0007\rc");
    const evil = `echo \u001b]0;x\u0007${"日本".repeat(80)}`;
    event(called("bash", { command: evil }));
    event(entered("bash", "write"));
    view.show({ type: "tool.progress", call: "c", data: { output: `\u001b[2J${"x".repeat(300)}\n` } });
    hand.turn(5_000);
    const cells = [...(screen.lines.at(-1) ?? "")].reduce((sum, char) => sum + (/[日本]/.test(char) ? 2 : 1), 0);
    assert.ok(cells < columns, `${cells} cells in ${columns} columns`);
    event(settled(`\u001b[31mred\u009b\n`));
    view.end();
    assert.match(screen.text, /a\[31mbc/);
  }
});

test("a question is reached only after everything before it is on the screen", () => {
  const { screen, hand, reached, event, say } = bench();
  event(attempt(1));
  say("1", "text", "I would run this.");
  event(called("bash", { command: "rm x" }));
  assert.deepEqual(reached, []);
  event({ type: "approval.requested", approval: "ap", call: "c", digest: "d", ordinal: 1 });
  assert.deepEqual(reached, ["c"]);
  hand.turn(10_000);
  assert.equal(screen.text, "I would run this.\n\n", "nothing is drawn over the question");
});

test("a question from before this process is reached by its pending item; after its own record it is not asked again", () => {
  const approval = { approval: "ap", call: "c", tool: "bash", input: "{}", digest: "d", askedAt: 0 };
  const before = bench();
  before.view.show({ type: "approval.pending", approval });
  assert.deepEqual(before.reached, ["c"]);
  const { screen, view, reached, event } = bench();
  event(called("bash", { command: "rm x" }));
  event({ type: "approval.requested", approval: "ap", call: "c", digest: "d", ordinal: 1 });
  const text = screen.text;
  view.show({ type: "approval.pending", approval });
  assert.deepEqual([reached, screen.text], [["c"], text], "nothing moves the cursor away from the question");
});

test("a full disk: the words stay, and the line below counts until there is room, whatever runs", () => {
  const { screen, hand, view, event } = bench();
  event(called("bash", { command: "npm test" }));
  event(entered("bash", "write"));
  view.show({ type: "paused", reason: "pawl.db could not be written (disk full)", since: 0 });
  hand.turn(5_000);
  view.show({ type: "tool.progress", call: "c", data: { output: "one\n" } });
  hand.turn(60_000);
  const words = [
    "! Paused: pawl.db could not be written (disk full)",
    "  It goes on by itself once there is room. Ctrl-C gives up; `pawl resume` goes",
    "  on later.",
  ];
  assert.deepEqual(screen.lines, [...words, "paused · 1 min 5 s · waiting for room on the disk"]);
  view.show({ type: "resumed" });
  hand.turn(1_000);
  assert.deepEqual(screen.lines.slice(0, 4), [...words, "✓ There is room again: going on. Nothing was lost."]);
  assert.match(screen.lines.at(-1) ?? "", /^running bash npm test/);
});

test("a conversation that is made shorter is one line; a summary is shown to nobody while it is written", () => {
  const { screen, hand, event } = bench(60);
  event(step(2));
  event({ type: "attempt.started", attempt: "a", step: "st", number: 1, purpose: "compaction", model });
  hand.turn(12_000);
  assert.equal(screen.text, "summing up the conversation with m · 12 s");
  const compacted = { upTo: 5, tokensBefore: 91_000, tokensAfter: 27_000 };
  event({ type: "context.compacted", ...compacted, summary: [{ type: "text", text: "It was said." }] });
  assert.deepEqual(screen.lines.slice(0, 2), [
    "↓ conversation shortened, 91,000 → 27,000 tokens: its older",
    "part is summed up, the window was nearly full",
  ]);
  event({ type: "context.compacted", ...compacted, by: "prune", summary: [] });
  event({ type: "context.compacted", ...compacted, by: "drop", summary: [] });
  assert.match(
    screen.text,
    /tokens: old\nresults are cut, the window was nearly full\n.*its older\npart is left out, on request\n/,
  );
});

test("a timeline in a terminal keeps to its width", () => {
  const screen = new Screen(60);
  const timeline = new Timeline(screen.stream);
  const long = "very ".repeat(40);
  const content = [{ type: "text" as const, text: long }];
  const events: LogEvent[] = [
    { type: "input.accepted", input: "in", kind: "prompt", content },
    { type: "turn.started", turn: "t", inputs: ["in"] },
    broken("discarded", 300),
    called("bash", { command: long }),
    entered("bash", "write"),
    settled(long, true),
  ];
  for (const [index, event] of events.entries())
    timeline.add({ session: "s", seq: index + 1, epoch: 1, time: index * 30_000, event });
  for (const each of screen.lines) assert.ok(each.length <= 60, each);
  assert.match(screen.text, /30\.0 s {4}attempt 0 discarded after 5 ms\n.*\n +discard, waits 300 ms: /);
  assert.match(screen.text, /2 min 0 s {4}✗ 1\.5 s · bash very very/);
});

test("a text is cut by cells, with what is missing marked; durations read as people say them", () => {
  assert.equal(cut("abcdef", 6), "abcdef");
  assert.equal(cut("abcdef", 5), "abcd…");
  assert.equal(cut("日本語", 5), "日本…");
  assert.equal(line("one\ntwo", 10), "one…");
  assert.equal(line("  a\tb \u001b[1m", 10), "a  b [1m");
  assert.deepEqual([0, 949, 950, 59_949, 59_951, 119_600, 3_600_000].map(seconds), [
    "0 ms",
    "949 ms",
    "0.9 s",
    "59.9 s",
    "1 min 0 s",
    "2 min 0 s",
    "1 h 0 min",
  ]);
});

test("while a question is on the screen nothing erases it or comes after it: a yes is for what stands last", () => {
  const screen = new Screen();
  const hand = new Hand();
  const status = new StatusLine(screen.stream, hand);
  const view = new LiveView({ text: screen.stream, story: screen.stream, status, url: "", reached: () => undefined });
  view.asks("c1");
  // Of another call, that runs meanwhile.
  status.show(() => "running task");
  status.hold();
  screen.stream.write("? bash rm x\n  Allow this? ");
  view.line("warn", "↳ explore: asks whether it may: fetch");
  view.asks("c2");
  status.show(() => "running task, again");
  hand.turn(500);
  assert.equal(screen.text, "? bash rm x\n  Allow this? ");
  screen.stream.write("y\n");
  status.release();
  assert.match(screen.text, /Allow this\? y\n↳ explore: asks whether it may: fetch\n\nrunning task, again$/);
});
