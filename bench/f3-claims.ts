/**
 * F3C: how many claims of work a server gives out.
 *
 * Measured: claims a second of 4 workers, 4 sessions a claim, each given back at once, where 200 of 2,000 sessions have
 * something to do. Against: the plainest queue in the same database: 200 of 2,000 rows wait, one statement takes 4 with
 * SKIP LOCKED, one gives them back; it has no epochs, no expiry, and asks nobody whether a holder lives. A claim is one
 * session. Not measured: driving what was claimed.
 */
import { wallGauge } from "./gauge.ts";
import { type Figures, type Row, ratio } from "./row.ts";

const rows = 2_000;
const busy = 200;
const workers = 4;
const atOnce = 4;
const rounds = 30;

export const row: Row = {
  ...{ name: "F3C", measure: "PostgreSQL, claims of work", unit: "/s", scoreUnit: "x", better: "higher" },
  ...{ target: 0.25, stretch: 0.5, fixture: "postgres" },
  baseline: async (dir, url) => {
    const { withPlain } = await import("./postgres.ts");
    return withPlain(url, dir, async (query) => {
      await query(
        "CREATE TABLE job (id bigint PRIMARY KEY, waits boolean NOT NULL, at bigint NOT NULL, taken boolean NOT NULL)",
      );
      await query("CREATE INDEX job_waits ON job (at, id) WHERE waits");
      await query("INSERT INTO job SELECT n, n <= $1::int, n, false FROM generate_series(1, $2::int) n", [busy, rows]);
      const take = `UPDATE job SET taken = true, at = at + ${rows} WHERE id IN
        (SELECT id FROM job WHERE waits AND NOT taken ORDER BY at, id LIMIT $1::int FOR UPDATE SKIP LOCKED) RETURNING id`;
      return timed(async () => {
        const taken = await query(take, [atOnce]);
        for (const { id } of taken) await query("UPDATE job SET taken = false WHERE id = $1::bigint", [String(id)]);
        return taken.length;
      });
    });
  },
  ours: async (dir, url) => {
    const { withPostgres } = await import("./postgres.ts");
    const { createSession } = await import("@pawl/core");
    return withPostgres(url, dir, async (runtime) => {
      const { store, holder } = runtime;
      const ids = Array.from({ length: rows }, (_, n) => `s${n}`);
      await Promise.all(ids.map((id) => createSession(runtime, id)));
      const waiting = ids.slice(0, busy);
      await Promise.all(waiting.map((id) => store.post(id, { id: `in-${id}`, kind: "input", body: "go" })));
      return timed(async () => {
        const claims = await store.claimWork(holder, { limit: atOnce, ttlMs: 60_000 });
        for (const { session, epoch } of claims) await store.releaseLease(session, epoch);
        return claims.length;
      });
    });
  },
  score: ratio,
};

async function timed(claim: () => Promise<number>): Promise<Figures> {
  let claims = 0;
  const all = () =>
    Promise.all(
      Array.from({ length: workers }, async () => {
        for (let round = 0; round < rounds; round += 1) claims += await claim();
      }),
    );
  await all();
  claims = 0;
  const wall = wallGauge();
  await all();
  return { value: (claims / wall()) * 1e6 };
}
