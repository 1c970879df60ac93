/**
 * F3: durable commits of many sessions at once on PostgreSQL.
 *
 * Measured: commits a second of 16 sessions through one store, each waiting for its own before its next. Against: one session
 * on the same server. Server and client share the machine's cores. Not measured: several processes, a server across a
 * network (where waiting side by side is worth more).
 */
import { type Figures, type Row, ratio } from "./row.ts";

export const row: Row = {
  ...{ name: "F3", measure: "PostgreSQL, 16 sessions committing", unit: "/s", scoreUnit: "x", better: "higher" },
  ...{ target: 1.8, stretch: 2.5, fixture: "postgres" },
  baseline: (dir, url) => rate(dir, url, 1, 600),
  ours: (dir, url) => rate(dir, url, 16, 200),
  score: ratio,
  also: (baseline, ours) => `CPU ${(baseline["cpu"] ?? 0).toFixed(0)} -> ${(ours["cpu"] ?? 0).toFixed(0)} us a commit`,
};

async function rate(dir: string, url: string, sessions: number, commitsEach: number): Promise<Figures> {
  const { withPostgres } = await import("./postgres.ts");
  const { commitRate } = await import("./commit.ts");
  return withPostgres(url, dir, (runtime) => commitRate(runtime, sessions, commitsEach));
}
