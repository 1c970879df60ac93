import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { header, retryAfterMs } from "../src/attempt/retry-after.ts";

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
});
