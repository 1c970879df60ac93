/** What a provider says by its headers, its status, its error types and its words, one table each. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { narrowed } from "../src/attempt/phrase.ts";
import { header, retryAfterMs } from "../src/attempt/retry-after.ts";
import { kindOfBodyCode, kindOfBodyType, kindOfStatus, retryableKinds } from "../src/attempt/status.ts";
import type { FailureKind } from "../src/log/value.ts";

const now = Date.parse("Mon, 30 Nov 2026 12:00:00 GMT");
const century = 100 * 365 * 86_400_000;

describe("what a provider asks us to wait", () => {
  const table: [string, unknown, number | undefined][] = [
    ["seconds", { "retry-after": "5" }, 5_000],
    ["a fraction", { "retry-after": "2.128" }, 2_128],
    ["zero", { "retry-after": "0" }, 0],
    ["spaces around", { "retry-after": " 7 " }, 7_000],
    ["a number in a record", { "retry-after": 3 }, 3_000],
    ["negative", { "retry-after": "-5" }, undefined],
    ["empty", { "retry-after": "" }, undefined],
    ["no number", { "retry-after": "abc" }, undefined],
    ["NaN", { "retry-after": "NaN" }, undefined],
    ["Infinity", { "retry-after": "Infinity" }, undefined],
    ["hexadecimal", { "retry-after": "0x10" }, undefined],
    ["an exponent", { "retry-after": "1e3" }, undefined],
    ["a date that Date.parse would invent", { "retry-after": "12/25" }, undefined],
    ["a past date", { "retry-after": "Mon, 30 Nov 2026 11:59:00 GMT" }, undefined],
    ["a date 30 s ahead", { "retry-after": "Mon, 30 Nov 2026 12:00:30 GMT" }, 30_000],
    ["an old style date", { "retry-after": "Monday, 30-Nov-26 12:00:30 GMT" }, 30_000],
    [
      "a date against the response's own clock, which is an hour off",
      { "retry-after": "Mon, 30 Nov 2026 13:00:30 GMT", date: "Mon, 30 Nov 2026 13:00:00 GMT" },
      30_000,
    ],
    ["a broken date header", { "retry-after": "Mon, 30 Nov 2026 12:00:30 GMT", date: "yesterday" }, 30_000],
    ["milliseconds", { "retry-after-ms": "250" }, 250],
    ["both: milliseconds win", { "retry-after": "9", "retry-after-ms": "250" }, 250],
    ["broken milliseconds: seconds count", { "retry-after": "9", "retry-after-ms": "-1" }, 9_000],
    ["any case", { "Retry-After": "5" }, 5_000],
    [
      "twice in pairs: the first",
      [
        ["retry-after", "5"],
        ["Retry-After", "60"],
      ],
      5_000,
    ],
    [
      "twice in Headers",
      new Headers([
        ["Retry-After", "5"],
        ["retry-after", "60"],
      ]),
      5_000,
    ],
    ["a list in a record", { "retry-after": ["4", "8"] }, 4_000],
    ["a Map", new Map([["Retry-After-Ms", "40"]]), 40],
    ["a date without a comma", { "retry-after": "Mon 30 Nov 2026 12:00:30 GMT" }, 30_000],
    ["this very moment", { "retry-after": "Mon, 30 Nov 2026 12:00:00 GMT" }, undefined],
    ["a date with words around", { "retry-after": "at Mon, 30 Nov 2026 12:00:30 GMT" }, undefined],
    ["a date in another zone", { "retry-after": "Mon, 30 Nov 2026 12:00:30 GMT-0100" }, undefined],
    ["a date far ahead", { "retry-after": "Mon, 30 Nov 9999 12:00:00 GMT" }, century],
    ["several without spaces", { "retry-after": "5,60" }, 5_000],
    ["several with spaces", { "retry-after": " 55 , 60" }, 55_000],
    ["a list that begins with nothing", { "retry-after": ",5" }, undefined],
    ["a word, then a number", { "retry-after": "soon 5, 60" }, undefined],
    ["a truth", { "retry-after": true }, undefined],
    ["a value that is an object", { "retry-after": { seconds: 5 } }, undefined],
    ["a function with the right names", Object.assign(() => {}, { "retry-after": "5" }), undefined],
    ["nothing", {}, undefined],
    ["null", null, undefined],
    ["a string", "retry-after: 5", undefined],
    ["an array of nothing", [1, "x", []], undefined],
    ["days", { "retry-after": "86400" }, 86_400_000],
    ["more than a timer holds", { "retry-after": "2200000" }, 2_200_000_000],
    ["absurd", { "retry-after": "9999999999" }, century],
    ["more digits than a number holds", { "retry-after": "9".repeat(400) }, century],
  ];
  for (const [name, headers, expected] of table) {
    it(`R12 R13: ${name}`, () => assert.equal(retryAfterMs(headers, now), expected));
  }

  it("R12: headers that throw are no headers", () => {
    const throwing = Object.defineProperty({}, "retry-after", {
      enumerable: true,
      get: () => {
        throw new Error("no");
      },
    });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const hostile of [throwing, proxy]) assert.equal(retryAfterMs(hostile, now), undefined);
  });

  it("R13: whatever the text, the wait is undefined or a moment that a date can hold", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String), fc.date().map(String)),
        (text) => {
          const wait = retryAfterMs({ "retry-after": text }, now);
          assert.ok(wait === undefined || (wait >= 0 && !Number.isNaN(new Date(now + wait).getTime())));
        },
      ),
    );
  });

  it("finds one header in whatever holds headers", () => {
    for (const holder of [{ "X-Request-Id": "r1" }, new Headers({ "x-request-id": "r1" }), [["X-REQUEST-ID", "r1"]]]) {
      assert.equal(header(holder, "x-request-id"), "r1");
    }
  });

  it("R12: a list that throws when it is read is no value", () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    assert.equal(header({ "retry-after": proxy }, "retry-after"), undefined);
  });

  it("what does not hold the header has none", () => {
    for (const holder of [undefined, null, "x: 1", 7, [], [["x"]], [["x", undefined]], [[1, "x"]], { x: {} }])
      assert.equal(header(holder, "x"), undefined, JSON.stringify(holder));
    assert.equal(header({ x: 7 }, "x"), "7");
    assert.equal(header({ x: "at 5, 6" }, "x"), "at 5, 6");
    assert.equal(header({ x: " a, b " }, "x"), "a, b", "only what begins with a number is a list of values");
  });
});

describe("the tables, row by row", () => {
  it("R16: a status has one kind, and one that is no error has none", () => {
    const kindsOfStatus: [FailureKind | undefined, number[]][] = [
      [undefined, [100, 200, 204, 301, 399]],
      ["rejected", [400, 404, 405, 410, 418, 422, 451, 501, 505]],
      ["auth", [401, 403]],
      ["quota", [402]],
      ["overflow", [413]],
      ["rate-limited", [429]],
      ["overloaded", [503, 529]],
      ["server", [408, 409, 425, 499, 500, 502, 504, 520, 599]],
    ];
    for (const [kind, statuses] of kindsOfStatus)
      for (const status of statuses) assert.equal(kindOfStatus(status), kind, `${status}`);
  });

  it("R09: a body's type has one kind, and none that nobody knows", () => {
    const types: [FailureKind | undefined, string][] = [
      ["overloaded", "overloaded_error overloaded server_is_overloaded server_overloaded engine_overloaded"],
      ["overloaded", "service_unavailable_error service_unavailable slow_down UNAVAILABLE"],
      ["rate-limited", "rate_limit_error rate_limit_exceeded rate_limit_reached too_many_requests RESOURCE_EXHAUSTED"],
      [
        "server",
        "api_error server_error internal_server_error internal_error timeout_error INTERNAL DEADLINE_EXCEEDED",
      ],
      ["quota", "insufficient_quota billing_error billing_hard_limit_reached billing_not_active"],
      ["quota", "credit_balance_too_low usage_limit_reached quota_exceeded"],
      ["auth", "authentication_error permission_error invalid_api_key UNAUTHENTICATED PERMISSION_DENIED"],
      ["overflow", "context_length_exceeded exceed_context_size_error request_too_large string_above_max_length"],
      ["overflow", "model_context_window_exceeded"],
      ["provider-state", "invalid_encrypted_content"],
      ["rejected", "invalid_request_error invalid_prompt not_found_error model_not_found INVALID_ARGUMENT"],
      ["filtered", "content_filter content_policy_violation"],
      [undefined, "toString constructor internal Overloaded weird_error"],
    ];
    for (const [kind, names] of types)
      for (const name of names.split(" ")) assert.equal(kindOfBodyType(name), kind, name);
  });

  it("R09: a status inside a body counts as a number and as text, and nothing else does", () => {
    for (const [code, kind] of [
      [400, "rejected"],
      ["400", "rejected"],
      [429, "rate-limited"],
      ["503", "overloaded"],
      [599, "server"],
      ["599", "server"],
      [600, undefined],
      [399, undefined],
      ["200", undefined],
      ["1429", undefined],
      ["0429", undefined],
      ["429.5", undefined],
      ["4290", undefined],
      ["4.2e2", undefined],
      [["429"], undefined],
      [{ valueOf: () => 429 }, undefined],
      [undefined, undefined],
      [null, undefined],
    ] as const) {
      assert.equal(kindOfBodyCode(code), kind, JSON.stringify(code));
    }
  });

  it("what is worth another request at all: faults of the world that pass by themselves", () => {
    assert.deepEqual(
      Object.entries(retryableKinds).flatMap(([kind, worth]) => (worth ? [kind] : [])),
      ["connect", "stream-broken", "rate-limited", "overloaded", "server", "empty"],
    );
  });
});

describe("words that narrow a kind", () => {
  const narrow: [FailureKind, FailureKind, string[]][] = [
    [
      "rejected",
      "overflow",
      [
        "Prompt is too long",
        "context window of this model was exceeded",
        "context limit: will exceed",
        "exceed the context size",
        "exceeded your model's context window",
        "maximum prompt length",
        "input is too large",
        "input length is too long",
        "input token count (12) exceeds",
        "please reduce the length of the messages",
        "reduce the length of the prompt",
      ],
    ],
    [
      "rejected",
      "provider-state",
      [
        "invalid signature in a thinking block",
        "thinking block 3 cannot be modified",
        "thinking and other blocks in it cannot be modified",
        "The encrypted content could not be verified",
        "encrypted content is invalid",
        "encrypted content that cannot be decrypted",
        "Item 'rs_1' not found",
        "Item with id 'rs_1' not found",
        "Item 'fc_1' of type 'reasoning' was provided without",
      ],
    ],
    [
      "rate-limited",
      "quota",
      [
        "Your credit balance is too low",
        "you exceeded your current quota",
        "insufficient balance",
        "insufficient credit",
        "insufficient credits",
        "insufficient funds left",
        "insufficient quota",
        "daily limit reached",
        "monthly usage limit has been exceeded",
        "the cycle cap is exhausted",
        "weekly quota used up",
        "spending limit was reached",
        "reached your monthly limit",
        "you have exhausted the daily usage quota",
        "used up the cycle cap",
      ],
    ],
    [
      "rate-limited",
      "overflow",
      [
        "Request too large for m: limit 10000, requested 12000",
        "request too large, limit: 9, requested: 8",
        "request too large (limit is 9 tokens) but was requested with 8",
      ],
    ],
  ];
  for (const [from, to, texts] of narrow) {
    it(`${from} becomes ${to} by what it says`, () => {
      for (const text of texts) assert.equal(narrowed(from, `about: ${text}.`), to, text);
    });
  }

  it("a status that says auth, or only that the request is refused, may be a spent quota", () => {
    for (const kind of ["auth", "rejected"] as const) assert.equal(narrowed(kind, "insufficient funds"), "quota");
    assert.equal(narrowed("auth", "prompt is too long"), "auth");
  });

  it("what only looks alike narrows nothing", () => {
    for (const text of [
      "xprompt is too long",
      "the context is exceedingly nice",
      "context length is fine",
      "maximum length",
      "input is fine",
      "thinking is hard",
      "blocks cannot be modified",
      "encrypted content is fine",
      "Item '' not found",
      "request too large, limit 9, requested 8",
      "a daily reached goal",
    ]) {
      assert.equal(narrowed("rejected", text), "rejected", text);
    }
    for (const text of [
      "request too large: limit, requested",
      "request too large: limit 9",
      "request too large: limit none, requested 9",
      "request too large: limit 9, requested none",
      "prompt is too long",
    ])
      assert.equal(narrowed("rate-limited", text), "rate-limited", text);
    for (const kind of ["server", "overloaded", "connect"] as const)
      assert.equal(narrowed(kind, "insufficient funds, prompt is too long"), kind);
  });
});
