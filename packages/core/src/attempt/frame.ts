/**
 * Server-sent events as bytes: where frames end, and what one says. Only whole frames go on, so that a frame can be read,
 * mended or dropped before a provider package sees it.
 */

import { limit } from "../limit.ts";

const lf = 10;
const cr = 13;

/** The bytes of the longest answer (`limit`): no frame says more, and a stream without blank lines must not fill memory. */
const heldBytes = 3 * limit.messageChars;

/** Cuts a byte stream at the last end of a frame; holds back what is not whole yet. */
export class FrameCutter {
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** The last two bytes that are held: a blank line may lie across chunks. */
  #last: number | undefined;
  #beforeLast: number | undefined;

  /** The whole frames that this chunk completes, or undefined. What is too long to be held goes on as it is. */
  push(chunk: Uint8Array): Uint8Array | undefined {
    const end = this.#lastEnd(chunk);
    if (end === 0 && this.#heldBytes + chunk.length <= heldBytes) {
      this.#hold(chunk);
      return undefined;
    }
    const whole = this.#join(end === 0 ? chunk : chunk.subarray(0, end));
    if (end > 0) this.#hold(chunk.subarray(end));
    return whole;
  }

  /** What the stream ended in the middle of. */
  rest(): Uint8Array | undefined {
    return this.#held.length > 0 ? this.#join(new Uint8Array(0)) : undefined;
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    this.#beforeLast = bytes.length > 1 ? bytes[bytes.length - 2] : this.#last;
    this.#last = bytes[bytes.length - 1];
  }

  #join(last: Uint8Array): Uint8Array {
    if (this.#held.length === 0) return last;
    const joined = new Uint8Array(this.#heldBytes + last.length);
    let at = 0;
    for (const piece of this.#held) {
      joined.set(piece, at);
      at += piece.length;
    }
    joined.set(last, at);
    this.#held = [];
    this.#heldBytes = 0;
    this.#last = this.#beforeLast = undefined;
    return joined;
  }

  /** The place behind the last blank line, 0 where there is none. Most chunks end with one; what is held has none. */
  #lastEnd(bytes: Uint8Array): number {
    for (let at = bytes.length - 1; at >= 0; at -= 1) {
      const byte = bytes[at];
      if (byte !== lf && byte !== cr) continue;
      const before = at > 0 ? bytes[at - 1] : this.#last;
      if (before === byte) return at + 1;
      if (byte !== lf || before !== cr) continue;
      const third = at > 1 ? bytes[at - 2] : at === 1 ? this.#last : this.#beforeLast;
      if (third === lf) return at + 1;
    }
    return 0;
  }
}

const blankLine = /\r\n\r\n|\n\n|\r\r/;
const lineEnd = /\r\n|\n|\r/;

/** The frames of a text that ends at the end of one, without their blank lines. */
export function framesOf(text: string): string[] {
  return text.split(blankLine).filter((frame) => frame !== "");
}

/** What one frame carries; undefined for a comment or a frame without data. */
export function dataOf(frame: string): string | undefined {
  const lines = frame.split(lineEnd).filter((line) => line.startsWith("data:"));
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(line[5] === " " ? 6 : 5)).join("\n");
}

/** The same frame with other data. */
export function withData(frame: string, data: string): string {
  const others = frame.split(lineEnd).filter((line) => !line.startsWith("data:"));
  return [...others, `data: ${data}`].join("\n");
}

export function parsed(data: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(data) };
  } catch {
    return undefined;
  }
}
