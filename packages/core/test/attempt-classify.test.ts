/** Error objects that no loopback server can produce, spelled as the runtimes and packages spell them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { APICallError } from "@ai-sdk/provider";
import { decide } from "../src/attempt/decide.ts";
import { noExposure } from "../src/attempt/exposure.ts";
import { classify, failureOf } from "../src/attempt/failure.ts";
import { ModelCallFailed } from "../src/attempt/model-call-failed.ts";
import { policyOf } from "../src/attempt/policy.ts";
import { PawlError } from "../src/error.ts";
import type { Exposure, Failure, FailureKind } from "../src/log/value.ts";

const now = Date.parse("Mon, 30 Nov 2026 12:00:00 GMT");

function inStream(error: unknown): Failure {
  return classify(error, { now, streaming: true });
}

function beforeHeaders(error: unknown): Failure {
  return classify(error, { now, streaming: false });
}

function coded(code: string, message = code, name = "Error"): Error {
  return Object.assign(new Error(message), { code, name });
}

function apiCall(fields: Partial<ConstructorParameters<typeof APICallError>[0]> = {}): APICallError {
  return new APICallError({ message: "", url: "http://x", requestBodyValues: { prompt: "secret prompt" }, ...fields });
}

function body(error: unknown, statusCode: number): APICallError {
  return apiCall({ statusCode, responseBody: JSON.stringify({ error }), data: { error } });
}

/** How provider packages wrap what breaks a 200 body. */
function wrapped(cause: unknown): APICallError {
  return apiCall({ message: "Failed to process successful response", statusCode: 200, isRetryable: true, cause });
}

function kinds(errors: unknown[]): FailureKind[] {
  return errors.map((error) => inStream(error).kind);
}

const exposures: Record<string, Partial<Exposure>> = {
  "before headers": {},
  "after headers": {},
  "after reasoning": { reasoning: true },
  "after text": { text: true },
  "in arguments": { text: true, toolInput: true },
};

describe("transport faults, by structure", () => {
  it("R01: a reset is found at any depth, under any class, and the attempt is retried whole", () => {
    const reset = coded("ECONNRESET", "read ECONNRESET");
    const deep = new RangeError("odd", { cause: new Error("wrapper", { cause: reset }) });
    for (const error of [
      reset,
      new TypeError("terminated", { cause: reset }),
      wrapped(new TypeError("terminated", { cause: reset })),
      deep,
    ]) {
      const failure = inStream(error);
      assert.deepEqual([failure.kind, failure.retryable, failure.code], ["stream-broken", true, "ECONNRESET"]);
      assert.equal(
        decide({ ...noExposure(), text: true }, failure, policyOf(), spent, { now, jitter: 0 }).action,
        "discard",
      );
    }
  });

  it("R02: undici, Node and Bun spell one failure, at every offset", () => {
    const spellings: unknown[] = [
      new TypeError("terminated", { cause: coded("UND_ERR_SOCKET", "other side closed", "SocketError") }),
      new TypeError("terminated"),
      new Error("other side closed"),
      coded("ERR_STREAM_PREMATURE_CLOSE", "Premature close"),
      new Error("Premature close"),
      new Error("Invalid response body while trying to fetch https://x/v1: Premature close"),
      new Error("The socket connection was closed unexpectedly. For more information, pass `verbose: true`"),
      coded("ConnectionClosed", "Unable to connect. Is the computer able to access the url?"),
      new TypeError("fetch failed", { cause: coded("UND_ERR_CONNECT_TIMEOUT") }),
      new TypeError("Load failed"),
      new TypeError("network error"),
      new Error("socket hang up"),
      coded("EPIPE", "write EPIPE"),
      new DOMException("The operation was aborted due to timeout", "TimeoutError"),
      new DOMException("This operation was aborted", "AbortError"),
      new Error("The operation timed out."),
      coded("UND_ERR_BODY_TIMEOUT", "Body Timeout Error", "BodyTimeoutError"),
      new Error("Connection error."),
      new Error("Server disconnected without sending a response."),
      "terminated",
    ];
    for (const spelling of spellings) {
      for (const error of [
        spelling,
        wrapped(spelling),
        new Error("unrelated", { cause: new Error("more", { cause: spelling }) }),
      ]) {
        for (const [offset, let_out] of Object.entries(exposures)) {
          const failure = offset === "before headers" ? beforeHeaders(error) : inStream(error);
          assert.ok(["connect", "stream-broken"].includes(failure.kind), `${offset}: ${JSON.stringify(failure)}`);
          assert.equal(failure.retryable, true, `${offset}: ${JSON.stringify(failure)}`);
          const { action } = decide({ ...noExposure(), ...let_out }, failure, policyOf(), spent, { now, jitter: 0 });
          assert.equal(action, let_out.text ? "discard" : let_out.reasoning ? "seal" : "retry", offset);
        }
      }
    }
  });

  it("R04: TLS alerts are transient, certificates and settings are not, and neither is an overflow", () => {
    const alerts = [
      coded("ERR_SSL_SSL/TLS_ALERT_BAD_RECORD_MAC"),
      coded("ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC", "ssl3_read_bytes:sslv3 alert bad record mac"),
      new Error("SSL routines:ssl3_read_bytes:ssl/tls alert bad record mac"),
      new Error("SSL alert number 80: tlsv1 alert internal error"),
      coded("ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR"),
      coded("EPROTO", "write EPROTO 0:error:0A000126:SSL routines::unexpected eof while reading"),
    ];
    for (const error of alerts) {
      const failure = inStream(wrapped(error));
      assert.deepEqual([failure.kind, failure.retryable], ["stream-broken", true], failure.message);
    }
    const certificates = [
      "CERT_HAS_EXPIRED",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "SELF_SIGNED_CERT_IN_CHAIN",
      "ERR_TLS_CERT_ALTNAME_INVALID",
      "ERR_SSL_WRONG_VERSION_NUMBER",
      "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE",
      "net::ERR_CERT_AUTHORITY_INVALID",
    ];
    for (const code of certificates) {
      const cannot = apiCall({ message: `Cannot connect to API: ${code}`, cause: coded(code), isRetryable: true });
      for (const error of [coded(code), new TypeError("fetch failed", { cause: coded(code) }), cannot]) {
        const failure = beforeHeaders(error);
        assert.deepEqual([failure.kind, failure.retryable], ["connect", false], code);
      }
    }
  });

  it("R76: HTTP/2 CANCEL, PROTOCOL_ERROR, half-closed and GOAWAY are transient, and the text names the layer", () => {
    const faults = [
      coded("ERR_HTTP2_STREAM_CANCEL", "The pending stream has been canceled"),
      coded("ERR_HTTP2_STREAM_ERROR", "Stream closed with error code NGHTTP2_PROTOCOL_ERROR"),
      coded("ERR_HTTP2_GOAWAY_SESSION", "New streams cannot be created after receiving a GOAWAY"),
      coded("net::ERR_HTTP2_PROTOCOL_ERROR", "net::ERR_HTTP2_PROTOCOL_ERROR"),
      coded("UND_ERR_INFO", 'HTTP/2: "stream half-closed (remote)"', "InformationalError"),
      Object.assign(new Error('HTTP/2: "stream half-closed (remote)"'), { name: "InformationalError" }),
      new Error("stream half-closed (remote)"),
      new Error('HTTP/2: "GOAWAY" frame received with code 0'),
      new Error("GOAWAY"),
    ];
    for (const error of faults) {
      const failure = inStream(wrapped(error));
      assert.deepEqual([failure.kind, failure.retryable], ["stream-broken", true], String(error));
      assert.match(failure.message, /^the connection broke: /);
      assert.match(beforeHeaders(error).message, /^no connection: /);
    }
  });

  it("knows aggregates, retry wrappers, suppressed errors and errors under other names", () => {
    const reset = coded("ECONNREFUSED");
    const both = new AggregateError([coded("ECONNREFUSED", "connect ECONNREFUSED ::1:1"), coded("ECONNREFUSED")], "");
    const retry = Object.assign(new Error("Failed after 3 attempts. Last error: x"), {
      name: "AI_RetryError",
      errors: [apiCall({ statusCode: 503 })],
      lastError: apiCall({ statusCode: 503 }),
    });
    assert.equal(beforeHeaders(new TypeError("fetch failed", { cause: both })).kind, "connect");
    assert.equal(beforeHeaders(retry).kind, "overloaded");
    assert.equal(beforeHeaders(new SuppressedError(new Error("dispose"), reset)).kind, "connect");
    assert.equal(beforeHeaders(Object.assign(new Error("x"), { originalError: reset })).kind, "connect");
    assert.equal(beforeHeaders(Object.assign(new Error("x"), { response: { status: 502 } })).kind, "server");
  });
});

describe("what providers say", () => {
  it("R14: a spent quota is no rate limit, by code, by status and by words", () => {
    const quotas = [
      body({ message: "You exceeded your current quota", type: "insufficient_quota", code: "insufficient_quota" }, 429),
      body({ message: "x", type: "requests", code: "insufficient_quota" }, 429),
      body({ message: "x", type: "insufficient_quota", code: "rate_limit_exceeded" }, 429),
      body({ message: "Your monthly usage limit has been reached; it resets on 1 January" }, 429),
      body({ message: "You have used up your weekly limit. Resets in 3 days" }, 429),
      body(
        { type: "usage_limit_reached", message: "The usage limit has been reached", resets_in_seconds: 400_000 },
        429,
      ),
      apiCall({ statusCode: 402, message: "Payment Required" }),
      body({ message: "x", type: "billing_error" }, 403),
      body({ message: "Your credit balance is too low to access the API", type: "invalid_request_error" }, 400),
    ];
    for (const error of quotas) {
      const failure = beforeHeaders(error);
      assert.deepEqual([failure.kind, failure.retryable], ["quota", false], JSON.stringify(failure));
    }
    assert.equal(
      beforeHeaders(body({ message: "Rate limit reached for requests", code: "rate_limit_exceeded" }, 429)).kind,
      "rate-limited",
    );
  });

  it("R16: one table of codes, shared by every path", () => {
    const retried = [408, 409, 425, 429, 499, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529];
    const final = [
      400, 401, 402, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 416, 417, 418, 422, 426, 428, 431, 451, 501, 505,
    ];
    for (const statusCode of retried)
      assert.equal(beforeHeaders(apiCall({ statusCode, responseBody: "" })).retryable, true, `${statusCode}`);
    for (const statusCode of final)
      assert.equal(beforeHeaders(apiCall({ statusCode, responseBody: "" })).retryable, false, `${statusCode}`);
    assert.match(beforeHeaders(apiCall({ statusCode: 499, responseBody: "" })).message, /status 499/);
  });

  it("R09: a frame has the class of its HTTP twin, whatever status an SDK put on it", () => {
    const twins: [string, number, FailureKind][] = [
      ["overloaded_error", 529, "overloaded"],
      ["rate_limit_error", 429, "rate-limited"],
      ["api_error", 500, "server"],
      ["timeout_error", 504, "server"],
      ["invalid_request_error", 400, "rejected"],
      ["authentication_error", 401, "auth"],
      ["request_too_large", 413, "overflow"],
    ];
    for (const [type, status, kind] of twins) {
      const frame = { type: "error", error: { type, message: "m" }, request_id: "req_1" };
      for (const error of [frame, frame.error, { ...frame.error, statusCode: status, isRetryable: true }]) {
        assert.equal(inStream(error).kind, kind, type);
      }
      assert.equal(
        beforeHeaders(apiCall({ statusCode: status, responseBody: JSON.stringify(frame) })).kind,
        kind,
        type,
      );
      assert.equal(inStream(frame).requestId, "req_1");
      assert.equal(inStream(frame).message, "m");
    }
    assert.equal(
      inStream({ message: "x", type: "service_unavailable_error", code: "server_is_overloaded" }).kind,
      "overloaded",
    );
    assert.equal(inStream({ message: "Provider returned error", code: 502 }).kind, "server");
    assert.equal(inStream({ error: { message: "busy", code: "429" } }).kind, "rate-limited");
    assert.equal(inStream({ message: "nobody knows this type", type: "weird_error" }).kind, "stream-broken");
  });

  it("R77: what a recovered model gave up on is not asked again on top, whatever lies beneath", () => {
    const beneath = Object.assign(new Error("try me"), { isRetryable: true });
    const failure = failureOf("server", "503", "status");
    const decision = { action: "stop", delayMs: 0, at: 0, reason: "6 attempts of this step failed" } as const;
    const given = { failure, decision, exposure: noExposure(), attempts: 6 };
    assert.equal(beforeHeaders(new ModelCallFailed(given, beneath)).said, "stop");
  });

  it("overflow is what a provider says of the request, by code or by words", () => {
    const overflows = [
      body({ message: "x", code: "context_length_exceeded" }, 400),
      body({ message: "prompt is too long: 210000 tokens > 200000 maximum", type: "invalid_request_error" }, 400),
      body({ message: "This model's maximum context length is 8192 tokens. However, you requested 9000" }, 400),
      body(
        {
          message: "the request exceeds the available context size. try increasing it",
          type: "exceed_context_size_error",
        },
        400,
      ),
      body({ message: "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000" }, 400),
      body({ message: "The input token count (1200000) exceeds the maximum number of tokens allowed" }, 400),
      body(
        {
          message: "Request too large for gpt-5 on tokens per min (TPM): Limit 10000, Requested 12000.",
          code: "rate_limit_exceeded",
        },
        429,
      ),
      apiCall({ statusCode: 413 }),
    ];
    for (const error of overflows)
      assert.equal(beforeHeaders(error).kind, "overflow", JSON.stringify(beforeHeaders(error)));
  });

  it("refused replayed state is told from any other rejection", () => {
    const refused = [
      body({ message: "x", code: "invalid_encrypted_content" }, 400),
      body(
        { message: "messages.1.content.0: Invalid `signature` in `thinking` block", type: "invalid_request_error" },
        400,
      ),
      body(
        { message: "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified" },
        400,
      ),
      body({ message: "Item with id 'rs_1' not found." }, 404),
    ];
    for (const error of refused)
      assert.equal(beforeHeaders(error).kind, "provider-state", JSON.stringify(beforeHeaders(error)));
    assert.equal(
      beforeHeaders(body({ message: "max_tokens is too large", type: "invalid_request_error" }, 400)).kind,
      "rejected",
    );
  });

  it("reads what to wait and who to ask from headers, in any case and form", () => {
    for (const responseHeaders of [
      { "Retry-After": "7", "X-Request-Id": "r" },
      Object.fromEntries(new Headers({ "retry-after": "7", "x-request-id": "r" })),
    ]) {
      const failure = beforeHeaders(apiCall({ statusCode: 429, responseHeaders }));
      assert.deepEqual([failure.retryAfterMs, failure.requestId], [7_000, "r"]);
    }
  });
});

describe("nothing an error is made of harms us", () => {
  it("cycles, getters that throw, revoked proxies, endless chains, odd types", () => {
    const cycle = new Error("a");
    cycle.cause = new Error("b", { cause: cycle });
    const getters = Object.defineProperties(new Error("g"), {
      cause: {
        get: () => {
          throw new Error("hostile");
        },
      },
      statusCode: {
        get: () => {
          throw new Error("hostile");
        },
      },
      message: {
        get: () => {
          throw new Error("hostile");
        },
      },
    });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    let chain: Error = new Error("end");
    for (let depth = 0; depth < 10_000; depth += 1) chain = new Error(`${depth}`, { cause: chain });
    const wide = new AggregateError(Array.from({ length: 100_000 }, () => new Error("x")));
    const endless = new Proxy(
      {},
      { get: (_, name) => (name === "cause" ? new Error("more", { cause: {} }) : undefined) },
    );
    const odd = [
      undefined,
      null,
      0,
      7n,
      true,
      Symbol("s"),
      "",
      "words",
      () => {},
      [],
      {},
      new Date(Number.NaN),
      Object.create(null),
    ];
    for (const error of [cycle, getters, proxy, chain, wide, endless, { errors: proxy }, ...odd]) {
      for (const failure of [inStream(error), beforeHeaders(error)]) {
        assert.equal(typeof failure.message, "string");
        assert.ok(failure.message.length > 0 && failure.message.length < 600);
        assert.doesNotThrow(() => JSON.stringify(failure));
      }
      assert.equal(beforeHeaders(error).retryable, false);
      assert.equal(inStream(error).kind, "stream-broken", "after headers, whatever broke is the stream");
    }
  });

  it("no prompt and no half character reaches the log", () => {
    const failure = inStream(apiCall({ statusCode: 500, message: `${"x".repeat(499)}😀`, cause: new Error("c") }));
    const text = JSON.stringify(failure);
    assert.ok(!text.includes("secret prompt"));
    assert.ok(text.isWellFormed() && failure.message.isWellFormed());
  });

  it("our own refusals are never taken for a fault of the wire", () => {
    for (const code of ["BUG", "FENCED", "STORE_FULL"] as const) {
      const failure = inStream(new PawlError(code, "x", { cause: coded("ECONNRESET") }));
      assert.deepEqual([failure.kind, failure.retryable], ["unknown", false]);
    }
  });

  it("words inside an answer or a body mean nothing", () => {
    assert.deepEqual(kinds([body({ message: "the tool said: terminated", type: "invalid_request_error" }, 400)]), [
      "rejected",
    ]);
    assert.equal(beforeHeaders(new Error("cannot read 'terminated' of undefined")).kind, "unknown");
    assert.equal(beforeHeaders(new Error("Unknown option: maximum context length")).kind, "unknown");
  });
});

const spent = { attemptsOfStep: 1, attemptsOfTurn: 1, sealsOfStep: 0, compactionsOfStep: 0, stripped: false };

describe("what a failure carries", () => {
  it("the evidence that was there, and no field for what was not", () => {
    const bare = beforeHeaders(new Error("odd"));
    assert.deepEqual(bare, { kind: "unknown", message: "odd", retryable: false });
    const cause = Object.assign(coded("ECONNRESET", ""), { responseHeaders: { "retry-after": "9" } });
    assert.deepEqual(failureOf("auth", "no", "runtime"), {
      kind: "auth",
      message: "no",
      retryable: false,
      detector: "runtime",
    });
    const full = classify(
      apiCall({ statusCode: 503, message: "busy", responseHeaders: { "x-request-id": "r" }, cause }),
      {
        now,
        streaming: true,
        detector: "status",
        noted: { responseHeaders: { "retry-after": "3" } },
      },
    );
    assert.deepEqual(full, {
      kind: "overloaded",
      message: "busy",
      retryable: true,
      detector: "status",
      status: 503,
      code: "ECONNRESET",
      requestId: "r",
      retryAfterMs: 3_000,
      causes: ["busy", "Error"],
    });
  });

  it("causes: each message once, outermost first, blank ones left out, at most eight", () => {
    const blank = Object.assign(new Error(""), { name: "", cause: new Error("inner") });
    assert.deepEqual(beforeHeaders(new Error("outer", { cause: blank })).causes, ["outer", "inner"]);
    assert.equal(beforeHeaders(new Error("same", { cause: new Error("same") })).causes, undefined);
    let chain: Error = new Error("0");
    for (let depth = 1; depth < 12; depth += 1) chain = new Error(`${depth}`, { cause: chain });
    assert.deepEqual(beforeHeaders(chain).causes, ["11", "10", "9", "8", "7", "6", "5", "4"]);
  });

  it("what a person is told: the provider's words, else the layer that broke, else the innermost error", () => {
    assert.equal(
      beforeHeaders(apiCall({ statusCode: 500 })).message,
      "the provider answered with status 500 and no words",
    );
    assert.equal(beforeHeaders(apiCall({ statusCode: 500, message: "its words" })).message, "its words");
    const said = apiCall({ statusCode: 500, message: "", responseBody: '{"error":{"message":"no room"}}' });
    assert.equal(beforeHeaders(said).message, "no room");
    const expired = coded("CERT_HAS_EXPIRED", "certificate has expired");
    assert.equal(beforeHeaders(expired).message, "the connection cannot be set up: certificate has expired");
    const nameless = Object.assign(new Error(""), { name: "" });
    assert.equal(inStream(new Error("outer", { cause: new Error("inner", { cause: nameless }) })).message, "inner");
    assert.equal(inStream({}).message, "nothing that says why (object)");
    assert.equal(inStream(undefined).message, "nothing that says why (undefined)");
  });

  it("a frame that is no JSON, or not of the protocol, broke its stream", () => {
    for (const name of ["AI_JSONParseError", "AI_TypeValidationError", "SyntaxError"]) {
      const failure = beforeHeaders(Object.assign(new Error("odd"), { name }));
      assert.deepEqual([failure.kind, failure.retryable], ["stream-broken", true], name);
    }
    assert.equal(beforeHeaders(new Error("Invalid JSON response")).kind, "stream-broken");
  });

  it("an answer in the chain says that headers came, whoever asks", () => {
    assert.equal(beforeHeaders(apiCall({ statusCode: 200, message: "odd" })).kind, "stream-broken");
    assert.equal(beforeHeaders(apiCall({ statusCode: 200, cause: coded("ECONNRESET") })).kind, "stream-broken");
  });

  it("a body narrows its status and never blurs it", () => {
    const kindOf = (type: string, status: number) => beforeHeaders(body({ message: "x", type }, status)).kind;
    assert.equal(kindOf("overloaded_error", 400), "overloaded");
    assert.equal(kindOf("server_error", 400), "server");
    assert.equal(kindOf("server_error", 529), "overloaded");
    assert.equal(kindOf("server_error", 429), "rate-limited");
    assert.equal(kindOf("invalid_request_error", 500), "server");
    assert.equal(kindOf("invalid_request_error", 413), "overflow");
  });
});

describe("R08: what a transport says of another try", () => {
  const word = (isRetryable: unknown, fields: object = {}) =>
    Object.assign(new Error("odd"), { isRetryable, ...fields });

  it("a yes helps what is unknown or broke on the way, and nothing that was decided elsewhere", () => {
    assert.deepEqual(beforeHeaders(word(true)), { kind: "unknown", message: "odd", retryable: true, said: "retry" });
    for (const error of [word(true, { code: "CERT_HAS_EXPIRED" }), word(true, { code: "ECONNRESET" })]) {
      for (const failure of [beforeHeaders(error), inStream(error)])
        assert.deepEqual([failure.retryable, failure.said], [true, "retry"]);
    }
    for (const statusCode of [401, 402, 404, 413]) {
      const failure = beforeHeaders(word(true, { statusCode }));
      assert.deepEqual([failure.retryable, failure.said], [false, "retry"], `${statusCode}`);
    }
  });

  it("a no always stops", () => {
    for (const failure of [beforeHeaders(word(false, { statusCode: 503 })), inStream(word(false))])
      assert.deepEqual([failure.retryable, failure.said], [false, "stop"]);
  });

  it("what our own fetch noted comes before the chain, the innermost before those around it", () => {
    const noted = (error: unknown, value: unknown) => classify(error, { now, streaming: false, noted: value }).said;
    assert.equal(noted(word(true), word(false)), "stop");
    assert.equal(noted(word(false), word(true)), "retry");
    assert.equal(noted(word(true), word("no")), "retry", "a word that is none");
    assert.equal(noted(word(true), { isRetryable: false }), "retry", "no error of its transport");
    const made = apiCall({ statusCode: 404, isRetryable: true });
    assert.equal(noted(word(false), made), "stop", "a package's own value is a default, not a word");
    const around = new Error("around", { cause: word(true) });
    assert.equal(noted(around, word(false)), "stop", "before what lies deeper");
    assert.equal(noted(around, word("no")), "retry");
    assert.equal(noted(around, new Error("no word")), "retry");
    assert.equal(beforeHeaders(Object.assign(word(true), { cause: word(false) })).said, "stop");
    assert.equal(beforeHeaders(Object.assign(word(false), { cause: word("yes") })).said, "stop");
    assert.equal(beforeHeaders(Object.assign(word(true), { cause: new Error("no word") })).said, "retry");
    assert.equal(beforeHeaders({ isRetryable: false }).said, undefined);
  });

  it("a package's value counts where it departs from the default of the status that came", () => {
    const said = (statusCode: number, isRetryable: boolean, wireStatus?: number) =>
      classify(apiCall({ statusCode, isRetryable }), {
        now,
        streaming: false,
        ...(wireStatus === undefined ? {} : { wireStatus }),
      }).said;
    for (const status of [408, 409, 429, 500, 503]) {
      assert.equal(said(status, true), undefined, `${status}`);
      assert.equal(said(status, false), "stop", `${status}`);
    }
    for (const status of [300, 400, 404, 499]) {
      assert.equal(said(status, false), undefined, `${status}`);
      assert.equal(said(status, true), "retry", `${status}`);
    }
    assert.equal(said(200, true), undefined, "every broken 2xx body says so");
    assert.equal(said(299, true), undefined);
    assert.equal(said(404, true, 404), "retry");
    assert.equal(said(404, true, 200), undefined, "made up from a frame");
    const without = Object.assign(apiCall({}), { isRetryable: true, statusCode: undefined });
    assert.equal(beforeHeaders(without).said, undefined);
    const retried = new Error("gave up", { cause: apiCall({ statusCode: 404, isRetryable: true }) });
    assert.equal(beforeHeaders(retried).said, "retry", "at any depth");
    const odd = Object.assign(apiCall({ statusCode: 500 }), { isRetryable: "no" });
    assert.equal(beforeHeaders(odd).said, undefined);
  });
});
