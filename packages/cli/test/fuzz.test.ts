/** What the command line reads of others, searched shortly: longer with `node packages/simulation/src/fuzz.ts --target PATH`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { search } from "../../simulation/src/fuzz.ts";
import { targetOf } from "../../simulation/src/fuzz-target.ts";

for (const name of ["fuzz-configuration.ts", "fuzz-skill.ts"]) {
  const target = fileURLToPath(new URL(name, import.meta.url));
  describe(name, () => {
    test("reads what the search begins with", async () => {
      const { seeds, run } = await targetOf(target);
      assert.ok(seeds.length > 0);
      for (const input of seeds) await run(input);
    });

    test("a short search finds nothing", async () => {
      const { executions, blocks, failures } = await search({ target, seconds: 3, seed: 1 });
      assert.ok(executions > 0 && blocks > 0);
      assert.deepEqual(failures, []);
    });
  });
}
