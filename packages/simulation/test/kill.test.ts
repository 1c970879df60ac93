/** A few rounds of real processes that are killed at any moment; `src/kill.ts --rounds 500` plays as many as there is time for. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, test } from "node:test";
import { postgresStore } from "@pawl/postgres";
import { PostgresServer } from "../../postgres/test/server.ts";
import { figures, measureRun, playRounds } from "../src/kill.ts";

const server = await PostgresServer.start();
after(() => server.end());

// More at a time than cores: a round waits for processes most of its time.
const shared = { seed: 7, workers: 4 };
const measure = await measureRun(shared);

for (const [place, count, url] of [
  ["a folder", 12, undefined],
  ["a PostgreSQL server", 5, server.url("postgres")],
] as const) {
  test(`killed at any moment, resumed, killed again, on ${place}: every law, effect and exit code holds, and nothing is left`, async (t) => {
    const numbers = Array.from({ length: count }, (_, at) => at + 1);
    const done = await playRounds({ ...shared, numbers, url }, measure);
    t.diagnostic(figures(done));
    for (const { failure, round, folder } of done) {
      assert.equal(failure, undefined, `round ${round} of seed ${shared.seed}, kept in ${folder}`);
      assert.ok(!existsSync(folder), "a good round leaves nothing");
    }
    assert.equal(done.length, count);
    assert.ok(done.some(({ kills }) => kills.length > 0));
  });
}

test("the rounds of a server were on that server", async () => {
  const store = await postgresStore({ url: server.url("postgres") });
  const sessions = await store.list({ limit: 100 });
  await store.close();
  assert.ok(sessions.length > 0 && sessions.length <= 5, `${sessions.length} sessions`);
});
