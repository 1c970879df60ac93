/**
 * Secrets of this process, taken out of what tools say before anything is logged or shown: a model that has read a key could send it
 * anywhere, and a log is kept for years.
 *
 * Invariants: a secret that comes in pieces is masked like a whole one; text without a secret goes through as it is.
 */

/** What is no longer is a word that stands in any text. */
const wordChars = 8;
/** What tools put where they have cut a line. */
const cutMark = "…";
/** A shorter line of a longer secret gives little of it away, and may be any line: `  "type": "key",`. */
const lineChars = 24;

export interface Secret {
  /** What stands in its place, in brackets. */
  name: string;
  value: string;
}

/** Where an error says something; the last two hold what a provider has answered. */
const told = ["message", "stack", "responseBody", "data"];

/** Causes inside of one another that are looked at: more is a loop. */
const causes = 8;

export class SecretMask {
  readonly #secrets: readonly Secret[];

  constructor(secrets: readonly Secret[]) {
    const forms = secrets.flatMap(({ name, value }) => [
      { name, value },
      // As it stands inside of JSON, where it has signs that are written otherwise there.
      { name, value: JSON.stringify(value).slice(1, -1) },
      // A key in a file is read and found line by line. What frames it says what it is, as in any source code.
      ...(value.includes("\n")
        ? value.split(/\r?\n/).filter((line) => line.length >= lineChars && !line.startsWith("-----"))
        : []
      ).map((line) => ({ name, value: line })),
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
    return masked.includes(cutMark) ? this.#atCuts(masked) : masked;
  }

  /** Tools cut long lines, and say so: what is left of a secret at the edge gives most of it away. */
  #atCuts(text: string): string {
    const pieces = text.split(cutMark);
    const last = pieces.length - 1;
    return pieces
      .map((piece, at) => {
        const start = at > 0 ? this.#edge(piece, "start") : "";
        const end = at < last ? this.#edge(piece.slice(start === "" ? 0 : start.length), "end") : "";
        const name = (part: string) =>
          part === "" ? "" : `[${this.#secrets.find(({ value }) => value.includes(part))?.name}]`;
        return name(start) + piece.slice(start.length, piece.length - end.length) + name(end);
      })
      .join(cutMark);
  }

  /** The part of a secret that `text` starts or ends with; empty: none that is long enough. */
  #edge(text: string, where: "start" | "end"): string {
    for (const { value } of this.#secrets)
      for (let length = Math.min(value.length - 1, text.length); length >= wordChars; length -= 1) {
        const part = where === "start" ? value.slice(-length) : value.slice(0, length);
        if (where === "start" ? text.startsWith(part) : text.endsWith(part)) return part;
      }
    return "";
  }

  /** Every text inside of a value that is JSON; bytes and other objects stay as they are. */
  value<T>(value: T): T {
    if (this.#secrets.length === 0) return value;
    return this.#inside(value, 0) as T;
  }

  /** The same object, since its kind and code say what happened: its words, those of its causes, and the answer that some bring along. */
  error(error: unknown): unknown {
    if (!(error instanceof Error)) return this.value(error);
    let one: unknown = error;
    for (let depth = 0; depth < causes && one instanceof Error; depth += 1) {
      for (const name of told) this.#mend(one, name);
      one = one.cause;
    }
    return error;
  }

  #mend(error: Error, name: string): void {
    const said: unknown = Reflect.get(error, name);
    if (typeof said === "string" ? this.text(said) === said : name !== "data" || said === undefined) return;
    // Refused where it cannot be written: nobody's words are.
    Reflect.set(error, name, this.value(said));
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

  /** How far before the end what has to be held back may begin: a few secrets that overlap, in bytes. */
  get reachBytes(): number {
    return 4 * Math.max(0, ...this.#secrets.map(({ value }) => Buffer.byteLength(value)));
  }

  /** How many bytes at the end cannot be told while more may come. `end` ends with a whole character. */
  heldBytes(end: Uint8Array): number {
    const text = new TextDecoder("utf-8").decode(end);
    return Buffer.byteLength(text.slice(this.safeEnd(text)));
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
