/** Everything that core's tests hold of a store, held on a real PostgreSQL: the same files, of the largest ones a sample. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { PostgresServer } from "./server.ts";
import { elsewhere, runSuite, type SuiteRun, skippedTests, storeFiles, suites, wholeRunsOnly } from "./suites.ts";

/** Tests that ran when this was written; fewer mean that some have got lost on the way. */
const atLeast = 500;
const oneOf = 16;

const server = await PostgresServer.start();
after(() => server.end());
const files = suites().filter((file) => !Object.hasOwn(wholeRunsOnly, file));
const runs: SuiteRun[] = [];

describe("core's own tests on PostgreSQL", { concurrency: 2 }, () => {
  for (const file of files) {
    test(file, async (t) => {
      const run = await runSuite(file, { url: server.url("postgres"), oneOf });
      runs.push(run);
      assert.equal(run.failed, 0, run.output);
      assert.ok(run.worlds > 0, `no store of ${file} was on PostgreSQL: ${run.output}`);
      t.diagnostic(`${run.passed} tests, ${run.worlds} stores`);
    });
  }
});

describe("what ran", () => {
  test("is everything: no test is missing, and none is skipped without a reason", (t) => {
    const passed = runs.reduce((sum, run) => sum + run.passed, 0);
    assert.equal(runs.length, files.length);
    assert.ok(passed >= atLeast, `${passed} tests, at least ${atLeast}`);
    assert.deepEqual(
      runs.flatMap(({ skipped }) => skipped),
      Object.keys(skippedTests),
    );
    t.diagnostic(`${passed} tests of ${runs.length} files`);
  });

  test("each file that stays with another store is there, and opens one", () => {
    const there = storeFiles();
    const named = [...Object.keys(elsewhere), ...Object.keys(wholeRunsOnly)];
    assert.deepEqual(
      named.filter((file) => !there.includes(file)),
      [],
    );
  });
});
