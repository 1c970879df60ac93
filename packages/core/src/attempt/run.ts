/**
 * One physical request, from dispatch to a verdict.
 *
 * Owns: reading the stream, its deadlines, its abort. Does not own: recording, recovery, tools. Invariants:
 * 1. It always returns, whatever the model does: throws, hangs, ignores its signal (L6).
 * 2. Good means: a finish with a reason that is an answer, no error part before it, and something delivered.
 * 3. What the stream does after that finish is a note (the attempt stays good).
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Effects } from "../effects.ts";
import type { MessagePart } from "../log/event.ts";
import type { Detector, Exposure, Failure, Usage } from "../log/value.ts";
import { Assembler, type Finish, type PartSink } from "./assemble.ts";
import { classify, failureOf } from "./failure.ts";
import { Watchdog, type WatchPolicy } from "./watchdog.ts";

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
}

/** How long a finished stream may take to close before its connection is given up, ms. Closing keeps it reusable. */
const drainMs = 1_000;

export async function runAttempt(request: AttemptRequest, effects: Effects): Promise<AttemptResult> {
  const assembler = new Assembler(request.attempt, request.sink);
  const reading = new Reading(request, effects);
  const startedAt = effects.clock.monotonic();
  let failure: Failure | undefined;
  try {
    await reading.into(assembler);
    failure = verdict(assembler, effects);
  } catch (error) {
    failure = reading.failureOf(error, effects);
  } finally {
    reading.stop();
  }
  if (!failure) assembler.exposure.terminal = true;
  assembler.seal();
  return {
    ...(failure ? { failure } : {}),
    parts: assembler.parts,
    exposure: assembler.exposure,
    ...(assembler.finish ? { finish: assembler.finish } : {}),
    usage: assembler.usage,
    ...(assembler.responseId === undefined ? {} : { responseId: assembler.responseId }),
    ...(reading.firstPartAt === undefined ? {} : { firstPartMs: reading.firstPartAt - startedAt }),
    durationMs: effects.clock.monotonic() - startedAt,
  };
}

/** Judges a stream that ended by itself or finished. */
function verdict(assembler: Assembler, effects: Effects): Failure | undefined {
  const { errors, finish } = assembler;
  if (errors.length > 0) {
    const failure = classify(errors[0], { now: effects.clock.now(), streaming: true, detector: "error-part" });
    // Whatever a frame could not tell us, the stream is broken at it: parsing on is how half a call gets executed.
    return failure.kind === "unknown" && failure.retryable === false && !saysFinal(errors[0])
      ? { ...failure, kind: "stream-broken", retryable: true }
      : failure;
  }
  if (!finish) {
    const silent = !assembler.delivers() && assembler.usage.measure === "unknown" && assembler.parts.length === 0;
    return silent
      ? failureOf("empty", "the stream ended without any output", "end-of-stream")
      : failureOf("stream-broken", "the stream ended without a finish", "end-of-stream");
  }
  switch (finish.reason) {
    case "interrupted":
    case "error":
      return assembler.parts.length === 0 && assembler.usage.measure === "unknown"
        ? failureOf("empty", "the stream ended without any output", "end-of-stream")
        : failureOf("stream-broken", "the stream ended before its finish", "end-of-stream");
    case "other":
      return failureOf(
        "unknown",
        `the provider ended the answer with an unknown reason: ${finish.raw ?? "none given"}`,
        "terminal-frame",
      );
    case "content-filter":
      return assembler.delivers()
        ? undefined
        : failureOf("filtered", "the provider's filter withheld the answer", "terminal-frame");
    case "stop":
    case "length":
    case "tool-calls":
      return assembler.delivers()
        ? undefined
        : failureOf("empty", "the answer has no text and no tool call", "terminal-frame");
  }
}

function saysFinal(error: unknown): boolean {
  return error instanceof Error && (error as { isRetryable?: unknown }).isRetryable === false;
}

/** The stream of one attempt with everything that may cut it short. */
class Reading {
  firstPartAt: number | undefined;

  readonly #request: AttemptRequest;
  readonly #effects: Effects;
  readonly #controller = new AbortController();
  readonly #watchdog: Watchdog;
  readonly #cut: Promise<never>;
  #rejectCut: (reason: unknown) => void = () => {};
  #reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined;
  #answered = false;

  constructor(request: AttemptRequest, effects: Effects) {
    this.#request = request;
    this.#effects = effects;
    this.#cut = new Promise((_, reject) => {
      this.#rejectCut = reject;
    });
    this.#cut.catch(() => {});
    this.#watchdog = new Watchdog(effects, request.watch, () => this.#cutShort());
    request.signal.addEventListener("abort", this.#cutShort, { once: true });
  }

  async into(assembler: Assembler): Promise<void> {
    this.#request.signal.throwIfAborted();
    const { clock } = this.#effects;
    const opening = this.#request.model.doStream({ ...this.#request.options, abortSignal: this.#controller.signal });
    // A request that was cut short may still open: its stream must not stay behind unread.
    const { stream } = await Promise.race([Promise.resolve(opening), this.#cut]).catch((error) => {
      Promise.resolve(opening)
        .then(
          (late) => late.stream.cancel(),
          () => {},
        )
        .catch(() => {});
      throw error;
    });
    this.#answered = true;
    const reader = stream.getReader();
    this.#reader = reader;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const now = clock.monotonic();
      const progress = assembler.push(value);
      // `stream-start` is the package's own; it says nothing of the other side.
      if (value.type !== "stream-start") {
        this.firstPartAt ??= now;
        this.#watchdog.heard(now, progress);
      }
      if (assembler.finish) return this.#drain(reader);
    }
  }

  /** Own abort by the identity of our signal, own deadline by our watchdog, only then the error's own words. */
  failureOf(error: unknown, effects: Effects): Failure {
    if (this.#request.signal.aborted) return failureOf("aborted", "the turn was aborted", "runtime");
    if (this.#watchdog.expired !== undefined) {
      return failureOf(
        this.firstPartAt === undefined ? "connect" : "stream-broken",
        this.#watchdog.expired,
        "watchdog",
      );
    }
    const detector: Detector = this.#answered ? "socket" : "status";
    return classify(error, { now: effects.clock.now(), streaming: this.#answered, detector });
  }

  stop(): void {
    this.#watchdog.stop();
    this.#request.signal.removeEventListener("abort", this.#cutShort);
  }

  /** Frees a read that may never settle: releasing the lock rejects it. */
  #cutShort = (): void => {
    const reason = this.#request.signal.aborted
      ? this.#request.signal.reason
      : new DOMException("cut short", "AbortError");
    this.#controller.abort(reason);
    this.#rejectCut(reason);
    const reader = this.#reader;
    if (!reader) return;
    reader.cancel(reason).catch(() => {});
    reader.releaseLock();
  };

  /** Lets a finished stream close by itself, so that its connection can be used again; does not wait for it. */
  #drain(reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>): void {
    const giveUp = this.#effects.timers.after(drainMs, () => void reader.cancel().catch(() => {}));
    const readOn = async () => {
      for (;;) if ((await reader.read()).done) return;
    };
    readOn().then(giveUp, giveUp);
  }
}
