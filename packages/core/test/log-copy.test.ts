import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { copied } from "../src/log/copy.ts";
import { anyJson } from "./arbitrary.ts";

test("a copy is equal, and shares no list and no object with what it came from", () => {
  const apart = (a: unknown, b: unknown): boolean =>
    typeof a !== "object" ||
    a === null ||
    (a !== b && Object.entries(a).every(([key, inner]) => apart(inner, (b as Record<string, unknown>)[key])));
  fc.assert(
    fc.property(anyJson, (value) => {
      const copy = copied(value);
      assert.deepEqual(copy, value);
      assert.ok(apart(copy, value));
    }),
  );
});

test("a field that is called __proto__ is a field, and changes nobody's nature", () => {
  const value = JSON.parse('{"__proto__":{"admin":true},"a":1}') as { admin?: boolean };
  const copy = copied(value);
  assert.deepEqual(Object.keys(copy), ["__proto__", "a"]);
  assert.equal(copy.admin, undefined);
  assert.equal(Object.getPrototypeOf(copy), Object.prototype);
});

test("addresses and bytes stay what they are", () => {
  const value = { url: new URL("https://example.org/"), bytes: new Uint8Array([1]) };
  const copy = copied(value);
  assert.equal(copy.url, value.url);
  assert.equal(copy.bytes, value.bytes);
});
