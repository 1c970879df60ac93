/** The tools of the world, and the world outside that they change: each body is counted where it begins. */
import { type Agent, defineTool, type Effect, type Snapshotter, type ToolContext, type ToolSet } from "@pawl/core";
import { type ModelSeat, simulatedModel } from "./model.ts";
import { simulatedTask } from "./task.ts";

const inputSchema = { type: "object" as const };
/** Bodies of this world end within minutes. */
const timeoutMs = 30_000;

function workshop(seat: ModelSeat): ToolSet {
  const tool = (effect: Effect, locks: "everything" | "nothing") =>
    defineTool({
      inputSchema,
      effect,
      timeoutMs,
      ...(locks === "nothing" ? { locks: () => [] } : {}),
      execute: (_, context) => {
        seat.referee.entered(seat.session, context.callId, effect);
        if (seat.closing)
          seat.referee.breach("L4", seat.session, `${context.callId} is entered by whoever only closes`);
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

/** Some are missing, always the same ones; and as drawn, any may be late, or never come, or be no word at all. */
function snapshotter({ world: { random }, process, settings, wild }: ModelSeat): Snapshotter {
  return {
    take: ({ step }) => {
      if (settings.snapshotFault > 0 && wild() && random.chance(settings.snapshotFault)) {
        const late = random.pick([0, 1_500, 70_000, Number.POSITIVE_INFINITY]);
        if (late === Number.POSITIVE_INFINITY) return new Promise(() => {});
        if (late > 0)
          return new Promise((resolve) => process.after(late, "snapshot", () => resolve(`files at ${step}`)));
        return Promise.resolve(7 as unknown as string);
      }
      return step.endsWith("3") ? Promise.reject(new Error("no room")) : Promise.resolve(`files at ${step}`);
    },
  };
}

/** What a session is driven with. */
export function simulatedAgent(seat: ModelSeat): Agent {
  const { settings } = seat;
  const tools = workshop(seat);
  return {
    ...agentWith(seat),
    tools: settings.tasks > 0 ? { ...tools, task: simulatedTask(seat, agentOfChild) } : tools,
  };
}

/** A child has no children of its own. */
function agentOfChild(seat: ModelSeat): Agent {
  return { ...agentWith(seat), tools: workshop(seat) };
}

function agentWith(seat: ModelSeat): Agent {
  const { world, settings, wild } = seat;
  return {
    model: simulatedModel(seat),
    stepsPerTurn: 6,
    eagerReads: settings.eager,
    afterAbort: settings.returning ? "return" : "keep",
    recovery: { preset: settings.preset },
    toolGraceMs: 2_000,
    permission: ({ effect }) =>
      wild() && effect !== "read" && world.random.chance(settings.approval) ? "ask" : "allow",
    ...(settings.noSnapshots > 0 ? {} : { snapshot: snapshotter(seat) }),
    ...(settings.strictSnapshots > 0 ? { withoutSnapshot: "stop" as const } : {}),
    unanswered: "wait",
    approvalMs: 20_000,
    ...(settings.compaction > 0 ? { windowTokens: 1_500 } : {}),
  };
}
