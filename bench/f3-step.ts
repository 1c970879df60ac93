/**
 * F3S: what one durable step with one tool call costs on PostgreSQL, in a process that has been at work for a while.
 *
 * Measured: time on the wall per step over five turns of 200 steps, and CPU beside it, after ten such turns: a worker lives
 * for days. Beside it the first of those turns, of a young process. Against: two single commits on the same server by the same
 * client, one prepared INSERT each, of about as many bytes, after as many. They validate nothing, fence nobody, tell nobody.
 * Not measured: the model, opening, watching, many sessions at once.
 */
import { perStep, settle } from "./gauge.ts";
import { stepModel } from "./model.ts";
import { type Figures, type Row, ratio } from "./row.ts";

const steps = 200;
const warmUpSteps = 50;
const warmUpTurns = 10;
/** One would be a fifth of a second, in which one visit of the compiler or the collector tells. */
const turns = 5;
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
      return afterWork(() => commit(steps));
    });
  },
  ours: async (dir, url) => {
    const [{ withPostgres }, { toolTurn }] = await Promise.all([import("./postgres.ts"), import("./durable.ts")]);
    return withPostgres(url, dir, async (runtime) => {
      await toolTurn(runtime, stepModel(warmUpSteps), warmUpSteps);
      return afterWork(() => toolTurn(runtime, stepModel(steps), steps));
    });
  },
  score: ratio,
  also: (baseline, ours) =>
    `CPU ${Math.round(baseline["cpu"] ?? 0)} -> ${Math.round(ours["cpu"] ?? 0)} us; ` +
    `young ${Math.round(baseline["young"] ?? 0)} -> ${Math.round(ours["young"] ?? 0)} us`,
};

/** Without a word to the collector in between: a full collection takes away what the engine has learned of the code. */
async function afterWork(turn: () => Promise<void>): Promise<Figures> {
  settle();
  const { value: young } = await perStep(steps, turn);
  const many = async (count: number) => {
    for (let n = 0; n < count; n += 1) await turn();
  };
  await many(warmUpTurns - 1);
  return { ...(await perStep(steps * turns, () => many(turns))), young };
}
