/**
 * Calls: a span from entry to result, none for a call that was never entered. Waiting for a person is a span of its own, so
 * that it does not look like the tool's time.
 */
import type { EventOf } from "@pawl/core";
import { cut, resultText } from "./content.ts";
import { addChild, addMoment, measure, type OpenCall, type OpenTurn, type Telling } from "./open-turn.ts";
import type { SpanShape } from "./span.ts";

export function approvalRequested({ open }: Telling, event: EventOf<"approval.requested">): void {
  open.approvals.set(event.approval, { call: event.call, at: open.clock.now });
}

export function approvalResolved(telling: Telling, { approval, answer, scope }: EventOf<"approval.resolved">): void {
  endQuestion(telling, approval, answer, scope);
}

function endQuestion(telling: Telling, approval: string, answer: string, scope?: string): void {
  const { open, options } = telling;
  const asked = open.approvals.get(approval);
  // A second record of an approval takes a standing answer back: nobody waited for it.
  if (!asked) return;
  open.approvals.delete(approval);
  const call = open.calls.get(asked.call);
  const waited = open.clock.now - asked.at;
  if (call) call.approvalMs += waited;
  const tool = call?.tool ?? "unknown";
  addChild(open, {
    id: approval,
    name: `pawl.approval ${tool}`,
    kind: "internal",
    start: asked.at,
    end: open.clock.now,
    attributes: {
      "gen_ai.conversation.id": options.session,
      "gen_ai.tool.name": tool,
      "gen_ai.tool.call.id": asked.call,
      "pawl.turn.id": open.started.turn,
      "pawl.approval.answer": answer,
      "pawl.approval.scope": scope,
    },
    moments: [],
  });
  measure(telling, "pawl.approval.duration", waited / 1000, {
    "gen_ai.tool.name": tool,
    "pawl.approval.answer": answer,
  });
}

export function toolEntered(telling: Telling, event: EventOf<"tool.entered">): void {
  const { open, epoch, options } = telling;
  const call: OpenCall = open.calls.get(event.call) ?? { tool: event.tool, approvalMs: 0, entries: 0 };
  // Entered again: the body before died with its driver.
  endBody(telling, event.call, call);
  call.entries += 1;
  call.body = { start: open.clock.now, epoch, effect: event.effect, entry: call.entries };
  if (options.content === "record" && event.input !== undefined) call.input = event.input;
  open.calls.set(event.call, call);
}

export function toolSettled(telling: Telling, event: EventOf<"tool.settled">): void {
  const { open, epoch } = telling;
  const { output, by, durationMs } = event;
  for (const [approval, asked] of open.approvals) if (asked.call === event.call) endQuestion(telling, approval, "none");
  const call = open.calls.get(event.call);
  if (!call) return;
  const error = output.isError ? (output.code ?? "TOOL_FAILED") : undefined;
  measure(telling, "pawl.tool.settlements", 1, {
    "gen_ai.tool.name": call.tool,
    "pawl.tool.settled_by": by,
    ...(output.code === undefined ? {} : { "pawl.tool.code": output.code }),
    ...(call.body ? { "pawl.tool.effect": call.body.effect } : {}),
  });
  open.elapsedMs += durationMs ?? 0;
  if (call.body) {
    const measured = durationMs !== undefined && call.body.epoch === epoch;
    endBody(telling, event.call, call, { event, error, ...(measured ? { durationMs } : {}) });
  } else {
    addMoment(telling, "pawl.tool.not_entered", {
      "gen_ai.tool.name": call.tool,
      "gen_ai.tool.call.id": event.call,
      "pawl.tool.settled_by": by,
      "pawl.tool.code": output.code,
    });
  }
  open.calls.delete(event.call);
}

/** What is still open when its turn ends. */
export function endCalls(telling: Telling): void {
  const { open } = telling;
  for (const approval of open.approvals.keys()) endQuestion(telling, approval, "none");
  for (const [id, call] of open.calls) endBody(telling, id, call);
}

interface BodyEnd {
  event: EventOf<"tool.settled">;
  error: string | undefined;
  durationMs?: number;
}

function endBody(telling: Telling, id: string, call: OpenCall, how?: BodyEnd): void {
  const { open, epoch, options } = telling;
  const { body } = call;
  if (!body) return;
  delete call.body;
  const error = how ? how.error : "interrupted";
  const span: SpanShape = {
    id: `${id}/${body.entry}`,
    name: `execute_tool ${call.tool}`,
    kind: "internal",
    start: body.start,
    end: bodyEnd(open, body, epoch, how?.durationMs),
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.conversation.id": options.session,
      "gen_ai.tool.name": call.tool,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": id,
      "pawl.turn.id": open.started.turn,
      "pawl.tool.provider_call_id": call.providerId,
      "pawl.tool.effect": body.effect,
      "pawl.tool.entry": body.entry,
      "pawl.tool.settled_by": how?.event.by,
      "pawl.tool.code": how?.event.output.code,
      "pawl.approval.wait_ms": call.approvalMs > 0 ? call.approvalMs : undefined,
    },
    moments: [],
    ...(error === undefined ? {} : { error: { type: error } }),
  };
  if (options.content === "record") {
    if (call.input !== undefined) span.attributes["gen_ai.tool.call.arguments"] = cut(call.input);
    if (how) span.attributes["gen_ai.tool.call.result"] = resultText(how.event.output.content);
  }
  addChild(open, span);
  if (how?.durationMs === undefined) return;
  measure(telling, "gen_ai.execute_tool.duration", how.durationMs / 1000, {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": call.tool,
    ...(error === undefined ? {} : { "error.type": error }),
  });
}

/** Nothing is known of a dead driver's body after that driver's last word: the time it was away is not the tool's. */
function bodyEnd(
  open: OpenTurn,
  body: { start: number; epoch: number },
  epoch: number,
  durationMs: number | undefined,
): number {
  if (durationMs !== undefined) return body.start + durationMs;
  return body.epoch === epoch ? open.clock.now : Math.max(body.start, open.seenAt);
}
