/**
 * From facts to traces and measurements: one pure fold, so that a turn watched live and its log read later tell the same.
 *
 * Owns: what is told, and when. Does not own: tracers and meters (telling them: sink). Invariants:
 * 1. A trace is told once, whole, by the fact that ends its turn: a crash in between leaves no half of it.
 * 2. What began in another session (a fork's parent) is that session's to tell.
 * 3. The state holds one turn at most.
 */
import type { Fold, LogEntry, Part } from "@pawl/core";
import { attemptEnded, attemptStarted, messageCommitted } from "./attempt.ts";
import type { Measurement } from "./convention.ts";
import { addMoment, measure, type OpenTurn, type Telling } from "./open-turn.ts";
import type { TurnTrace } from "./span.ts";
import { approvalRequested, approvalResolved, endCalls, toolEntered, toolSettled } from "./tool.ts";
import { beginTurn, driveChanged, endTurn, traceOf } from "./turn.ts";
import { tick } from "./turn-clock.ts";

export interface FoldOptions {
  /** The session whose log this is. */
  session: string;
  /** Name of the agent, for `gen_ai.agent.name`. */
  agent?: string;
  /** Whether prompts, answers, arguments, results and error messages are told; default `omit`. */
  content?: "omit" | "record";
}

export type Said = { type: "trace"; trace: TurnTrace } | { type: "measure"; measurement: Measurement };

export interface TelemetryState {
  open: OpenTurn | undefined;
  /** Inputs that no turn has claimed yet. Empty unless content is recorded. */
  inputs: Map<string, readonly Part[]>;
  /** What the last entry has given. */
  said: Said[];
}

export function telemetryFold(options: FoldOptions): Fold<TelemetryState> {
  return {
    init: () => ({ open: undefined, inputs: new Map(), said: [] }),
    step(state, entry) {
      state.said = [];
      if (entry.session !== options.session) return state;
      if (options.content === "record" && entry.event.type === "input.accepted")
        state.inputs.set(entry.event.input, entry.event.content);
      if (entry.event.type === "turn.started") {
        const { inputs } = entry.event;
        state.open = beginTurn(
          entry.event,
          entry,
          inputs.flatMap((input) => [state.inputs.get(input) ?? []]),
          options,
        );
        state.inputs.clear();
      } else if (state.open) {
        if (tell(state, state.open, entry, options)) state.open = undefined;
      } else if (entry.event.type === "context.compacted") {
        measure(state, "pawl.compactions", 1, { "pawl.compaction.by": entry.event.by ?? "summary" });
      }
      return state;
    },
  };
}

/** The turn that is open, as far as it has come: for a log that nobody goes on with. The state is spent. */
export function openTrace({ open }: TelemetryState, options: FoldOptions): TurnTrace | undefined {
  if (!open) return undefined;
  open.seenAt = open.clock.now;
  // As a next driver would, and nothing is counted.
  const telling: Telling = { open, options, epoch: open.epoch + 1, said: [] };
  for (const attempt of open.attempts.keys())
    attemptEnded(telling, { attempt, end: "interrupted", usage: { measure: "unknown" }, durationMs: 0 });
  endCalls(telling);
  open.root.error = { type: "interrupted" };
  return traceOf(open, options, "open");
}

/** Whether the turn has ended. */
function tell(state: TelemetryState, open: OpenTurn, entry: LogEntry, options: FoldOptions): boolean {
  const { event, epoch, time } = entry;
  const telling: Telling = { open, options, epoch, said: state.said };
  const before = open.clock.now;
  tick(open.clock, time, measuredEnd(open, entry));
  if (epoch > open.epoch) {
    open.seenAt = before;
    open.epoch = epoch;
    driveChanged(telling);
  }
  switch (event.type) {
    case "step.started":
      open.steps.set(event.step, event.number);
      break;
    case "attempt.started":
      attemptStarted(telling, event);
      break;
    case "attempt.ended":
      attemptEnded(telling, event);
      break;
    case "message.committed":
      messageCommitted(telling, event);
      break;
    case "approval.requested":
      approvalRequested(telling, event);
      break;
    case "approval.resolved":
      approvalResolved(telling, event);
      break;
    case "tool.entered":
      toolEntered(telling, event);
      break;
    case "tool.settled":
      toolSettled(telling, event);
      break;
    case "context.compacted":
      compacted(telling, event.by ?? "summary", event.tokensBefore, event.tokensAfter);
      break;
    case "provider-state.stripped":
      addMoment(telling, "pawl.provider_state.stripped", { "pawl.provider": event.provider });
      break;
    case "turn.ended":
      endTurn(telling, event);
      return true;
    default:
      break;
  }
  return false;
}

/** Where what took a measured time has ended by that measure, whatever the clock says. */
function measuredEnd(open: OpenTurn, { event, epoch }: LogEntry): number | undefined {
  if (event.type !== "attempt.ended" && event.type !== "tool.settled") return undefined;
  const began = event.type === "attempt.ended" ? open.attempts.get(event.attempt) : open.calls.get(event.call)?.body;
  return began?.epoch === epoch && event.durationMs !== undefined ? began.start + event.durationMs : undefined;
}

function compacted(telling: Telling, by: string, before: number | undefined, after: number | undefined): void {
  addMoment(telling, "pawl.compaction", {
    "pawl.compaction.by": by,
    "pawl.compaction.tokens_before": before,
    "pawl.compaction.tokens_after": after,
  });
  measure(telling, "pawl.compactions", 1, { "pawl.compaction.by": by });
}
