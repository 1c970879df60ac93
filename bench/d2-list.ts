/**
 * D2: the list that a picker shows.
 *
 * Measured: time on the wall of `store.list` for the 50 sessions that changed last, of 10,000, as the first thing a
 * process does with a store that it has opened. Against: one indexed select of 50 rows of an equal table, also the
 * first in its process. D2L: the same of 100,000. Beside: both again when their code is compiled. Not measured: opening
 * the store, files that are not in the system's cache.
 */
import { DatabaseSync } from "node:sqlite";
import { type Count, storeIn, tableIn } from "./catalogue.ts";
import { settle, wallGauge } from "./gauge.ts";
import { type Figures, type Row, ratio } from "./row.ts";

const shown = 50;
const again = 200;

export const row: Row = {
  ...{ name: "D2", measure: "list 50 of 10,000 sessions", unit: "ms", scoreUnit: "x", better: "lower" },
  ...{ target: 4, stretch: 2, fixture: "catalogue" },
  baseline: (_, fixture) => selected(fixture, "ten"),
  ours: (_, fixture) => listed(fixture, "ten"),
  score: ratio,
  also: warmWords,
};

export const length: Row = {
  ...{ name: "D2L", measure: "the same, 100,000 sessions against 10,000", unit: "ms", scoreUnit: "x", better: "lower" },
  ...{ target: 1.3, stretch: 1.1, fixture: "catalogue" },
  baseline: (_, fixture) => listed(fixture, "ten"),
  ours: (_, fixture) => listed(fixture, "hundred"),
  score: ratio,
  also: warmWords,
};

function warmWords(baseline: Figures, ours: Figures): string {
  const [before, after] = [baseline["warm"] ?? Number.NaN, ours["warm"] ?? Number.NaN];
  return `compiled ${before.toFixed(2)} -> ${after.toFixed(2)} ms, ${(after / before).toFixed(1)}x`;
}

async function selected(fixture: string, count: Count): Promise<Figures> {
  const db = new DatabaseSync(tableIn(fixture, count));
  const sql = "SELECT id, updated, title, cwd FROM session ORDER BY updated DESC, id DESC LIMIT ?";
  let select: ReturnType<DatabaseSync["prepare"]> | undefined;
  const figures = await timed(async () => {
    select ??= db.prepare(sql);
    return select.all(shown).length;
  });
  db.close();
  return figures;
}

async function listed(fixture: string, count: Count): Promise<Figures> {
  const { withRuntime } = await import("./durable.ts");
  return withRuntime(storeIn(fixture, count), ({ store }) =>
    timed(async () => (await store.list({ limit: shown })).length),
  );
}

async function timed(list: () => Promise<number>): Promise<Figures> {
  const first = wallGauge();
  const count = await list();
  const value = first() / 1_000;
  if (count !== shown) throw new Error(`${count} came, not ${shown}`);
  for (let n = 0; n < again; n += 1) await list();
  settle();
  const warm = wallGauge();
  for (let n = 0; n < again; n += 1) await list();
  return { value, warm: warm() / 1_000 / again };
}
