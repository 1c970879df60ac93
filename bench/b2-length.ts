/**
 * B2: whether a step costs more late in a long session than in a short one.
 *
 * Measured: CPU time per durable tool step, from the first request of a turn to its last, in one turn of 800 steps.
 * Against: the same in sixteen sessions of 50 steps, so that both processes have done the same number of steps with
 * code as warm. Not measured: opening and ending a session (between the gauges); what a provider package spends on
 * turning a long prompt into JSON, and the network on carrying it.
 */
import { cpuGauge, settle } from "./gauge.ts";
import { stepModel } from "./model.ts";
import { type Figures, type Row, ratio } from "./row.ts";

const short = 50;
const long = 800;

export const row: Row = {
  name: "B2",
  measure: "CPU per step, 800 steps against 50",
  unit: "us",
  scoreUnit: "x",
  better: "lower",
  target: 1.3,
  stretch: 1.05,
  baseline: (dir) => perStep(dir, short, long / short),
  ours: (dir) => perStep(dir, long, 1),
  score: ratio,
};

async function perStep(dir: string, steps: number, sessions: number): Promise<Figures> {
  const { toolTurn, withRuntime } = await import("./durable.ts");
  return withRuntime(dir, async (runtime) => {
    for (let n = 0; n < 4; n += 1) await toolTurn(runtime, stepModel(short), short);
    settle();
    let used = 0;
    for (let n = 0; n < sessions; n += 1) {
      let cpu = () => 0;
      const model = stepModel(steps, (request) => {
        if (request === 0) cpu = cpuGauge();
        if (request === steps) used += cpu();
      });
      await toolTurn(runtime, model, steps);
    }
    return { value: used / (steps * sessions) };
  });
}
