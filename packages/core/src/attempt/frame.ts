/**
 * Server-sent events as bytes: where frames end, and what one says. Only whole frames go on, so that a frame can be read,
 * mended or dropped before a provider package sees it.
 */

const lf = 10;
const cr = 13;

/** Cuts a byte stream at the last end of a frame; holds back what is not whole yet. */
export class FrameCutter {
  #held: Uint8Array[] = [];

  /** The whole frames that this chunk completes, or undefined. */
  push(chunk: Uint8Array): Uint8Array | undefined {
    let bytes = chunk;
    // A blank line may lie across two chunks.
    if (this.#held.length > 0 && (chunk[0] === lf || chunk[0] === cr)) bytes = this.#join(chunk);
    const end = lastEnd(bytes);
    if (end === 0) {
      this.#held.push(bytes);
      return undefined;
    }
    const whole = this.#join(bytes.subarray(0, end));
    if (end < bytes.length) this.#held.push(bytes.subarray(end));
    return whole;
  }

  /** What the stream ended in the middle of. */
  rest(): Uint8Array | undefined {
    return this.#held.length > 0 ? this.#join(new Uint8Array(0)) : undefined;
  }

  #join(last: Uint8Array): Uint8Array {
    if (this.#held.length === 0) return last;
    const pieces = [...this.#held, last];
    this.#held = [];
    const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      joined.set(piece, at);
      at += piece.length;
    }
    return joined;
  }
}

/** The place behind the last blank line, 0 where there is none. Most chunks end with one. */
function lastEnd(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at > 0; at -= 1) {
    const byte = bytes[at];
    if (byte !== lf && byte !== cr) continue;
    const before = bytes[at - 1];
    if (before === byte) return at + 1;
    if (byte === lf && before === cr && bytes[at - 2] === lf) return at + 1;
  }
  return 0;
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
