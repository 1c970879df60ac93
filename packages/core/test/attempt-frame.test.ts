/** Bytes at our edge: frames, terminal frames, mended frames. Nothing is lost, nothing is invented. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { CallMender } from "../src/attempt/chat-frame.ts";
import { dataOf, FrameCutter, framesOf, withData } from "../src/attempt/frame.ts";
import { FrameFilter, type WireProtocol } from "../src/attempt/frame-filter.ts";
import { terminalOf } from "../src/attempt/terminal.ts";
import { Wire } from "../src/attempt/wire.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function filterOf(protocol: WireProtocol): { filter: FrameFilter; wire: Wire } {
  const wire = new Wire(new AbortController().signal, { framed: () => {}, heard: () => {}, whole: () => {} });
  return { filter: new FrameFilter(wire, protocol), wire };
}

/** What a package gets to see of these pieces. */
function passed(filter: FrameFilter, pieces: readonly Uint8Array[]): string {
  const out = pieces.map((piece) => filter.push(piece)).concat(filter.end());
  return out.map((bytes) => (bytes ? decoder.decode(bytes) : "")).join("");
}

function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((end, index) => bytes.slice(cuts[index], end));
}

const lineEnds = fc.constantFrom("\n", "\r\n", "\r");
const frameText = fc.record({
  data: fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => JSON.stringify({ text })),
  end: lineEnds,
  comment: fc.boolean(),
});

describe("frames", () => {
  it("whatever the pieces, the same bytes go on, cut at the ends of frames", () => {
    fc.assert(
      fc.property(
        fc.array(frameText, { maxLength: 12 }),
        fc.array(fc.nat(2_000), { maxLength: 30 }),
        (frames, places) => {
          const text = frames
            .map(({ data, end, comment }) =>
              comment ? `: ping${end}${end}` : `event: x${end}data: ${data}${end}${end}`,
            )
            .join("");
          const cutter = new FrameCutter();
          let out = "";
          for (const piece of cutAt(encoder.encode(text), places)) {
            const whole = cutter.push(piece);
            if (!whole) continue;
            out += decoder.decode(whole);
            assert.match(out, /(\n\n|\r\r|\n\r\n)$/);
          }
          const rest = cutter.rest();
          assert.equal(out + (rest ? decoder.decode(rest) : ""), text);
        },
      ),
    );
  });

  it("reads data over several lines, with and without the space, and replaces it alone", () => {
    assert.equal(dataOf("event: a\ndata: 1\ndata:2"), "1\n2");
    assert.equal(dataOf(": comment"), undefined);
    assert.equal(dataOf("event: a\r\ndata: {}"), "{}");
    assert.equal(withData("event: a\nid: 7\ndata: old", "new"), "event: a\nid: 7\ndata: new");
    assert.deepEqual(framesOf("a\n\nb\r\n\r\nc\r\r"), ["a", "b", "c"]);
  });
});

const text = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: null }] })}\n\n`;
const chatEnd = `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop" }] })}\n\n`;
const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1 } })}\n\n`;

describe("the terminal frame", () => {
  it("is the protocol's own", () => {
    const ends: [unknown, ReturnType<typeof terminalOf>][] = [
      [{ type: "message_stop" }, { last: true }],
      [
        { type: "response.completed", response: {} },
        { finish: { reason: "stop" }, last: true },
      ],
      [
        { type: "response.incomplete", response: { incomplete_details: { reason: "max_output_tokens" } } },
        { finish: { reason: "length", raw: "max_output_tokens" }, last: true },
      ],
      [
        { type: "response.incomplete", response: { incomplete_details: { reason: "content_filter" } } },
        { finish: { reason: "content-filter", raw: "content_filter" }, last: true },
      ],
      [{ type: "response.incomplete" }, { finish: { reason: "other" }, last: true }],
      [{ type: "response.failed" }, { finish: { reason: "error", raw: "error" }, last: true }],
      [{ choices: [{ finish_reason: "stop" }] }, { finish: { reason: "stop", raw: "stop" }, last: false }],
      [
        { choices: [{ finish_reason: "tool_calls" }] },
        { finish: { reason: "tool-calls", raw: "tool_calls" }, last: false },
      ],
      [{ choices: [{ finish_reason: "eos" }] }, { finish: { reason: "other", raw: "eos" }, last: false }],
    ];
    for (const [frame, expected] of ends) assert.deepEqual(terminalOf(frame), expected, JSON.stringify(frame));
    const others: unknown[] = [
      { choices: [{ finish_reason: null }] },
      { choices: [{ finish_reason: "" }] },
      { choices: [] },
      { choices: null },
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "response.in_progress" },
      null,
      "message_stop",
      [],
    ];
    for (const frame of others) assert.equal(terminalOf(frame), undefined, JSON.stringify(frame));
  });

  it("is found in any pieces, and not in what a model writes about it", () => {
    const cases: [WireProtocol, string][] = [
      ["chat", chatEnd],
      ["chat", 'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'],
      ["anthropic", 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
      ["responses", 'data: {"type":"response.completed","response":{}}\n\n'],
    ];
    const lies =
      text('{"finish_reason":"stop"} data: {"type":"message_stop"} "response.completed"') + text('"message_stop"');
    for (const [protocol, end] of cases) {
      for (const seenAs of [protocol, "unknown"] as const) {
        fc.assert(
          fc.property(fc.array(fc.nat(2_000), { maxLength: 12 }), (places) => {
            const { filter, wire } = filterOf(seenAs);
            for (const piece of cutAt(encoder.encode(lies), places)) filter.push(piece);
            assert.equal(wire.whole, false);
            for (const piece of cutAt(encoder.encode(end), places)) filter.push(piece);
            assert.equal(wire.whole, true);
          }),
        );
      }
    }
  });

  it("is no other protocol's, whatever shares its piece", () => {
    const other = 'data: {"type":"message_stop"}\n\n';
    const odd = 'data: {"choices": [{"delta": {}, "finish_reason" : "stop"}]}\n\n';
    const called = 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls"}}]}}]}\n\n';
    const stream = encoder.encode(other + odd + called + other);
    fc.assert(
      fc.property(fc.array(fc.nat(2_000), { maxLength: 12 }), (places) => {
        const { filter, wire } = filterOf("chat");
        assert.equal(passed(filter, cutAt(stream, places)), decoder.decode(stream));
        assert.deepEqual([filter.over, wire.whole], [false, false]);
      }),
    );
  });

  it("R20: behind it only usage goes on: garbage, errors and whatever follows [DONE] do not", () => {
    const { filter, wire } = filterOf("chat");
    const error = 'data: {"error":{"message":"late"}}\n\n';
    const stream = [text("hi"), chatEnd, "data: {brok\n\n", usage, error, "data: [DONE]\n\n", text("more")].join("");
    assert.equal(passed(filter, [encoder.encode(stream)]), `${text("hi")}${chatEnd}${usage}data: [DONE]\n\n`);
    assert.deepEqual([filter.over, wire.notes.length], [true, 2]);
  });

  it("garbage before it goes on: the package must see that the stream is broken", () => {
    const { filter } = filterOf("chat");
    const stream = `${text("hi")}data: {brok\n\n${chatEnd}`;
    assert.equal(passed(filter, [encoder.encode(stream)]), stream);
  });

  it("a last frame that only lacks its blank line is whole; a half one is not", () => {
    const { filter, wire } = filterOf("chat");
    assert.equal(passed(filter, [encoder.encode(text("hi") + chatEnd.trimEnd())]), text("hi") + chatEnd);
    assert.equal(wire.whole, true);
    const half = filterOf("chat");
    assert.equal(
      passed(half.filter, [encoder.encode(text("hi") + chatEnd.slice(0, 30))]),
      text("hi") + chatEnd.slice(0, 30),
    );
    assert.equal(half.wire.whole, false);
  });

  it("a stream without it passes byte for byte, whatever it is", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 10 }),
        fc.constantFrom<WireProtocol>("chat", "responses", "anthropic", "unknown"),
        (pieces, protocol) => {
          const { filter } = filterOf(protocol);
          const out = pieces
            .map((piece) => filter.push(piece))
            .concat(filter.end())
            .filter((bytes) => bytes !== undefined);
          assert.deepEqual(Buffer.concat(out), Buffer.concat(pieces));
        },
      ),
    );
  });
});

type Call = Record<string, unknown>;
const chunk = (...tool_calls: Call[]) => ({ choices: [{ delta: { tool_calls } }] });
const called = (frame: unknown) => (frame as ReturnType<typeof chunk>).choices[0]?.delta.tool_calls ?? [];

describe("mended calls", () => {
  it("R30: a new id at a used index opens a call of its own, a repeat goes on with its own", () => {
    const mender = new CallMender();
    const frames = [
      chunk({ index: 0, id: "a", function: { name: "ls", arguments: "" } }),
      chunk({ index: 0, id: "b", function: { name: "ls", arguments: "" } }),
      chunk({ index: 0, id: "b", function: { arguments: '{"p":' } }),
      chunk({ index: 0, function: { arguments: "1}" } }),
      chunk({ index: 0, id: "c", function: { name: "ls", arguments: "{}" } }),
      chunk({ index: 1, id: "d", function: { name: "ls", arguments: "{}" } }),
    ];
    for (const frame of frames) mender.mend(frame);
    assert.deepEqual(
      frames.map((frame) => called(frame)[0]?.["index"]),
      [0, 1, 1, 1, 2, 3],
    );
  });

  it("an id that changes with every piece goes on with a call that is not whole", () => {
    const mender = new CallMender();
    const frames = [
      chunk({ index: 0, id: "a", function: { name: "read", arguments: '{"p":' } }),
      chunk({ index: 0, id: "b", function: { name: "read", arguments: "1}" } }),
    ];
    for (const frame of frames) mender.mend(frame);
    assert.deepEqual(
      frames.map((frame) => called(frame)[0]?.["index"]),
      [0, 0],
    );
  });

  it("R36: types a package would refuse become the ones it reads", () => {
    const frame = chunk({ index: "2", id: 7, function: { name: "read", arguments: { path: "a", n: [1] } } });
    assert.equal(new CallMender().mend(frame), true);
    assert.deepEqual(called(frame)[0], {
      index: 0,
      id: "7",
      function: { name: "read", arguments: '{"path":"a","n":[1]}' },
    });
    const bare = chunk({ index: 0, id: "x" });
    new CallMender().mend(bare);
    assert.deepEqual(called(bare)[0], { index: 0, id: "x", function: {} });
  });

  it("R37: a blank name keeps its place; calls in a message move to the delta", () => {
    const frame = chunk({ index: 0, id: "x", function: { name: " ", arguments: "{}" } });
    new CallMender().mend(frame);
    assert.deepEqual(called(frame)[0]?.["function"], { name: "unnamed_tool", arguments: "{}" });
    const message = {
      choices: [{ message: { tool_calls: [{ id: "x", function: { name: "ls", arguments: "{}" } }] } }],
    };
    assert.equal(new CallMender().mend(message), true);
    assert.equal(called(message)[0]?.["id"], "x");
  });

  it("what is right is left alone", () => {
    const mender = new CallMender();
    const right = [
      chunk({ index: 0, id: "a", type: "function", function: { name: "read", arguments: "" } }),
      chunk({ index: 0, function: { arguments: '{"path":"a"}' } }),
      chunk({ index: 1, id: "b", type: "function", function: { name: "read", arguments: "{}" } }),
    ];
    for (const frame of right) assert.equal(mender.mend(frame), false);
    for (const odd of [
      null,
      {},
      { choices: "x" },
      { choices: [null] },
      { choices: [{ delta: { tool_calls: [null, 3] } }] },
    ]) {
      assert.equal(mender.mend(odd), false);
    }
  });
});
