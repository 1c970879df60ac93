/**
 * The custom transport contract: a `fetch` may throw, or error its body with, an error that has `isRetryable` and
 * `responseHeaders`. Through each provider package, with our edge and without.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { APICallError } from "@ai-sdk/provider";
import { PROTOCOLS, type Protocol } from "@pawl/model-server";
import { decide } from "../src/attempt/decide.ts";
import { classify } from "../src/attempt/failure.ts";
import { policyOf } from "../src/attempt/policy.ts";
import type { AttemptResult } from "../src/attempt/run.ts";
import { attemptOf, type Edge, modelAt } from "./wire-provider.ts";

type Place = "thrown" | "in the body at once" | "in the body after text";
const places: Place[] = ["thrown", "in the body at once", "in the body after text"];
const edges: Edge[] = ["watched", "bare"];

const openings: Record<Protocol, unknown[]> = {
  chat: [{ choices: [{ delta: { content: "some" } }] }],
  responses: [
    { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m" } },
    { type: "response.output_text.delta", item_id: "m", output_index: 0, delta: "some" },
  ],
  anthropic: [
    { type: "message_start", message: { id: "m", model: "m", role: "assistant", usage: { input_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "some" } },
  ],
};

/** A transport that fails in its own way. The body breaks only when what came before has been read. */
function transport(place: Place, error: unknown, protocol: Protocol): typeof fetch {
  if (place === "thrown") return () => Promise.reject(error);
  const text = openings[protocol].map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
  return async () => {
    let sent = place === "in the body at once";
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (sent) {
            for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
            return controller.error(error);
          }
          sent = true;
          controller.enqueue(new TextEncoder().encode(text));
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}

function failing(place: Place, error: unknown, protocol: Protocol, edge: Edge): Promise<AttemptResult> {
  return attemptOf(modelAt("http://nowhere/v1", protocol, edge, transport(place, error, protocol)));
}

function dropped(fields: Record<string, unknown>, message = "the carrier pigeon got lost", cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { name: "PigeonError", ...fields });
}

/** What recovery would do. */
function actionOf({ exposure, failure }: AttemptResult): string {
  assert.ok(failure);
  const spent = { attemptsOfStep: 1, attemptsOfTurn: 1, sealsOfStep: 0, compactionsOfStep: 0, stripped: false };
  return decide(exposure, failure, policyOf(), spent, { now: 0, jitter: 0 }).action;
}

function everywhere(name: string, body: (place: Place, protocol: Protocol, edge: Edge) => Promise<void>): void {
  for (const protocol of PROTOCOLS) {
    it(`${name} (${protocol})`, async () => {
      for (const place of places) for (const edge of edges) await body(place, protocol, edge);
    });
  }
}

describe("a transport's own word", () => {
  everywhere("true makes an unknown failure retryable, whatever it had let out", async (place, protocol, edge) => {
    const result = await failing(place, dropped({ isRetryable: true }), protocol, edge);
    assert.equal(result.failure?.retryable, true, `${place} ${edge} ${JSON.stringify(result.failure)}`);
    assert.equal(result.failure?.said, "retry");
    assert.equal(result.exposure.text, place === "in the body after text");
    assert.equal(actionOf(result), result.exposure.text ? "discard" : "retry");
    assert.match(result.failure?.causes?.join() ?? result.failure?.message ?? "", /carrier pigeon/);
  });

  everywhere("false always stops, also a fault that every table calls transient", async (place, protocol, edge) => {
    const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    for (const error of [
      dropped({ isRetryable: false }),
      dropped({ isRetryable: false, code: "ECONNRESET" }),
      dropped({ isRetryable: false }, "x", reset),
    ]) {
      const result = await failing(place, error, protocol, edge);
      assert.deepEqual(
        [result.failure?.retryable, result.failure?.said],
        [false, "stop"],
        `${place} ${edge} ${JSON.stringify(result.failure)}`,
      );
      assert.equal(actionOf(result), "stop");
    }
  });

  everywhere("headers in any form and case give the wait", async (place, protocol, edge) => {
    const forms: [unknown, number][] = [
      [{ "Retry-After-Ms": "250" }, 250],
      [new Headers({ "RETRY-AFTER": "7" }), 7_000],
      [[["retry-AFTER", "3"]], 3_000],
      [
        [
          ["Retry-After", "9"],
          ["retry-after-ms", "40"],
        ],
        40,
      ],
    ];
    for (const [responseHeaders, expected] of forms) {
      const { failure } = await failing(place, dropped({ isRetryable: true, responseHeaders }), protocol, edge);
      assert.equal(failure?.retryAfterMs, expected, `${place} ${edge} ${JSON.stringify(failure)}`);
    }
  });

  everywhere("an error that says nothing is judged like any other", async (place, protocol, edge) => {
    const { failure } = await failing(place, dropped({}), protocol, edge);
    assert.equal(failure?.said, undefined);
    assert.equal(failure?.retryable, place !== "thrown", `${place} ${edge} ${JSON.stringify(failure)}`);
  });

  everywhere("true moves no abort, quota, auth or overflow", async (place, protocol, edge) => {
    for (const [status, kind] of [
      [401, "auth"],
      [402, "quota"],
      [413, "overflow"],
    ] as const) {
      const { failure } = await failing(place, dropped({ isRetryable: true, status }), protocol, edge);
      assert.deepEqual([failure?.kind, failure?.retryable], [kind, false], `${place} ${edge}`);
    }
  });
});

describe("precedence", () => {
  it("what a package unwraps and forgets, our edge has noted", async () => {
    // A package replaces a `TypeError: fetch failed` by its cause, and with it whatever the transport said.
    const said = Object.assign(new TypeError("fetch failed", { cause: new Error("line down") }), {
      isRetryable: false,
      responseHeaders: { "retry-after-ms": "40" },
    });
    for (const protocol of PROTOCOLS) {
      const { failure } = await failing("thrown", said, protocol, "watched");
      assert.deepEqual([failure?.retryable, failure?.said, failure?.retryAfterMs], [false, "stop", 40], protocol);
    }
  });

  const at = { now: 0, streaming: true };
  const call = (statusCode: number | undefined, isRetryable: boolean, cause?: unknown) =>
    new APICallError({
      message: "m",
      url: "u",
      requestBodyValues: {},
      isRetryable,
      cause,
      ...(statusCode === undefined ? {} : { statusCode }),
    });

  it("first the noted error, then the innermost that is no APICallError, then an APICallError that departs", () => {
    const inner = dropped({ isRetryable: true });
    const outer = dropped({ isRetryable: false }, "outer", inner);
    assert.equal(classify(outer, at).said, "retry", "the innermost");
    assert.equal(classify(outer, { ...at, noted: dropped({ isRetryable: false }) }).said, "stop", "the noted");
    assert.equal(classify(outer, { ...at, noted: dropped({}) }).said, "retry", "a noted error that says nothing");
    assert.equal(classify(call(503, false, inner), at).said, "retry", "no APICallError before an APICallError");
    assert.equal(classify(call(503, false), at).said, "stop", "a 503 that says no departs from its default");
    assert.equal(classify(call(503, true), at).said, undefined, "a computed value is no statement");
    assert.equal(classify(call(400, true), at).said, "retry");
    assert.equal(classify(call(400, true), at).retryable, false, "a rejected request is no transport failure");
    for (const said of [true, false]) {
      assert.equal(classify(call(200, said), at).said, undefined, "packages compute it for every broken body");
      assert.equal(classify(call(undefined, said), at).said, undefined, "and for every failed fetch");
    }
  });

  it("a package's verdict on a frame is no transport's word", () => {
    const made = call(500, false);
    assert.equal(classify(made, { ...at, wireStatus: 200 }).said, undefined);
    assert.equal(classify(made, { ...at, wireStatus: 500 }).said, "stop");
  });

  it("only errors speak, and only in booleans", () => {
    for (const odd of [
      { isRetryable: true, message: "a frame" },
      dropped({ isRetryable: "yes" }),
      dropped({ isRetryable: 1 }),
    ]) {
      assert.equal(classify(odd, at).said, undefined);
    }
  });
});
