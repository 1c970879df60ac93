/**
 * One physical request, from dispatch to a verdict.
 *
 * Owns: the order of evidence at the end of an attempt. Does not own: reading (reading), judging (verdict), recording,
 * recovery, tools. Invariants:
 * 1. It always returns, whatever the model does: throws, hangs, ignores its signal (L6).
 * 2. Our own abort is recognised by its signal, our own deadline by its watchdog, only then the error's own words count.
 * 3. What the stream does after the terminal frame is a note (the attempt stays good).
 */
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
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
}

export interface AttemptResult {
  /** Undefined: the attempt is good. */
  failure?: Failure;
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
  const failure = await failureOf(reading, assembler);
  reading.stop();
  const { exposure } = assembler;
  exposure.terminal = assembler.finish !== undefined && assembler.errors.length === 0 && isEnd(assembler.finish);
  // A request that was refused with a status has moved nothing; of any other we cannot know.
  if (advancesServer(request.options.providerOptions) && (failure?.status ?? 0) < 400) exposure.serverState = true;
  assembler.seal();
  const { notes } = reading;
  return {
    ...(failure ? { failure } : {}),
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

async function failureOf(reading: Reading, assembler: Assembler): Promise<Failure | undefined> {
  try {
    await reading.into(assembler);
  } catch (error) {
    if (reading.aborted || !assembler.terminal) return reading.failureOf(error);
  }
  // A package that ends without a finish, or breaks, behind the terminal frame: the frame is the protocol's own word.
  if (assembler.terminal && assembler.errors.length === 0 && !isEnd(assembler.finish)) {
    assembler.finish = undefined;
    assembler.closeBy(assembler.terminal);
  }
  return verdict(assembler, reading.circumstances);
}

/** Whether a finish came from the other side; packages invent the rest at the end of a stream. */
function isEnd(finish: Finish | undefined): boolean {
  return finish !== undefined && finish.reason !== "interrupted" && finish.reason !== "error";
}
