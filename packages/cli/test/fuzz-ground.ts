/** What the targets of this package share: the shape that the fuzzer of the simulation takes, and what holds for all of them. */
import assert from "node:assert/strict";

export { bytesOf, type Target, textOf } from "../../simulation/src/fuzz-target.ts";

/** Anybody may read it, in a terminal or in a list, and it is not empty. */
export function assertOneLine(text: string, most: number): void {
  assert.ok(text.trim() !== "" && text.length <= most, `${text.length} characters`);
  assert.doesNotMatch(text, /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u, "nothing steers a terminal");
}

const prototypes = [Object.prototype, Array.prototype, Object, Function.prototype];
const before = prototypes.map(picture);

/** What all objects share is as it was. */
export function assertUnpolluted(): void {
  assert.deepEqual(prototypes.map(picture), before, "what all objects share has changed");
}

function picture(shared: object): string {
  return Reflect.ownKeys(shared).map(String).join();
}
