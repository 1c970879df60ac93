/**
 * B1: what one durable step with one tool call costs.
 *
 * Measured: time on the wall per step over a turn of 200 steps (the flushes are most of it, and they are no CPU time),
 * and CPU beside it. Against: a bare loop that reads the same stream, runs the same tool and makes two commits a step
 * (message; result) with node:sqlite, WAL, synchronous=FULL, on the main thread. The bare loop validates nothing,
 * checks no sums, fences nobody and cannot recover. Not measured: opening, watching (A1), many sessions at once (F1).
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { perStep } from "./gauge.ts";
import { lookUp, promptText, stepModel } from "./model.ts";
import { type Row, ratio } from "./row.ts";

const steps = 200;
/** Compiled code is what a running agent has. */
const warmUpSteps = 50;

export const row: Row = {
  name: "B1",
  measure: "one durable tool step",
  unit: "us",
  scoreUnit: "x",
  better: "lower",
  target: 2,
  stretch: 1.3,
  baseline: async (dir) => {
    const loop = new BareLoop(join(dir, "bare.db"));
    await loop.run(warmUpSteps);
    const figures = await perStep(steps, () => loop.run(steps));
    loop.close();
    return figures;
  },
  ours: async (dir) => {
    const { toolTurn, withRuntime } = await import("./durable.ts");
    return withRuntime(dir, async (runtime) => {
      await toolTurn(runtime, stepModel(warmUpSteps), warmUpSteps);
      return perStep(steps, () => toolTurn(runtime, stepModel(steps), steps));
    });
  },
  score: ratio,
  also: (baseline, ours) =>
    `CPU ${Math.round(baseline["cpu"] ?? 0)} -> ${Math.round(ours["cpu"] ?? 0)} us, ${((ours["cpu"] ?? 0) / (baseline["cpu"] ?? 1)).toFixed(1)}x`,
};

class BareLoop {
  readonly #db: DatabaseSync;
  readonly #insert: ReturnType<DatabaseSync["prepare"]>;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    this.#db.exec("CREATE TABLE event (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    this.#insert = this.#db.prepare("INSERT INTO event (body) VALUES (?)");
  }

  async run(count: number): Promise<void> {
    const model = stepModel(count);
    const prompt: LanguageModelV4Message[] = [{ role: "user", content: [{ type: "text", text: promptText }] }];
    for (;;) {
      const { stream } = await model.doStream({ prompt });
      let text = "";
      let call: { toolCallId: string; toolName: string; input: { path: string } } | undefined;
      for await (const part of stream) {
        if (part.type === "text-delta") text += part.delta;
        if (part.type === "tool-call") call = { ...part, input: JSON.parse(part.input) as { path: string } };
      }
      this.#commit(prompt, {
        role: "assistant",
        content: [{ type: "text", text }, ...(call ? [{ type: "tool-call" as const, ...call }] : [])],
      });
      if (!call) return;
      const { toolCallId, toolName } = call;
      const output = { type: "text" as const, value: lookUp(call.input) };
      this.#commit(prompt, { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] });
    }
  }

  #commit(prompt: LanguageModelV4Message[], message: LanguageModelV4Message): void {
    prompt.push(message);
    this.#insert.run(JSON.stringify(message));
  }

  close(): void {
    this.#db.close();
  }
}
