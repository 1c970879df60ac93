/**
 * One call of a recovered model: attempts until one is good, or until recovery says stop.
 *
 * Owns: the order of attempts, waits and what is handed on. Does not own: a single request (run), what leaves when
 * (outlet), what a failure leads to (decide). Invariants:
 * 1. What a consumer was given and cannot give back is never asked for again: `discard` is a stop here.
 * 2. It ends once: with the finish of a good attempt, an error, or the consumer's own abort.
 * 3. After an abort no request is made, and none is left open.
 */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import type { Effects } from "../effects.ts";
import type { AttemptEnded } from "../log/event.ts";
import type { Decision, Exposure, Failure } from "../log/value.ts";
import { silentSink } from "./assemble.ts";
import { decide } from "./decide.ts";
import { estimateUsage } from "./estimate.ts";
import { ModelCallFailed } from "./model-call-failed.ts";
import { type HoldBack, Outlet } from "./outlet.ts";
import { pause } from "./pause.ts";
import type { RecoveryPolicy } from "./policy.ts";
import { type AttemptResult, runAttempt, type StreamTap } from "./run.ts";
import type { WatchPolicy } from "./watchdog.ts";

/** How one attempt of a call ended. `usage` counts that request alone. */
export interface AttemptReport
  extends Pick<
    AttemptEnded,
    "attempt" | "exposure" | "failure" | "decision" | "usage" | "firstPartMs" | "durationMs" | "notes"
  > {
  /** The number of this attempt in its call, from 1. */
  number: number;
  /** `committed`: handed on whole. `sealed`: its reasoning was shown and closed. `discarded`: none of it was seen. */
  end: "committed" | "sealed" | "discarded" | "failed";
}

export interface CallRules {
  effects: Effects;
  policy: RecoveryPolicy;
  watch: WatchPolicy;
  holdBack: HoldBack;
  onAttempt(report: AttemptReport): unknown;
}

export class RecoveredCall {
  readonly #model: LanguageModelV4;
  readonly #options: LanguageModelV4CallOptions;
  readonly #rules: CallRules;
  readonly #abort = new AbortController();
  readonly #opened = Promise.withResolvers<LanguageModelV4StreamResult>();
  readonly #stream: ReadableStream<LanguageModelV4StreamPart>;
  readonly #outlet: Outlet;
  readonly #startedAt: number;
  #consumer: ReadableStreamDefaultController<LanguageModelV4StreamPart> | undefined;
  /** What the package said of the request that is open: its body, the response's headers. */
  #about: Omit<LanguageModelV4StreamResult, "stream"> = {};
  #handedOn = false;
  #attempts = 0;
  #seals = 0;

  constructor(model: LanguageModelV4, options: LanguageModelV4CallOptions, rules: CallRules) {
    this.#model = model;
    this.#options = options;
    this.#rules = rules;
    this.#startedAt = rules.effects.clock.monotonic();
    this.#outlet = new Outlet(rules.holdBack, options.includeRawChunks === true, (part) => this.#handOn(part));
    // What a slow consumer has not read waits here, as long as an answer may be: left unread in the connection, it would
    // look like a silent provider.
    this.#stream = new ReadableStream({
      start: (controller) => {
        this.#consumer = controller;
      },
      cancel: (reason) => {
        this.#consumer = undefined;
        this.#abort.abort(reason);
      },
    });
  }

  /** Resolves once something is handed on, with that request's own particulars; rejects where nothing ever is. */
  open(): Promise<LanguageModelV4StreamResult> {
    this.#run().catch((error) => this.#fail(error));
    return this.#opened.promise;
  }

  async #run(): Promise<void> {
    const { abortSignal } = this.#options;
    const follow = () => this.#abort.abort(abortSignal?.reason);
    if (abortSignal?.aborted) follow();
    abortSignal?.addEventListener("abort", follow, { once: true });
    try {
      while (!(await this.#attempt()));
    } finally {
      abortSignal?.removeEventListener("abort", follow);
    }
  }

  /** Makes one attempt and what follows from it. Returns whether the call is over; throws what it failed with. */
  async #attempt(): Promise<boolean> {
    const { effects, watch } = this.#rules;
    const { signal } = this.#abort;
    signal.throwIfAborted();
    const attempt = effects.id("a");
    this.#attempts += 1;
    this.#outlet.begin(attempt);
    const result = await runAttempt(
      { attempt, model: this.#model, options: this.#options, signal, watch, sink: silentSink, tap: this.#tap },
      effects,
    );
    const { failure } = result;
    if (!failure) {
      this.#outlet.complete(result);
      this.#tell(attempt, "committed", result);
      this.#close();
      return true;
    }
    const exposure = this.#exposureOf(result);
    const decision = this.#decide(exposure, failure);
    const { action } = decision;
    this.#tell(attempt, action === "seal" ? "sealed" : action === "stop" ? "failed" : "discarded", result, decision);
    if (failure.kind === "aborted") throw signal.reason;
    if (action === "stop")
      throw new ModelCallFailed({ failure, decision, exposure, attempts: this.#attempts }, result.error);
    if (action === "seal") {
      this.#outlet.seal();
      this.#seals += 1;
    }
    await pause(this.#rules.effects.timers, decision.delayMs, this.#abort.signal);
    return false;
  }

  readonly #tap: StreamTap = {
    opened: ({ stream: _, ...about }) => {
      this.#about = about;
    },
    part: (part, voided) => {
      if (!voided) this.#outlet.push(part);
    },
  };

  /** What the consumer was given, and what the request did elsewhere, whoever was given what. */
  #exposureOf({ exposure }: AttemptResult): Exposure {
    const { providerWrite, serverState, terminal } = exposure;
    return { ...this.#outlet.exposure, providerWrite, serverState, terminal };
  }

  #decide(exposure: Exposure, failure: Failure): Decision {
    const { effects, policy } = this.#rules;
    const now = effects.clock.now();
    const spent = {
      attemptsOfStep: this.#attempts,
      attemptsOfTurn: this.#attempts,
      sealsOfStep: this.#seals,
      compactionsOfStep: 0,
      stripped: false,
      elapsedMsOfTurn: effects.clock.monotonic() - this.#startedAt,
    };
    return irrevocably(decide(exposure, failure, policy, spent, { now, jitter: effects.random() }));
  }

  #tell(attempt: string, end: AttemptReport["end"], result: AttemptResult, decision?: Decision): void {
    const { failure, usage, firstPartMs, durationMs, notes } = result;
    const report: AttemptReport = {
      attempt,
      number: this.#attempts,
      end,
      exposure: this.#exposureOf(result),
      ...(failure ? { failure } : {}),
      ...(decision ? { decision } : {}),
      usage: usage.measure === "unknown" ? estimateUsage(this.#options, result.parts) : usage,
      ...(firstPartMs === undefined ? {} : { firstPartMs }),
      durationMs,
      ...(notes ? { notes } : {}),
    };
    // Whoever keeps the books must not cost the answer, at once or later.
    void (async () => this.#rules.onAttempt(report))().catch(() => {});
  }

  #handOn(part: LanguageModelV4StreamPart): void {
    if (!this.#handedOn) this.#opened.resolve({ ...this.#about, stream: this.#stream });
    this.#handedOn = true;
    this.#consumer?.enqueue(part);
  }

  #close(): void {
    this.#consumer?.close();
    this.#consumer = undefined;
  }

  #fail(error: unknown): void {
    this.#opened.reject(error);
    if (!this.#abort.signal.aborted) {
      this.#consumer?.enqueue({ type: "error", error });
      return this.#close();
    }
    // As provider packages end a stream whose signal was aborted.
    this.#consumer?.error(error);
    this.#consumer = undefined;
  }

  /** Waits, or is told that nobody waits any more. */
}

/** The table's word, where nothing can be taken back and a request is the caller's to change. */
function irrevocably(decision: Decision): Decision {
  const { action, at } = decision;
  const stop = (reason: string): Decision => ({ action: "stop", delayMs: 0, at, reason });
  switch (action) {
    case "discard":
      return stop("output was let out, and its consumer cannot take it back");
    case "compact":
      return stop("the request is too large, and only its caller can make it smaller");
    case "strip":
      return stop("the provider refuses replayed state, and only the caller can leave it out");
    case "retry":
    case "seal":
    case "stop":
      return decision;
  }
}
