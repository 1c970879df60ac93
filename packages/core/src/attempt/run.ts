/**
 * One physical request, from dispatch to a verdict.
 *
 * Owns: the order of evidence at the end of an attempt. Does not own: reading (reading), judging (verdict), recording,
 * recovery, tools. Invariants:
 * 1. It always returns, whatever the model does: throws, hangs, ignores its signal (L6).
 * 2. Our own abort is recognised by its signal, our own deadline by its watchdog, only then the error's own words count.
 * 3. What the stream does after the terminal frame is a note (the attempt stays good).
 */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import type { Effects } from "../effects.ts";
import type { MessagePart } from "../log/event.ts";
import type { Exposure, Failure, Usage } from "../log/value.ts";
import { Assembler, type PartSink } from "./assemble.ts";
import { advancesServer } from "./exposure.ts";
import { Reading } from "./reading.ts";
import type { Finish } from "./terminal.ts";
import { verdict } from "./verdict.ts";
import type { WatchPolicy } from "./watchdog.ts";

export interface AttemptRequest {
  attempt: string;
  model: LanguageModelV4;
  options: LanguageModelV4CallOptions;
  /** The turn's abort. */
  signal: AbortSignal;
  watch: WatchPolicy;
  sink: PartSink;
  tap?: StreamTap;
}

/** Sees the stream itself, for whoever hands it on. Calls are synchronous and must not throw. */
export interface StreamTap {
  opened(result: LanguageModelV4StreamResult): void;
  /** Each part once the message has it. `voided`: an error part came before it, or is it. */
  part(part: LanguageModelV4StreamPart, voided: boolean): void;
}

export interface AttemptResult {
  /** Undefined: the attempt is good. */
  failure?: Failure;
  /** What the failure was read from, as it was thrown or came; absent where only we noticed. Never for a log. */
  error?: unknown;
  parts: MessagePart[];
  exposure: Exposure;
  finish?: Finish;
  usage: Usage;
  responseId?: string;
  firstPartMs?: number;
  durationMs: number;
  /** What the wire did behind the answer: for people. */
  notes?: string[];
}

export async function runAttempt(request: AttemptRequest, effects: Effects): Promise<AttemptResult> {
  const assembler = new Assembler(request.attempt, request.sink);
  const reading = new Reading(request, effects);
  const startedAt = effects.clock.monotonic();
  const { failure, error } = await endOf(reading, assembler);
  reading.stop();
  const { exposure } = assembler;
  exposure.terminal = assembler.finish !== undefined && assembler.errors.length === 0 && isEnd(assembler.finish);
  // A request that was refused with a status has moved nothing; of any other we cannot know.
  if (advancesServer(request.options.providerOptions) && (failure?.status ?? 0) < 400) exposure.serverState = true;
  assembler.seal();
  const { notes } = reading;
  return {
    ...(failure ? { failure } : {}),
    ...(error === undefined ? {} : { error }),
    parts: assembler.parts,
    exposure,
    ...(assembler.finish ? { finish: assembler.finish } : {}),
    usage: assembler.usage,
    ...(assembler.responseId === undefined ? {} : { responseId: assembler.responseId }),
    ...(reading.firstPartAt === undefined ? {} : { firstPartMs: reading.firstPartAt - startedAt }),
    durationMs: effects.clock.monotonic() - startedAt,
    ...(notes.length > 0 ? { notes } : {}),
  };
}

async function endOf(reading: Reading, assembler: Assembler): Promise<Pick<AttemptResult, "failure" | "error">> {
  try {
    await reading.into(assembler);
  } catch (error) {
    // An error part has told why the answer is void, whatever the stream does behind it.
    if (reading.aborted || (!assembler.terminal && assembler.errors.length === 0)) {
      return { failure: reading.failureOf(error), ...(reading.isCut ? {} : { error }) };
    }
  }
  // A package that ends without a finish, or breaks, behind the terminal frame: the frame is the protocol's own word.
  if (assembler.terminal && assembler.errors.length === 0 && !isEnd(assembler.finish)) {
    assembler.finish = undefined;
    assembler.closeBy(assembler.terminal);
  }
  const failure = verdict(assembler, reading.circumstances);
  return failure ? { failure, error: assembler.errors[0] } : {};
}

/** Whether a finish came from the other side; packages invent the rest at the end of a stream. */
function isEnd(finish: Finish | undefined): boolean {
  return finish !== undefined && finish.reason !== "interrupted" && finish.reason !== "error";
}
