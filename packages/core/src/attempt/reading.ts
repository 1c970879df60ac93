/**
 * The stream of one attempt with everything that may cut it short: the turn's abort, the watchdog, the terminal frame.
 *
 * Owns: dispatch, the read loop, letting go of what will not end. Does not own: what a part means (assemble). Invariants:
 * 1. Every await is raced against the cut; nothing that belongs to the other side is awaited without a bound.
 * 2. A request that was cut short before it opened leaves no stream behind unread.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Effects } from "../effects.ts";
import { limit } from "../limit.ts";
import type { Failure } from "../log/value.ts";
import type { Assembler } from "./assemble.ts";
import { type Circumstances, classify, failureOf } from "./failure.ts";
import type { AttemptRequest } from "./run.ts";
import { Watchdog } from "./watchdog.ts";
import { Wire } from "./wire.ts";

type Reader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>;

/**
 * How long a whole answer may take to close before it is cut, ms: for usage that comes behind the terminal frame, and
 * because a stream that closes by itself leaves its connection usable.
 */
const drainMs = 1_000;

export class Reading {
  firstPartAt: number | undefined;

  readonly #request: AttemptRequest;
  readonly #effects: Effects;
  readonly #controller = new AbortController();
  readonly #watchdog: Watchdog;
  readonly #wire: Wire;
  /**
   * Packages look at `includeRawChunks` with every frame, so that it may change under way. It is no getter: an object made
   * with one keeps alive what that sees until the collector has gone through everything.
   */
  readonly #options: LanguageModelV4CallOptions;
  readonly #cut = Promise.withResolvers<never>();
  #reader: Reader | undefined;
  #answered = false;
  #endless = false;
  #cancelDrain: (() => void) | undefined;

  constructor(request: AttemptRequest, effects: Effects) {
    this.#request = request;
    this.#effects = effects;
    this.#cut.promise.catch(() => {});
    this.#watchdog = new Watchdog(effects, request.watch, () => this.#cutShort());
    this.#options = { ...request.options, abortSignal: this.#controller.signal, includeRawChunks: true };
    this.#wire = new Wire(this.#controller.signal, {
      framed: (framed) => this.#wantRaw(!framed),
      heard: () => this.#watchdog.heard(effects.clock.monotonic(), false),
      whole: () => this.#nowWhole(),
    });
    request.signal.addEventListener("abort", this.#cutShort, { once: true });
  }

  get aborted(): boolean {
    return this.#request.signal.aborted;
  }

  /** Whether it was we who ended it: then what was thrown says nothing. */
  get isCut(): boolean {
    return this.#controller.signal.aborted;
  }

  get notes(): string[] {
    return this.#wire.notes;
  }

  get circumstances(): Omit<Circumstances, "streaming" | "detector"> {
    const { fault, status } = this.#wire;
    return {
      now: this.#effects.clock.now(),
      ...(fault === undefined ? {} : { noted: fault }),
      ...(status === undefined ? {} : { wireStatus: status }),
    };
  }

  /** Returns at the finish or at the end of the stream; throws what broke it. */
  async into(assembler: Assembler): Promise<void> {
    const reader = await this.#open();
    const { clock } = this.#effects;
    for (;;) {
      const { done, value } = await reader.read();
      // A cancelled read ends like a stream that is over; only we know that it is not.
      if (done) return this.#throwIfCut();
      const now = clock.monotonic();
      const progress = assembler.push(value);
      this.#request.tap?.part(value, assembler.errors.length > 0);
      // `stream-start` is the package's own; it says nothing of the other side.
      if (value.type !== "stream-start") {
        this.firstPartAt ??= now;
        this.#watchdog.heard(now, progress);
      }
      if (assembler.chars > limit.messageChars) {
        this.#endless = true;
        this.#cutShort();
        this.#throwIfCut();
      }
      if (assembler.finish) return this.#drain(reader);
      if (value.type === "raw" && assembler.terminal) this.#nowWhole();
    }
  }

  failureOf(error: unknown): Failure {
    if (this.aborted) return failureOf("aborted", "the turn was aborted", "runtime");
    // Not asked again: it would not be shorter, and no record holds it.
    if (this.#endless)
      return failureOf("unknown", `the answer is longer than ${limit.messageChars} characters`, "runtime");
    const answered = this.#answered || this.#wire.status !== undefined;
    if (this.#watchdog.expired !== undefined) {
      return failureOf(answered ? "stream-broken" : "connect", this.#watchdog.expired, "watchdog");
    }
    const failure = classify(error, { ...this.circumstances, streaming: answered, detector: "socket" });
    return (failure.status ?? 0) < 400 ? failure : { ...failure, detector: "status" };
  }

  stop(): void {
    this.#watchdog.stop();
    this.#cancelDrain?.();
    this.#request.signal.removeEventListener("abort", this.#cutShort);
  }

  async #open(): Promise<Reader> {
    this.#request.signal.throwIfAborted();
    const opening = Promise.resolve(this.#request.model.doStream(this.#options));
    const opened = await Promise.race([opening, this.#cut.promise]).catch((error) => {
      opening.then((late) => late.stream.cancel()).catch(() => {});
      throw error;
    });
    this.#answered = true;
    this.#request.tap?.opened(opened);
    this.#reader = opened.stream.getReader();
    return this.#reader;
  }

  /** Raw parts are a second copy of each: wanted only where nobody reads bytes. */
  #wantRaw(wanted: boolean): void {
    this.#options.includeRawChunks = wanted || this.#request.options.includeRawChunks === true;
  }

  #throwIfCut(): void {
    if (this.#controller.signal.aborted) throw this.#controller.signal.reason;
  }

  /** Frees a read that may never settle: releasing the lock rejects it. The stream's own `cancel` is not waited for. */
  #cutShort = (): void => {
    const reason = this.aborted ? this.#request.signal.reason : new DOMException("cut short", "AbortError");
    this.#controller.abort(reason);
    this.#cut.reject(reason);
    this.#cancelDrain?.();
    const reader = this.#reader;
    if (!reader) return;
    reader.cancel(reason).catch(() => {});
    reader.releaseLock();
  };

  /** The terminal frame came: what is left has a moment to come, and then no longer matters. */
  #nowWhole(): void {
    if (this.#cancelDrain) return;
    const { timers } = this.#effects;
    this.#cancelDrain = timers.after(drainMs, () => {
      // Where we read the bytes, the package is shown a clean end and says what it held back; if even that does not
      // move it, and where we do not, the stream is left.
      if (!this.#wire.framed) return this.#cutShort();
      this.#wire.cut();
      this.#cancelDrain = timers.after(drainMs, this.#cutShort);
    });
  }

  /** Lets a finished stream close by itself; does not wait for it. */
  #drain(reader: Reader): void {
    this.#cancelDrain?.();
    const giveUp = this.#effects.timers.after(drainMs, () => {
      reader.cancel().catch(() => {});
      this.#wire.cut();
    });
    const readOn = async () => {
      for (;;) if ((await reader.read()).done) return;
    };
    Promise.allSettled([readOn(), this.#wire.drained]).then(giveUp, giveUp);
  }
}
