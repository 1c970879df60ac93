/** A few rounds of real processes that are killed at any moment; `src/kill.ts --rounds 500` plays as many as there is time for. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { figures, measureRun, playRounds } from "../src/kill.ts";

test("killed at any moment, resumed, killed again: every law, every effect and every exit code holds, and nothing is left", async (t) => {
  // More at a time than cores: a round waits for processes most of its time.
  const rounds = { numbers: Array.from({ length: 12 }, (_, at) => at + 1), seed: 7, workers: 4 };
  const done = await playRounds(rounds, await measureRun(rounds));
  t.diagnostic(figures(done));
  for (const { failure, round, folder } of done) {
    assert.equal(failure, undefined, `round ${round} of seed ${rounds.seed}, kept in ${folder}`);
    assert.ok(!existsSync(folder), "a good round leaves nothing");
  }
  assert.equal(done.length, 12);
  assert.ok(done.some(({ kills }) => kills.length > 0));
});
