/** The fold by itself, over logs made by hand: moments that a driver in a test does not meet. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ROOT_CONTEXT, type Tracer, trace } from "@opentelemetry/api";
import type { EventOf, LiveItem, LogEntry, LogEvent } from "@pawl/core";
import { samples } from "../../core/test/event-sample.ts";
import { providerName } from "../src/convention.ts";
import { type FoldOptions, observe, record, type Said, SpanIds, type SpanShape, telemetryFold } from "../src/index.ts";
import { childrenPerTurn, contentChars } from "../src/span.ts";
import { collector } from "./collector.ts";

/** An event of the sample's shape, without its optional ends, at a time and in an epoch. */
type Line = [time: number, event: LogEvent, epoch?: number];

function logOf(lines: readonly Line[]): LogEntry[] {
  return lines.map(([time, event, epoch = 1], index) => ({ session: "s", seq: index + 1, epoch, time, event }));
}

const turnStarted: LogEvent = { type: "turn.started", turn: "t", inputs: [] };
const turnEnded: LogEvent = { type: "turn.ended", turn: "t", outcome: { type: "completed" } };
const attemptStarted: LogEvent = { ...samples["attempt.started"], attempt: "a" };
const unknown = { measure: "unknown" as const };
const { exposure } = samples["attempt.ended"];

function attemptEnded(rest: Partial<EventOf<"attempt.ended">>): LogEvent {
  return { type: "attempt.ended", attempt: "a", end: "failed", exposure, usage: unknown, durationMs: 0, ...rest };
}

function entered(call = "c"): LogEvent {
  return { type: "tool.entered", call, tool: "act", digest: "d", effect: "write", key: "k" };
}

function settled(rest: Partial<EventOf<"tool.settled">> = {}): LogEvent {
  return { type: "tool.settled", call: "c", by: "tool", output: { content: [], isError: false }, ...rest };
}

const asked: LogEvent = { type: "approval.requested", approval: "q", call: "c", digest: "d", ordinal: 0 };

function told(lines: readonly Line[], options: Partial<FoldOptions> = {}) {
  const { init, step } = telemetryFold({ session: "s", ...options });
  let state = init();
  const said: Said[] = [];
  for (const entry of logOf(lines)) {
    state = step(state, entry);
    said.push(...state.said);
  }
  const traces = said.flatMap((one) => (one.type === "trace" ? [one.trace] : []));
  const figures = said.flatMap((one) => (one.type === "measure" ? [one.measurement] : []));
  return { traces, figures, state };
}

function lengths(spans: readonly SpanShape[] = []): [string, number, number][] {
  return spans.map(({ name, start, end }) => [name, start, end - start]);
}

test("a clock that falls back: what follows keeps its distances and its order", () => {
  const { traces } = told([
    [10_000, turnStarted],
    [4_000, attemptStarted],
    [5_000, attemptEnded({ durationMs: 1_000 })],
    [7_000, entered()],
    [7_500, settled({ durationMs: 500 })],
    [8_000, turnEnded],
  ]);
  assert.deepEqual(lengths(traces[0]?.children), [
    ["chat m", 10_000, 1_000],
    ["execute_tool act", 13_000, 500],
  ]);
  assert.deepEqual(lengths([traces[0]?.root as SpanShape]), [["invoke_agent", 10_000, 4_000]]);
});

test("a clock that is a moment behind, as a rounded one is, moves nothing that follows", () => {
  const { traces } = told([
    [10_000, turnStarted],
    [9_700, entered()],
    [10_500, settled({ durationMs: 200 })],
    [11_000, turnEnded],
  ]);
  assert.deepEqual(lengths(traces[0]?.children), [["execute_tool act", 10_000, 200]]);
  assert.equal(traces[0]?.root.end, 11_000);
});

test("a clock that jumps ahead stretches no request and no tool", () => {
  const { traces } = told([
    [0, turnStarted],
    [0, attemptStarted],
    [3_600_000, attemptEnded({ durationMs: 2_000 })],
    [3_600_000, entered()],
    [9_600_000, settled({ durationMs: 30 })],
    [9_600_000, turnEnded],
  ]);
  assert.deepEqual(
    traces[0]?.children.map(({ start, end }) => end - start),
    [2_000, 30],
  );
});

test("a request that its driver did not survive ends with that driver's last word, and has no measured duration", () => {
  const { traces, figures } = told([
    [0, turnStarted],
    [1_000, attemptStarted],
    [1_700, samples["note.recorded"]],
    [90_000, attemptEnded({ end: "interrupted" }), 2],
    [90_000, turnEnded, 2],
  ]);
  assert.deepEqual(lengths(traces[0]?.children), [["chat m", 1_000, 700]]);
  assert.equal(traces[0]?.children[0]?.error?.type, "interrupted");
  const names = figures.map(({ metric }) => metric);
  assert.ok(names.includes("pawl.attempts") && !names.includes("gen_ai.client.operation.duration"));
});

test("an attempt that ends twice is counted once", () => {
  const lines: Line[] = [
    [0, turnStarted],
    [0, attemptStarted],
    [1, attemptEnded({})],
    [1, attemptEnded({})],
  ];
  assert.equal(told(lines).figures.filter(({ metric }) => metric === "pawl.attempts").length, 1);
});

test("an estimate of tokens is no usage, a price of nothing no cost", () => {
  const usage = { measure: "estimated" as const, input: 7, output: 8 };
  const lines: Line[] = [
    [0, turnStarted],
    [0, attemptStarted],
    [1, attemptEnded({ usage, cost: 0 })],
    [1, turnEnded],
  ];
  const { traces, figures } = told(lines);
  assert.ok(!figures.some(({ metric }) => metric === "gen_ai.client.token.usage" || metric === "pawl.cost"));
  assert.equal(traces[0]?.children[0]?.attributes["gen_ai.usage.input_tokens"], undefined);
  assert.equal(traces[0]?.children[0]?.attributes["pawl.usage.estimated_input_tokens"], 7);
  assert.equal(traces[0]?.root.attributes["gen_ai.usage.input_tokens"], undefined);
});

for (const [title, last] of [
  ["its call", settled({ by: "recovery" })],
  ["its turn", turnEnded],
] as const) {
  test(`a question that nobody answered ends with ${title}`, () => {
    const lines: Line[] = [
      [0, turnStarted],
      [0, samples["message.committed"]],
      [5, { ...asked, call: "p-3" }],
    ];
    const end = last.type === "tool.settled" ? { ...last, call: "p-3" } : last;
    const { figures } = told([...lines, [65, end]]);
    const waits = figures.filter(({ metric }) => metric === "pawl.approval.duration");
    assert.deepEqual(
      waits.map(({ value, attributes }) => [value, attributes["pawl.approval.answer"]]),
      [[0.06, "none"]],
    );
  });
}

test("a person's stop is no error of the turn; any other end is, by its failure or its name", () => {
  const outcomes = (["aborted", "completed", "empty"] as const).map((type) => {
    const { traces } = told([
      [0, turnStarted],
      [1, { type: "turn.ended", turn: "t", outcome: { type } }],
    ]);
    return traces[0]?.root.error?.type;
  });
  assert.deepEqual(outcomes, [undefined, undefined, "empty"]);
});

test("what a turn has beyond the bound is counted and not kept, and nothing is kept of a turn that has ended", () => {
  const calls = Array.from({ length: childrenPerTurn + 3 }, (_, n): Line[] => [
    [n, entered(`c${n}`)],
    [n, settled({ call: `c${n}`, durationMs: 0 })],
  ]);
  const input: LogEvent = { type: "input.accepted", input: "i", kind: "prompt", content: [] };
  const { traces, state } = told([[0, input], [0, turnStarted], ...calls.flat(), [9_999, turnEnded]], {
    content: "record",
  });
  assert.equal(traces[0]?.children.length, childrenPerTurn);
  assert.equal(traces[0]?.root.attributes["pawl.turn.spans_left_out"], 3);
  assert.deepEqual([state.open, state.inputs.size], [undefined, 0]);
});

test("recorded content is cut", () => {
  const text = "x".repeat(contentChars * 3);
  const output = { content: [{ type: "text" as const, text }], isError: false };
  const { traces } = told(
    [
      [0, turnStarted],
      [0, entered()],
      [1, settled({ output })],
      [1, turnEnded],
    ],
    { content: "record" },
  );
  const result = String(traces[0]?.children[0]?.attributes["gen_ai.tool.call.result"]);
  assert.ok(result.length < contentChars + 100 && result.endsWith(`[cut, ${text.length} characters]`));
});

test("a request that nobody ended is shown up to its driver's last word", () => {
  const { tracer, ids, spans } = collector();
  const log = logOf([
    [1_000, turnStarted],
    [1_000, attemptStarted],
    [1_400, samples["note.recorded"]],
  ]);
  record(log, { tracer, ids, open: "show" });
  assert.deepEqual(
    spans().map(({ name, start, end }) => [name, end - start]),
    [
      ["chat m", 400],
      ["invoke_agent", 400],
    ],
  );
  assert.deepEqual(
    spans().map(({ start }) => start),
    [1_000, 1_000],
  );
});

test("turns hang below the span that is given; moments go out in a form that no SDK takes for one since its start", () => {
  const { tracer, spans } = collector();
  const above = tracer.startSpan("request");
  const times: unknown[] = [];
  const startSpan: Tracer["startSpan"] = (name, options, within) => {
    times.push(options?.startTime);
    return tracer.startSpan(name, options, within);
  };
  record(
    logOf([
      [1_500, turnStarted],
      [2_000, turnEnded],
    ]),
    {
      tracer: { startSpan } as Tracer,
      parent: trace.setSpan(ROOT_CONTEXT, above),
    },
  );
  assert.equal(spans()[0]?.parent, above.spanContext().spanId);
  assert.deepEqual(times, [[1, 500_000_000]]);
});

test("ids are of one span: what a processor starts meanwhile gets its own", () => {
  const ids = new SpanIds();
  const { traces } = told([
    [0, turnStarted],
    [1, turnEnded],
  ]);
  const [shape] = traces;
  assert.ok(shape);
  const [ours, other] = ids.during(shape, shape.root, () => [ids.generateSpanId(), ids.generateSpanId()]);
  assert.equal(ours, ids.contextOf("s", "t").spanId);
  assert.notEqual(ours, other);
  assert.notEqual(ids.generateTraceId(), ids.contextOf("s", "t").traceId);
});

test("a drive that goes on with an open turn by a steer reads what came before", async () => {
  const steer: LogEvent = { type: "input.accepted", input: "i", kind: "steer", content: [] };
  const log = logOf([
    [0, turnStarted],
    [1, steer, 2],
    [2, turnEnded, 2],
  ]);
  const items = log.slice(1).map((entry): LiveItem => ({ type: "entry", entry }));
  const { tracer, spans } = collector();
  await observe(
    { [Symbol.asyncIterator]: () => items.values() as unknown as AsyncIterator<LiveItem> },
    { tracer, session: { id: "s", entries: async () => log } },
  );
  assert.deepEqual(
    spans().map(({ name, attributes }) => [name, attributes["pawl.turn.drives"]]),
    [["invoke_agent", 2]],
  );
});

test("providers have the conventions' names; an unknown one keeps its own", () => {
  const seen = [
    "openai.responses",
    "anthropic.messages",
    "google.vertex.chat",
    "google.generative-ai",
    "openai-like.chat",
  ];
  assert.deepEqual(seen.map(providerName), ["openai", "anthropic", "gcp.vertex_ai", "gcp.gemini", "openai-like.chat"]);
});
