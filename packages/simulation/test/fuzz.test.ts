/** The search finds what is hidden behind blocks that only some inputs reach, and every target reads what it begins with. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { search } from "../src/fuzz.ts";
import { Coverage } from "../src/fuzz-coverage.ts";
import { bytesOf, targetNames, targetOf } from "../src/fuzz-target.ts";
import { Loop } from "../src/fuzz-worker.ts";

/** Each step is a block of its own: without feedback a search would need one input in 2^32. */
function hidden(input: Uint8Array): void {
  if (input[0] !== 0x70) return;
  if (input[1] !== 0x61) return;
  if (input[2] !== 0x77) return;
  if (input[3] === 0x21) throw new Error("found");
}

test("what no single change reaches is found step by step, and made small", async () => {
  const target = {
    seeds: [bytesOf("nothing of it")],
    words: ["p", "a", "w", "!"],
    run: async (input: Uint8Array) => hidden(input),
  };
  const shared = new SharedArrayBuffer(65_544);
  const coverage = new Coverage(/simulation\/test\/(fuzz\.test\.ts)/);
  const loop = new Loop(target, coverage, { seed: 1, shared });
  const { failures } = await loop.run(120, (found) => found > 0);
  assert.deepEqual(
    failures.map(({ words, base64 }) => [words.split("\n")[0], Buffer.from(base64, "base64").toString()]),
    [["Error: found", "paw!"]],
  );
});

describe("every target", () => {
  for (const name of targetNames) {
    test(`${name}: reads what the search begins with`, async () => {
      const { seeds, run } = await targetOf(name);
      assert.ok(seeds.length > 0);
      for (const input of seeds) await run(input);
    });
  }
});

test("a search runs in a thread of its own and says how far it has come", async () => {
  const { executions, corpus, blocks, failures } = await search({ target: "permission", seconds: 1, seed: 1 });
  assert.ok(executions > 0 && corpus > 0 && blocks > 0);
  assert.deepEqual(failures, []);
});
