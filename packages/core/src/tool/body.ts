/**
 * One run of one tool body, from entry to its result.
 *
 * Owns: deadline, abort, grace, what a throw or a return value becomes. Does not own: whether the body may run (the
 * dispatcher), recording. It always ends: a body that ignores its signal is abandoned after a grace.
 */
import type { Effects } from "../effects.ts";
import type { Json, SettledBy, ToolOutput } from "../log/event.ts";
import { thrownText } from "./output.ts";
import type { PreparedTool } from "./prepare.ts";
import { type WholeOutput, wholeOf, wholeOfModel } from "./returned.ts";
import { codedOutput } from "./settle.ts";

export interface BodyRun {
  prepared: PreparedTool;
  input: unknown;
  session: string;
  callId: string;
  idempotencyKey: string;
  /** The turn's abort. */
  signal: AbortSignal;
  graceMs: number;
  progress(data: Json): void;
  /** What the model is told of it. */
  tell(whole: WholeOutput): ToolOutput | Promise<ToolOutput>;
  /** Hears of a body that ended after it was abandoned. */
  late(output: ToolOutput): void;
}

export interface BodyEnd {
  output: ToolOutput;
  by: Extract<SettledBy, "tool" | "abandoned">;
  durationMs: number;
}

export function runBody(run: BodyRun, effects: Effects): Promise<BodyEnd> {
  const { promise, resolve } = Promise.withResolvers<BodyEnd>();
  const startedAt = effects.clock.monotonic();
  const controller = new AbortController();
  let settled = false;
  let cancelGrace: (() => void) | undefined;

  const settle = (output: ToolOutput, by: BodyEnd["by"]) => {
    if (settled) return run.late(output);
    settled = true;
    cancelDeadline?.();
    cancelGrace?.();
    run.signal.removeEventListener("abort", onAbort);
    resolve({ output, by, durationMs: effects.clock.monotonic() - startedAt });
  };
  const interrupt = (reason: unknown) => {
    if (controller.signal.aborted) return;
    cancelGrace = effects.timers.after(run.graceMs, () => settle(codedOutput("TOOL_ABANDONED"), "abandoned"));
    controller.abort(reason);
  };
  const onAbort = () => interrupt(run.signal.reason);
  const { timeoutMs } = run.prepared;
  const cancelDeadline =
    timeoutMs > 0
      ? effects.timers.after(timeoutMs, () =>
          interrupt(new DOMException(`no result within ${timeoutMs / 1000} s`, "TimeoutError")),
        )
      : undefined;
  run.signal.addEventListener("abort", onAbort, { once: true });
  if (run.signal.aborted) onAbort();

  // What a body says after its call was settled goes to nobody: the call is over.
  const progress = (data: Json) => {
    if (!settled) run.progress(data);
  };
  execute({ ...run, progress }, controller.signal).then(
    (output) => settle(output, "tool"),
    (error) => settle(thrown(error, run.signal, controller.signal), "tool"),
  );
  return promise;
}

/** Async, so that a body which throws at once is a rejected promise like any other. */
async function execute(run: BodyRun, signal: AbortSignal): Promise<ToolOutput> {
  const { tool } = run.prepared;
  const returned = tool.execute?.(run.input, {
    signal,
    session: run.session,
    callId: run.callId,
    idempotencyKey: run.idempotencyKey,
    progress: run.progress,
    abortSignal: signal,
    toolCallId: run.callId,
    messages: [],
    context: {},
  });
  const awaited = await returned;
  const value = isAsyncIterable(awaited) ? await lastOf(awaited, run.progress) : awaited;
  if (tool.toModelOutput) {
    const told = await tool.toModelOutput({ toolCallId: run.callId, input: run.input, output: value });
    return run.tell(wholeOfModel(told));
  }
  return run.tell(wholeOf(value));
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** The AI SDK's streaming tools: each value replaces the one before, the last is the result. */
async function lastOf(values: AsyncIterable<unknown>, progress: (data: Json) => void): Promise<unknown> {
  let last: unknown;
  for await (const value of values) {
    last = value;
    progress(value as Json);
  }
  return last;
}

function thrown(error: unknown, turn: AbortSignal, own: AbortSignal): ToolOutput {
  const text = thrownText(error);
  if (turn.aborted) return codedOutput("TOOL_ABORTED", text === "" ? undefined : `stopped on request. ${text}`);
  if (own.aborted)
    return codedOutput(
      "TOOL_TIMEOUT",
      `${thrownText(own.reason)}; it was stopped, part of its effect may be there. ${text}`,
    );
  return codedOutput("TOOL_FAILED", text === "" ? "the tool failed without a message" : text);
}
