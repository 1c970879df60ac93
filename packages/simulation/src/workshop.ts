/** The tools of the world, and the world outside that they change: each body is counted where it begins. */
import { type Agent, defineTool, type Effect, type ToolContext, type ToolSet } from "@pawl/core";
import { type ModelSeat, simulatedModel } from "./model.ts";

const inputSchema = { type: "object" as const };
/** Bodies of this world end within minutes. */
const timeoutMs = 30_000;

export function workshop(seat: ModelSeat): ToolSet {
  const tool = (effect: Effect, locks: "everything" | "nothing") =>
    defineTool({
      inputSchema,
      effect,
      timeoutMs,
      ...(locks === "nothing" ? { locks: () => [] } : {}),
      execute: (_, context) => {
        seat.referee.entered(seat.session, context.callId, effect);
        return body(seat, context);
      },
    });
  return {
    look: tool("read", "nothing"),
    put: tool("idempotent", "nothing"),
    act: tool("write", "nothing"),
    edit: tool("write", "everything"),
    check: defineTool({
      ...tool("write", "nothing"),
      reconcile: async () => {
        const verdict = seat.world.random.pick(["done", "not-done", "unknown"]);
        return verdict === "done" ? { verdict, output: "it was done" } : { verdict };
      },
    }),
  };
}

function body({ world, process, settings, wild, plot }: ModelSeat, { signal }: ToolContext): unknown {
  const { random } = world;
  const toldMs = plot?.bodiesMs.shift();
  if (!wild()) return "done";
  const later = <T>(ms: number, value: T) =>
    new Promise<T>((resolve) => process.after(ms, "body ends", () => resolve(value)));
  if (toldMs !== undefined) return later(toldMs, "done");
  if (random.chance(settings.toolThrow)) {
    if (random.chance(0.5)) throw random.pick([new Error("no"), undefined, "words"]);
    return later(random.below(500), 0).then(() => Promise.reject(new Error("no, later")));
  }
  if (random.chance(settings.toolHang))
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  if (random.chance(settings.toolDeaf)) return later(random.pick([1_000, 60_000, 100_000]), "late");
  if (random.chance(settings.toolOdd))
    return random.pick(["", "\ud800", "x".repeat(90_000), "\0", { content: "none" }, Number.NaN, { deep: [1, null] }]);
  return later(random.below(2_000), "done");
}

/** What a session is driven with. */
export function simulatedAgent(seat: ModelSeat): Agent {
  const { world, settings, wild } = seat;
  return {
    model: simulatedModel(seat),
    tools: workshop(seat),
    stepsPerTurn: 6,
    eagerReads: settings.eager,
    afterAbort: settings.returning ? "return" : "keep",
    recovery: { preset: settings.preset },
    toolGraceMs: 2_000,
    permission: ({ effect }) =>
      wild() && effect !== "read" && world.random.chance(settings.approval) ? "ask" : "allow",
    // Some are missing, always the same ones.
    snapshot: {
      take: ({ step }) =>
        step.endsWith("3") ? Promise.reject(new Error("no room")) : Promise.resolve(`files at ${step}`),
    },
    unanswered: "wait",
    approvalMs: 20_000,
    ...(settings.compaction > 0 ? { windowTokens: 1_500 } : {}),
  };
}
