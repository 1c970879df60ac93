/**
 * What the results of one message may bring into context together.
 *
 * A call that settles may take an even share of what is left for those that have not: what small results leave over is
 * there for the later ones, and however many there are, the sum holds. Where it is not known how many there will be, the
 * share is half of what is left. Every call may say at least a line.
 */

/** The least that a result may say: that it was long, and where the rest is. */
const leastChars = 200;

export interface AllowanceLimits {
  /** Characters of all results. */
  chars: number;
  images: number;
}

export class Allowance {
  #chars: number;
  #images: number;
  /** Calls that have not settled. */
  #open: number | undefined;

  constructor({ chars, images }: AllowanceLimits, calls?: number) {
    this.#chars = chars;
    this.#images = images;
    this.#open = calls;
  }

  /** A call settles with `wanted` characters: how many of them it may say. */
  settle(wanted: number): number {
    const share = Math.max(leastChars, Math.floor(this.#chars / Math.max(1, this.#open ?? 2)));
    const granted = Math.min(wanted, share);
    this.#chars = Math.max(0, this.#chars - granted);
    if (this.#open !== undefined) this.#open -= 1;
    return granted;
  }

  /** Of so many images, how many may be shown. */
  show(images: number): number {
    const granted = Math.min(images, this.#images);
    this.#images -= granted;
    return granted;
  }
}

/**
 * A window counts tokens, we count characters: code, JSON and most languages have at least this many in one. What is
 * left over is the margin for those that have not.
 */
const charsPerToken = 3;

/** Half of what is left of a window: the model has to answer, and to go on after that. */
export function charsForWindow(windowTokens: number, usedTokens: number): number {
  return Math.floor((Math.max(0, windowTokens - usedTokens) * charsPerToken) / 2);
}
