/**
 * D1: forking a session at its end.
 *
 * Measured: time on the wall of one `forkSession`, durable when it resolves, over 50 forks of a session of 1,000,000
 * events, each after the last. Against: one row in one durable commit (node:sqlite, WAL, synchronous=FULL, main thread).
 * D1L: the same against a session of 100,000. Not measured: reading or driving the fork.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { settle, wallGauge } from "./gauge.ts";
import { type Figures, type Row, ratio } from "./row.ts";
import { type Size, storeIn } from "./sessions.ts";

const forks = 50;
const warmUp = 20;

export const row: Row = {
  ...{ name: "D1", measure: "fork 1,000,000 events at the end", unit: "us", scoreUnit: "x", better: "lower" },
  ...{ target: 4, stretch: 2, fixture: "sessions" },
  baseline: (dir) => inserted(dir),
  ours: (_, fixture) => forked(fixture, "million"),
  score: ratio,
};

export const length: Row = {
  ...{
    name: "D1L",
    measure: "the same, 1,000,000 events against 100,000",
    unit: "us",
    scoreUnit: "x",
    better: "lower",
  },
  ...{ target: 1.3, stretch: 1.1, fixture: "sessions" },
  baseline: (_, fixture) => forked(fixture, "tenth"),
  ours: (_, fixture) => forked(fixture, "million"),
  score: ratio,
};

async function inserted(dir: string): Promise<Figures> {
  const db = new DatabaseSync(join(dir, "bare.db"));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  db.exec("CREATE TABLE fork (id TEXT PRIMARY KEY, parent TEXT NOT NULL, seq INTEGER NOT NULL, made INTEGER NOT NULL)");
  const insert = db.prepare("INSERT INTO fork (id, parent, seq, made) VALUES (?, ?, ?, ?)");
  const figures = await timed(async (n) => {
    insert.run(`fork-${n}`, "million", 1_000_000, n);
  });
  db.close();
  return figures;
}

async function forked(fixture: string, session: Size): Promise<Figures> {
  const { forkSession } = await import("@pawl/core");
  const { withRuntime } = await import("./durable.ts");
  return withRuntime(storeIn(fixture), async (runtime) => {
    const seq = (await runtime.store.get(session))?.seq;
    if (seq === undefined) throw new Error(`the fixture has no session ${session}`);
    return timed(async () => {
      await forkSession(runtime, { session, seq });
    });
  });
}

async function timed(work: (n: number) => Promise<void>): Promise<Figures> {
  for (let n = 0; n < warmUp; n += 1) await work(n);
  settle();
  const wall = wallGauge();
  for (let n = warmUp; n < warmUp + forks; n += 1) await work(n);
  return { value: wall() / forks };
}
