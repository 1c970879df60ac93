/**
 * What our edge of the wire knows of one request: bytes, status, the transport's own error, the terminal frame.
 *
 * A provider package takes a `fetch` when it is built and a signal with each call. The signal is the thread between the
 * two: an attempt registers its wire under its signal, the fetch wrapper finds it there. A package that hands its fetch
 * another signal is simply not watched, and its attempts are judged by their parts.
 */

export interface WireEar {
  /** Bytes of the body came. */
  heard(): void;
  /** The terminal frame came: the answer is whole, whatever the connection does next. */
  whole(): void;
}

const wires = new WeakMap<AbortSignal, Wire>();

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

  constructor(signal: AbortSignal, ear: WireEar) {
    this.#ear = ear;
    wires.set(signal, this);
  }

  heard(): void {
    this.#ear.heard();
  }

  broke(error: unknown): void {
    this.fault ??= error;
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

export function wireOf(signal: AbortSignal | null | undefined): Wire | undefined {
  return signal ? wires.get(signal) : undefined;
}
