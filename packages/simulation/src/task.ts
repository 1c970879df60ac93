/** A tool that gives a task to another agent: the core's own, with a child whose every effect the referee sees. */
import { type Agent, type TaskInput, type Tool, taskTool } from "@pawl/core";
import type { ModelSeat } from "./model.ts";

export function simulatedTask(seat: ModelSeat, agentOf: (seat: ModelSeat) => Agent): Tool<TaskInput> {
  /** Which child it is, is known once its body has begun: a tool for each run. */
  const toolFor = (child: ModelSeat) =>
    taskTool({
      runtime: seat.process.runtime,
      agents: { other: { description: "looks into it", agent: agentOf(child), workspace: "writes" } },
    });
  const tool = toolFor(seat);
  return {
    ...tool,
    execute: (input, context) => {
      seat.referee.entered(seat.session, context.callId, "idempotent");
      if (seat.closing) seat.referee.breach("L4", seat.session, "a task is given by whoever only closes");
      const child: ModelSeat = { ...seat, session: "" };
      const progress: typeof context.progress = (data) => {
        const { session } = data as { session?: string };
        if (session !== undefined && child.session === "") {
          child.session = session;
          seat.referee.witness.task(seat.session, context.callId, session);
        }
        context.progress(data);
      };
      return toolFor(child).execute?.(input, { ...context, progress });
    },
  };
}
