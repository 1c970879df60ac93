/** Logs by hand, for laws and folds: events get their envelope, the tedious fields their plainest value. */
import { noExposure } from "../src/attempt/exposure.ts";
import type { LogEntry } from "../src/log/envelope.ts";
import type { CallPart, EventOf, LogEvent, MessagePart, ToolOutput } from "../src/log/event.ts";
import type { RequestHeader } from "../src/log/value.ts";
import { testModel } from "./turn-world.ts";

export function logOf(events: readonly LogEvent[], session = "s"): LogEntry[] {
  return events.map((event, index) => ({ session, seq: index + 1, epoch: 1, time: index, event }));
}

export const header: RequestHeader = { model: testModel, tools: [] };

export function input(id: string, text = id): LogEvent {
  return { type: "input.accepted", input: id, kind: "prompt", content: [{ type: "text", text }] };
}

export function turnStarted(turn: string, ...inputs: string[]): LogEvent {
  return { type: "turn.started", turn, inputs };
}

export function turnEnded(turn: string): LogEvent {
  return { type: "turn.ended", turn, outcome: { type: "completed" } };
}

export function stepStarted(step: string, turn: string, number: number): LogEvent {
  return { type: "step.started", step, turn, number, ...(number === 1 ? { header } : {}) };
}

export function stepEnded(step: string): LogEvent {
  return { type: "step.ended", step };
}

export function attemptStarted(attempt: string, step: string, number = 1): LogEvent {
  return { type: "attempt.started", attempt, step, number, purpose: "step", model: testModel };
}

export function attemptEnded(attempt: string, rest: Partial<EventOf<"attempt.ended">> = {}): LogEvent {
  return {
    type: "attempt.ended",
    attempt,
    end: "committed",
    exposure: noExposure(),
    usage: { measure: "unknown" },
    durationMs: 0,
    ...rest,
  };
}

export function committed(attempt: string, ...parts: MessagePart[]): LogEvent {
  return { type: "message.committed", attempt, parts, finish: { reason: "stop" }, model: testModel };
}

export function text(id: string, words = "words"): MessagePart {
  return { type: "text", id, text: words };
}

export function callPart(id: string, providerId = id, rest: Partial<CallPart> = {}): CallPart {
  return { type: "tool-call", id, providerId, tool: "act", input: "{}", ...rest };
}

export function entered(call: string, rest: Partial<EventOf<"tool.entered">> = {}): LogEvent {
  return { type: "tool.entered", call, tool: "act", digest: "", effect: "write", key: call, ...rest };
}

export function settled(call: string, words = "ok"): LogEvent {
  const output: ToolOutput = { content: [{ type: "text", text: words }], isError: false };
  return { type: "tool.settled", call, output, by: "tool" };
}

/** A whole turn of one step with these calls, all settled. */
export function turnOf(n: number, ...calls: CallPart[]): LogEvent[] {
  const [turn, step, attempt] = [`t${n}`, `st${n}`, `a${n}`];
  return [
    input(`in${n}`),
    turnStarted(turn, `in${n}`),
    stepStarted(step, turn, 1),
    attemptStarted(attempt, step),
    attemptEnded(attempt),
    committed(attempt, text(`${attempt}-1`), ...calls),
    ...calls.flatMap(({ id }) => [entered(id), settled(id)]),
    stepEnded(step),
    turnEnded(turn),
  ];
}
