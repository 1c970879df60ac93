/**
 * What our side of the stream and step rows does: sessions in the SQLite store, driven through the public face only.
 * Imported by a case, never by a row's module: a baseline's process stays bare.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Agent, createSession, type Runtime, type ToolSet } from "@pawl/core";
import { openRuntime } from "@pawl/core/node";
import { lookUp, promptText } from "./model.ts";

/** Runs `work` on a runtime in `dir` and closes its store. */
export async function withRuntime<T>(dir: string, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const runtime = await openRuntime({ dir });
  try {
    return await work(runtime);
  } finally {
    await runtime.store.close();
  }
}

/** A session that is ready to be driven; returns the drive: one turn, with one subscriber that iterates it. */
export async function watchedTurn(
  runtime: Runtime,
  model: LanguageModelV4,
  onDelta: (text: string) => void,
): Promise<() => Promise<void>> {
  const session = await createSession(runtime);
  return async () => {
    const turn = session.run({ model }, promptText);
    for await (const item of turn) if (item.type === "part.delta") onDelta(item.text);
    completed((await turn.result).outcome.type);
  };
}

/** A new session through one turn with one tool, with one subscriber that iterates it. */
export async function chatTurn(
  runtime: Runtime,
  model: LanguageModelV4,
  onDelta: (text: string) => void,
): Promise<void> {
  const session = await createSession(runtime);
  const turn = session.run(toolAgent(model, 1), promptText);
  for await (const item of turn) if (item.type === "part.delta") onDelta(item.text);
  completed((await turn.result).outcome.type);
}

/** Drives a new session through one turn of so many tool steps, with nobody watching. */
export async function toolTurn(runtime: Runtime, model: LanguageModelV4, steps: number): Promise<void> {
  const session = await createSession(runtime);
  completed((await session.run(toolAgent(model, steps), promptText).result).outcome.type);
}

function toolAgent(model: LanguageModelV4, steps: number): Agent {
  const tools: ToolSet = {
    look: {
      description: "Looks at a part of a file.",
      inputSchema: {
        type: "object",
        properties: { path: { type: "string" }, pattern: { type: "string" } },
        required: ["path"],
      },
      effect: "write",
      execute: lookUp,
    },
  };
  return { model, tools, stepsPerTurn: steps + 1 };
}

/** A figure of a turn that failed would be a figure of nothing. */
function completed(outcome: string): void {
  if (outcome !== "completed") throw new Error(`the turn ended as ${outcome}`);
}
