/**
 * F3S: what one durable step with one tool call costs on PostgreSQL.
 *
 * Measured: time on the wall per step over a turn of 200 steps, and CPU beside it. Against: two single commits on the same
 * server by the same client, one prepared INSERT each, of about as many bytes. They validate nothing, fence nobody, tell
 * nobody. Not measured: the model, opening, watching, many sessions at once.
 */
import { cpuGauge, settle, wallGauge } from "./gauge.ts";
import { stepModel } from "./model.ts";
import { type Figures, type Row, ratio } from "./row.ts";

const steps = 200;
const warmUpSteps = 50;
/** A message, and a result with what follows it. */
const bodies = ["x".repeat(400), "x".repeat(1_000)];

export const row: Row = {
  ...{ name: "F3S", measure: "PostgreSQL, one durable tool step", unit: "us", scoreUnit: "x", better: "lower" },
  ...{ target: 2.5, stretch: 1.5, fixture: "postgres" },
  baseline: async (dir, url) => {
    const { withPlain } = await import("./postgres.ts");
    return withPlain(url, dir, async (query) => {
      await query("CREATE TABLE event (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL)");
      const commit = async (count: number) => {
        for (let n = 0; n < count; n += 1)
          for (const body of bodies) await query("INSERT INTO event (body) VALUES ($1)", [body]);
      };
      await commit(warmUpSteps);
      return timed(() => commit(steps));
    });
  },
  ours: async (dir, url) => {
    const [{ withPostgres }, { toolTurn }] = await Promise.all([import("./postgres.ts"), import("./durable.ts")]);
    return withPostgres(url, dir, async (runtime) => {
      await toolTurn(runtime, stepModel(warmUpSteps), warmUpSteps);
      return timed(() => toolTurn(runtime, stepModel(steps), steps));
    });
  },
  score: ratio,
  also: (baseline, ours) => `CPU ${Math.round(baseline["cpu"] ?? 0)} -> ${Math.round(ours["cpu"] ?? 0)} us`,
};

async function timed(work: () => Promise<void>): Promise<Figures> {
  settle();
  const wall = wallGauge();
  const cpu = cpuGauge();
  await work();
  return { value: wall() / steps, cpu: cpu() / steps };
}
