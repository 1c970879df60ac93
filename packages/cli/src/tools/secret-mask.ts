/**
 * Secrets of this process, taken out of what tools say before anything is logged or shown: a model that has read a key could send it
 * anywhere, and a log is kept for years.
 *
 * Invariants: a secret that comes in pieces is masked like a whole one; text without a secret goes through as it is.
 */

/** What is no longer is a word that stands in any text. */
const wordChars = 8;

export interface Secret {
  /** What stands in its place, in brackets. */
  name: string;
  value: string;
}

export class SecretMask {
  readonly #secrets: readonly Secret[];

  constructor(secrets: readonly Secret[]) {
    const forms = secrets.flatMap(({ name, value }) => [
      { name, value },
      // As it stands inside of JSON, where it has signs that are written otherwise there.
      { name, value: JSON.stringify(value).slice(1, -1) },
    ]);
    const long = forms.filter(({ value }) => value.length > wordChars);
    // The longest first: one may begin with another.
    this.#secrets = [...new Map(long.map((one) => [one.value, one])).values()].sort(
      (a, b) => b.value.length - a.value.length,
    );
  }

  text(text: string): string {
    let masked = text;
    for (const { name, value } of this.#secrets)
      if (masked.includes(value)) masked = masked.replaceAll(value, () => `[${name}]`);
    return masked;
  }

  /** Every text inside of a value that is JSON; bytes and other objects stay as they are. */
  value<T>(value: T): T {
    if (this.#secrets.length === 0) return value;
    return this.#inside(value, 0) as T;
  }

  /** Up to where `text` can be told, whatever comes after it: before what could become a secret, and through none that is whole. */
  safeEnd(text: string): number {
    let end = text.length - this.#beginning(text);
    for (let moved = true; moved; ) {
      moved = false;
      for (const { value } of this.#secrets) {
        const at = text.indexOf(value, Math.max(0, end - value.length + 1));
        if (at === -1 || at >= end || at + value.length <= end) continue;
        end = at;
        moved = true;
      }
    }
    return end;
  }

  /** How much of the end of `text` a secret could begin with. */
  #beginning(text: string): number {
    let longest = 0;
    for (const { value } of this.#secrets) {
      for (let length = Math.min(value.length - 1, text.length); length > longest; length -= 1) {
        if (text.endsWith(value.slice(0, length))) longest = length;
      }
    }
    return longest;
  }

  #inside(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.text(value);
    // Deeper than any tool means; the runtime refuses it.
    if (typeof value !== "object" || value === null || depth > 500) return value;
    if (Array.isArray(value)) return value.map((inner) => this.#inside(inner, depth + 1));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.#inside(inner, depth + 1)]));
  }
}

/** One text that comes in pieces. */
export class MaskedStream {
  readonly #mask: SecretMask;
  #held = "";

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** What can be told by now. */
  push(piece: string): string {
    const text = this.#held + piece;
    const end = this.#mask.safeEnd(text);
    this.#held = text.slice(end);
    return this.#mask.text(text.slice(0, end));
  }

  end(): string {
    const text = this.#mask.text(this.#held);
    this.#held = "";
    return text;
  }
}
