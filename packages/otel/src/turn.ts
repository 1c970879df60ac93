/** A turn: the `invoke_agent` span that holds all others, from its start to its end, whoever drove it. */
import type { EventOf, LogEntry, Outcome, Part } from "@pawl/core";
import { inputMessages } from "./content.ts";
import { modelAttributes } from "./convention.ts";
import type { FoldOptions } from "./fold.ts";
import { addMoment, measure, type OpenTurn, type Telling } from "./open-turn.ts";
import type { TurnTrace } from "./span.ts";
import { endCalls } from "./tool.ts";

export function beginTurn(
  event: EventOf<"turn.started">,
  { time, epoch }: LogEntry,
  inputs: readonly (readonly Part[])[],
  options: FoldOptions,
): OpenTurn {
  return {
    started: event,
    clock: { now: time, offset: 0 },
    epoch,
    seenAt: time,
    root: {
      id: event.turn,
      name: options.agent === undefined ? "invoke_agent" : `invoke_agent ${options.agent}`,
      kind: "internal",
      start: time,
      end: time,
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": options.session,
        "gen_ai.agent.name": options.agent,
        "pawl.turn.id": event.turn,
        "pawl.turn.continues": event.continues,
        "gen_ai.input.messages": options.content === "record" ? inputMessages(inputs) : undefined,
      },
      moments: [],
    },
    children: [],
    left: 0,
    steps: new Map(),
    attempts: new Map(),
    calls: new Map(),
    approvals: new Map(),
    elapsedMs: 0,
    requests: 0,
    drives: 1,
    tokens: { input: 0, output: 0, reported: false },
  };
}

/** An epoch that grows inside a turn: another drive goes on with it, or closes it. */
export function driveChanged(telling: Telling): void {
  telling.open.drives += 1;
  addMoment(telling, "pawl.takeover", { "pawl.epoch": telling.epoch });
  measure(telling, "pawl.takeovers", 1, {});
}

export function endTurn(telling: Telling, { outcome, failure }: EventOf<"turn.ended">): void {
  const { open, options, said } = telling;
  endCalls(telling);
  const error = isError(outcome) ? (failure?.kind ?? outcome.type) : undefined;
  const ends = { "pawl.turn.outcome": outcome.type, ...(error === undefined ? {} : { "error.type": error }) };
  if (error !== undefined) {
    const message = options.content === "record" ? failure?.message : undefined;
    open.root.error = { type: error, ...(message === undefined ? {} : { message }) };
  }
  said.push({ type: "trace", trace: traceOf(open, options, outcome.type) });
  measure(telling, "pawl.turns", 1, ends);
  measure(telling, "pawl.turn.elapsed", open.elapsedMs / 1000, ends);
}

/** The turn as far as it is known. */
export function traceOf(open: OpenTurn, { session }: FoldOptions, outcome: string): TurnTrace {
  const { root, tokens, started } = open;
  root.end = open.clock.now;
  Object.assign(root.attributes, {
    ...(open.model ? modelAttributes(open.model) : {}),
    ...(tokens.reported
      ? { "gen_ai.usage.input_tokens": tokens.input, "gen_ai.usage.output_tokens": tokens.output }
      : {}),
    "pawl.turn.outcome": outcome,
    "pawl.turn.elapsed_ms": open.elapsedMs,
    "pawl.turn.steps": open.steps.size,
    "pawl.turn.requests": open.requests,
    "pawl.turn.drives": open.drives,
    ...(open.left > 0 ? { "pawl.turn.spans_left_out": open.left } : {}),
  });
  return {
    session,
    turn: started.turn,
    ...(started.continues === undefined ? {} : { continues: started.continues }),
    root,
    children: open.children,
  };
}

/** A person's stop is no error. */
function isError(outcome: Outcome): boolean {
  return outcome.type !== "completed" && outcome.type !== "aborted";
}
