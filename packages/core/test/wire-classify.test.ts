/** Real error objects: real sockets, the published provider packages, a server that misbehaves on command. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { type Fault, PROTOCOLS, type Protocol, type Step } from "@pawl/model-server";
import type { AttemptResult } from "../src/attempt/run.ts";
import type { FailureKind } from "../src/log/value.ts";
import { attemptOf, type Edge, hello, modelAt, modelOf, serving } from "./wire-provider.ts";

const edges: Edge[] = ["watched", "bare"];

/** Every protocol, with and without our edge: the answer must be the same. */
function everywhere(name: string, body: (protocol: Protocol, edge: Edge) => Promise<void>): void {
  for (const protocol of PROTOCOLS)
    for (const edge of edges) it(`${name} (${protocol}, ${edge})`, () => body(protocol, edge));
}

function seen({ failure }: AttemptResult): [FailureKind | "good", boolean | undefined] {
  return [failure?.kind ?? "good", failure?.retryable];
}

/** Plays steps; every hold opens when the reader has seen the text before it, or at once where there is none. */
async function play(
  steps: Step[],
  protocol: Protocol,
  edge: Edge,
  options: Parameters<typeof attemptOf>[1] = {},
): Promise<AttemptResult> {
  let result: AttemptResult | undefined;
  await serving({ script: [steps] }, async (server) => {
    const model = modelOf(server, protocol, edge);
    const held = steps.some((step) => "text" in step || "reason" in step);
    if (!held) server.release("seen");
    result = await attemptOf(model, { onDelta: () => server.release("seen"), ...options });
  });
  assert.ok(result);
  return result;
}

describe("a status is a kind, through every provider package", () => {
  const table: [number, FailureKind, boolean][] = [
    [400, "rejected", false],
    [401, "auth", false],
    [402, "quota", false],
    [403, "auth", false],
    [404, "rejected", false],
    [408, "server", true],
    [409, "server", true],
    [413, "overflow", false],
    [425, "server", true],
    [429, "rate-limited", true],
    [499, "server", true],
    [500, "server", true],
    [502, "server", true],
    [503, "overloaded", true],
    [504, "server", true],
    [520, "server", true],
    [521, "server", true],
    [522, "server", true],
    [523, "server", true],
    [524, "server", true],
    [529, "overloaded", true],
  ];
  for (const body of ["the protocol's own", "none", "HTML"] as const) {
    everywhere(`R16: ${body} body`, async (protocol, edge) => {
      const bodies = {
        "the protocol's own": {},
        none: { body: "" },
        HTML: { body: "<html><h1>Bad gateway</h1></html>" },
      };
      // The edge sees nothing of an error body: one of the two is enough for the odd ones.
      if (edge === "bare" && body !== "the protocol's own") return;
      await serving({ script: table.map(([status]) => ({ status, ...bodies[body] })) }, async (server) => {
        for (const [status, kind, retryable] of table) {
          const result = await attemptOf(modelOf(server, protocol, edge));
          assert.deepEqual([...seen(result), result.failure?.status], [kind, retryable, status]);
        }
      });
    });
  }

  everywhere("R14: 429 with a quota code", async (protocol, edge) => {
    const error: Fault = {
      type: "insufficient_quota",
      message: "You exceeded your current quota",
      code: "insufficient_quota",
    };
    await serving({ script: [{ status: 429, error }] }, async (server) => {
      assert.deepEqual(seen(await attemptOf(modelOf(server, protocol, edge))), ["quota", false]);
    });
  });

  everywhere("R12: the wait is read from the real headers", async (protocol, edge) => {
    await serving(
      {
        script: [
          { status: 429, headers: { "Retry-After-Ms": "1500" } },
          { status: 503, headers: { "Retry-After": "2" } },
        ],
      },
      async (server) => {
        const waits = [
          await attemptOf(modelOf(server, protocol, edge)),
          await attemptOf(modelOf(server, protocol, edge)),
        ];
        assert.deepEqual(
          waits.map(({ failure }) => failure?.retryAfterMs),
          [1_500, 2_000],
        );
      },
    );
  });
});

describe("a connection that breaks", () => {
  everywhere(
    "R01: reset before headers, after headers, in reasoning, in text, in arguments",
    async (protocol, edge) => {
      const cases: [Step[], FailureKind][] = [
        [[{ reset: true }], "connect"],
        [[{ headers: true }, { hold: "seen" }, { reset: true }], "stream-broken"],
        [[{ reason: "thinking", upTo: 1, chunks: 2 }, { hold: "seen" }, { reset: true }], "stream-broken"],
        [[{ text: "Half an answer", upTo: 1, chunks: 2 }, { hold: "seen" }, { reset: true }], "stream-broken"],
        [
          [
            { text: "a" },
            { call: "read", input: { path: "abc" }, split: [4], upTo: 1 },
            { hold: "seen" },
            { reset: true },
          ],
          "stream-broken",
        ],
      ];
      for (const [steps, kind] of cases) {
        const result = await play(steps, protocol, edge);
        // After headers alone, the client may see the reset before it has seen them.
        const expected = steps[0] && "headers" in steps[0] && result.failure?.kind === "connect" ? "connect" : kind;
        assert.deepEqual(seen(result), [expected, true], JSON.stringify(result.failure));
        assert.equal(result.failure?.code, "ECONNRESET");
      }
    },
  );

  everywhere("a clean end in the middle is a cut, one without output is empty", async (protocol, edge) => {
    assert.deepEqual(seen(await play([{ text: "Half", upTo: 1, chunks: 2 }, { end: true }], protocol, edge)), [
      "stream-broken",
      true,
    ]);
    const nothing = await play([{ headers: true }, { end: true }], protocol, edge);
    assert.ok(
      ["empty", "stream-broken"].includes(seen(nothing)[0]) && nothing.failure?.retryable,
      JSON.stringify(nothing.failure),
    );
  });

  everywhere("R05: silence that we end is our deadline, not an abort", async (protocol, edge) => {
    const result = await play([{ text: "a", upTo: 1 }, { silence: true }], protocol, edge, {
      watch: { silenceMs: 50 },
    });
    assert.deepEqual([...seen(result), result.failure?.detector], ["stream-broken", true, "watchdog"]);
    const first = await play([{ silence: true }], protocol, edge, { watch: { firstMs: 50 } });
    assert.deepEqual([seen(first)[1], first.failure?.detector], [true, "watchdog"]);
  });

  everywhere("an abort is ours by its signal, whatever it says", async (protocol, edge) => {
    for (const reason of [
      undefined,
      new Error("ECONNRESET"),
      "stop",
      Object.assign(new Error("x"), { isRetryable: true }),
    ]) {
      const abort = new AbortController();
      const onDelta = () => abort.abort(reason);
      const result = await play([{ text: "a", upTo: 1 }, { silence: true }], protocol, edge, {
        signal: abort.signal,
        onDelta,
      });
      assert.deepEqual(seen(result), ["aborted", false]);
    }
  });

  it("nobody listens, no such host", async () => {
    const free = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => free.once("listening", resolve));
    const address = free.address();
    assert.ok(typeof address === "object" && address);
    await new Promise((resolve) => free.close(resolve));
    for (const protocol of PROTOCOLS) {
      for (const url of [`http://127.0.0.1:${address.port}/v1`, "http://does-not-exist.invalid/v1"]) {
        const result = await attemptOf(modelAt(url, protocol, "bare"));
        assert.deepEqual(seen(result), ["connect", true], JSON.stringify(result.failure));
      }
    }
  });
});

describe("R09: error frames in a 200 stream", () => {
  const table: [Fault, FailureKind, boolean][] = [
    [{ type: "overloaded_error", message: "Overloaded" }, "overloaded", true],
    [{ type: "rate_limit_error", message: "Slow down", code: "rate_limit_exceeded" }, "rate-limited", true],
    [{ type: "api_error", message: "Internal", code: "server_error" }, "server", true],
    [{ type: "timeout_error", message: "Took too long" }, "server", true],
    [{ type: "invalid_request_error", message: "max_tokens is wrong" }, "rejected", false],
    [{ type: "authentication_error", message: "Who are you", code: "invalid_api_key" }, "auth", false],
    [{ type: "insufficient_quota", message: "No more", code: "insufficient_quota" }, "quota", false],
  ];
  everywhere("as the first frame and after text, the same", async (protocol, edge) => {
    for (const [error, kind, retryable] of table) {
      const first = await play([{ error }], protocol, edge);
      const later = await play([{ text: "some" }, { error }], protocol, edge);
      assert.equal(seen(later)[0], kind, `${error.type} later: ${JSON.stringify(later.failure)}`);
      assert.deepEqual(seen(later), [kind, retryable]);
      // Without our edge, a package's own status and verdict on a frame that it throws cannot be told from real ones.
      if (edge === "watched" || error.type !== "timeout_error")
        assert.deepEqual(seen(first), [kind, retryable], JSON.stringify(first.failure));
      assert.ok(first.failure?.message.includes(error.message));
    }
  });

  it("response.failed has the class of its code", async () => {
    for (const edge of edges) {
      const error = { type: "server_error", message: "oops", code: "server_error" };
      assert.deepEqual(seen(await play([{ text: "some" }, { error, failed: true }], "responses", edge)), [
        "server",
        true,
      ]);
      const quota = { type: "insufficient_quota", message: "No more", code: "insufficient_quota" };
      assert.deepEqual(seen(await play([{ text: "some" }, { error: quota, failed: true }], "responses", edge)), [
        "quota",
        false,
      ]);
    }
  });
});

describe("garbage", () => {
  everywhere("frames that are no JSON, or of no known shape, break the stream", async (protocol, edge) => {
    const cases: Step[][] = [
      [{ garbage: true }],
      [{ text: "a" }, { garbage: true }, { text: "b" }],
      [{ text: "a" }, { raw: 'data: {"type":"response.created","choices":"no","response":7}\n\n' }, { text: "b" }],
      [{ text: "a" }, { raw: "data: <html>\n\n" }],
    ];
    for (const steps of cases)
      assert.deepEqual(seen(await play(steps, protocol, edge)), ["stream-broken", true], JSON.stringify(steps));
  });

  everywhere("200 with HTML, with nothing, with JSON that is no stream", async (protocol, edge) => {
    for (const [type, text] of [
      ["text/html", "<html>hello</html>"],
      ["text/event-stream", ""],
      ["text/event-stream", "hello"],
      ["application/json", "{}"],
    ]) {
      const fetch = async () => new Response(text, { headers: { "content-type": type ?? "" } });
      const result = await attemptOf(modelAt("http://nowhere/v1", protocol, edge, fetch));
      assert.equal(result.failure?.retryable, true, `${type}: ${JSON.stringify(result.failure)}`);
      assert.ok(["empty", "stream-broken"].includes(result.failure?.kind ?? ""), JSON.stringify(result.failure));
    }
    const bodiless = async () => new Response(null, { status: 200 });
    assert.deepEqual(seen(await attemptOf(modelAt("http://nowhere/v1", protocol, edge, bodiless))), [
      "stream-broken",
      true,
    ]);
  });

  it("R77: one attempt is one request, whatever the status", async () => {
    for (const protocol of PROTOCOLS) {
      await serving({ script: { entries: [], fallback: { status: 503 } } }, async (server) => {
        await attemptOf(modelOf(server, protocol), { options: hello });
        assert.equal(server.requests.length, 1);
      });
    }
  });
});
