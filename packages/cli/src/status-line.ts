/**
 * One line at the bottom of a terminal that says what happens now, and for how long.
 *
 * It is erased before anything else is written and never wraps, since a wrapped line cannot be erased. Where there is
 * no terminal, or a dumb one, it is silent.
 */
import { columnsOf, cut, printable, toned } from "./style.ts";

/** Time as the line needs it; a test brings its own. */
export interface Ticker {
  /** Monotonic, ms. */
  now(): number;
  /** Calls `fn` every `ms` until the returned end is called. Must not keep the process alive. */
  every(ms: number, fn: () => void): () => void;
}

const realTicker: Ticker = {
  now: () => performance.now(),
  every(ms, fn) {
    const timer = setInterval(fn, ms).unref();
    return () => clearInterval(timer);
  },
};

/** Twice a second: a countdown in whole seconds is never seen to skip one. */
const tickMs = 500;
const erase = "\r\u001b[2K";

export class StatusLine {
  readonly #out: NodeJS.WriteStream;
  readonly #ticker: Ticker;
  readonly #works: boolean;
  #text: ((elapsedMs: number) => string) | undefined;
  #since = 0;
  #drawn = "";
  #held = false;
  readonly #waiting: (() => void)[] = [];
  #end: (() => void) | undefined;

  constructor(out: NodeJS.WriteStream, ticker: Ticker = realTicker) {
    this.#out = out;
    this.#ticker = ticker;
    this.#works = out.isTTY === true && process.env["TERM"] !== "dumb";
  }

  /** Whether there is a line at all: what it would have said must be said otherwise. */
  get works(): boolean {
    return this.#works;
  }

  /** From now on says this; asked again with every tick. */
  show(text: (elapsedMs: number) => string): void {
    if (!this.#works) return;
    this.#text = text;
    this.#since = this.#ticker.now();
    this.#end ??= this.#ticker.every(tickMs, () => this.#draw());
    this.#draw();
  }

  hide(): void {
    this.#text = undefined;
    this.#end?.();
    this.#end = undefined;
    this.#clear();
  }

  /** A question has the screen: until its answer nothing is drawn, and no line comes between. A yes is for what stands last. */
  hold(): void {
    this.#clear();
    this.#held = true;
  }

  /** What came meanwhile is written. */
  release(): void {
    this.#held = false;
    for (const write of this.#waiting.splice(0)) write();
    this.#draw();
  }

  /** Writes whole lines above it. */
  above(write: () => void): void {
    if (this.#held) {
      this.#waiting.push(write);
      return;
    }
    this.#clear();
    write();
    this.#draw();
  }

  #draw(): void {
    if (!this.#text || this.#held) return;
    // One cell stays free: a cursor behind the last one has already wrapped on some terminals.
    const text = cut(printable(this.#text(this.#ticker.now() - this.#since)), columnsOf(this.#out) - 1);
    if (text === this.#drawn) return;
    this.#out.write(`${erase}${toned("quiet", text, this.#out)}`);
    this.#drawn = text;
  }

  #clear(): void {
    if (this.#drawn !== "") this.#out.write(erase);
    this.#drawn = "";
  }
}
