/**
 * What our edge of the wire knows of one request: bytes, status, the transport's own error, the terminal frame.
 *
 * A provider package takes a `fetch` when it is built and a signal with each call. The signal is the thread between the
 * two: an attempt registers its wire under its signal, the fetch wrapper finds it there. A package that hands its fetch
 * another signal is simply not watched, and its attempts are judged by their parts.
 */

export interface WireEar {
  /** Whether frames are read here from now on. */
  framed(framed: boolean): void;
  /** Bytes of the body came. */
  heard(): void;
  /** The terminal frame came: the answer is whole, whatever the connection does next. */
  whole(): void;
}

/** On the signal itself: what a map of them holds outlives its attempt until the collector has gone through everything. */
const carried = Symbol("wire");

type Carrier = AbortSignal & { [carried]?: Wire };

export class Wire {
  /** The status that came, before any package gave the answer another one. */
  status: number | undefined;
  /** The first error that the transport threw, or errored its body with, as it was thrown. */
  fault: unknown;
  /** Whether frames are read here: then no raw parts are needed. */
  framed = false;
  whole = false;
  /** What happened on the wire after the answer was whole, and what we mended. */
  readonly notes: string[] = [];

  /** Settles when nothing of the body is left to read. */
  drained: Promise<void> = Promise.resolve();

  readonly #ear: WireEar;
  #cut: (() => void) | undefined;

  constructor(signal: Carrier, ear: WireEar) {
    this.#ear = ear;
    signal[carried] = this;
  }

  heard(): void {
    this.#ear.heard();
  }

  broke(error: unknown): void {
    this.fault ??= error;
  }

  frames(framed: boolean): void {
    this.framed = framed;
    this.#ear.framed(framed);
  }

  /** `cut` ends the body towards the package, as if the server had closed it, and leaves the connection. */
  opened(cut: () => void, drained: Promise<void>): void {
    this.#cut = cut;
    this.drained = drained;
  }

  nowWhole(): void {
    if (this.whole) return;
    this.whole = true;
    this.#ear.whole();
  }

  note(text: string): void {
    // Few are enough to understand, and a hostile stream must not fill the log.
    if (this.notes.length < 8) this.notes.push(text);
  }

  /** Nothing more is waited for. */
  cut(): void {
    this.#cut?.();
    this.#cut = undefined;
  }
}

export function wireOf(signal: Carrier | null | undefined): Wire | undefined {
  return signal?.[carried];
}
