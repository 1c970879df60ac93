/**
 * What the model and the person are told of what a command says: its start and its end, in bounded memory.
 *
 * Owns: decoding, the cap, progress, the note on what is left out. Does not own: the file with the whole (the
 * supervisor's). Invariants:
 * 1. A character is decoded whole, wherever chunks are cut; invalid bytes become U+FFFD; a cut never splits a pair.
 * 2. The same bytes give the same text, live or read from the file after a crash.
 */
import { MaskedStream, SecretMask } from "./secret-mask.ts";
import { byteSize, head, tail, visible } from "./text.ts";

/** The end of an output says most: errors, totals. Together half of what the runtime lets a result have. */
const headChars = 10_000;
const tailChars = 20_000;
/** What one progress event carries at most. */
const progressChars = 2_000;
/**
 * Progress is paced by size: an event once a sixteenth of the output is untold, or this much. So the first lines are
 * told as they come, and a flood makes few events.
 */
const progressStride = 64_000;
/** Of the start of an output; more unprintable characters than this are no text. */
const binaryShare = 0.1;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it counts
const unprintable = /[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]/g;

export class CommandOutput {
  readonly #progress: (text: string) => void;
  readonly #masked: MaskedStream;
  readonly #decoder = new TextDecoder("utf-8");
  #head = "";
  #tail = "";
  #chars = 0;
  #bytes = 0;
  #skipped = false;
  #untold = "";

  /** `mask`: what must not be told of it; a cut could leave half of a secret, so it is taken out before. */
  constructor(progress: (text: string) => void, mask = new SecretMask([])) {
    this.#progress = progress;
    this.#masked = new MaskedStream(mask);
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    this.#text(this.#masked.push(this.#decoder.decode(chunk, { stream: true })));
  }

  /** Bytes that nobody has kept. They count as characters: most are. */
  skip(bytes: number): void {
    this.#endText();
    this.#bytes += bytes;
    this.#chars += bytes;
    // What was the end is none any more, and must not be shown as if it went on from there.
    this.#tail = "";
    this.#skipped = true;
  }

  /** Call once, after the last push. `whereabouts` is asked where not all can be told. */
  async finish(whereabouts: () => Promise<string>): Promise<string> {
    this.#endText();
    if (this.#isBinary()) return `[binary output, ${byteSize(this.#bytes)}, not shown; ${await whereabouts()}]`;
    const left = this.#chars - this.#head.length - Math.min(this.#tail.length, tailChars);
    if (left <= 0) return visible(this.#head + this.#tail);
    const start = head(`${this.#head} `, this.#head.length);
    const end = tail(this.#tail, tailChars);
    return `${visible(start)}\n[… ${left} characters left out; ${await whereabouts()} …]\n${visible(end)}`;
  }

  #endText(): void {
    this.#text(this.#masked.push(this.#decoder.decode()) + this.#masked.end());
  }

  #text(text: string): void {
    if (text === "") return;
    this.#chars += text.length;
    const room = this.#skipped ? 0 : Math.max(0, headChars - this.#head.length);
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Twice the need, so that the copy is made once in a while and not at every chunk.
    if (this.#tail.length > 2 * tailChars + progressChars) this.#tail = this.#tail.slice(-tailChars - 1);
    this.#tell(text);
  }

  #tell(text: string): void {
    this.#untold += text;
    const end = this.#untold.lastIndexOf("\n") + 1;
    if (end === 0 && this.#untold.length < progressChars) return;
    if (this.#untold.length < Math.min(progressStride, this.#chars / 16)) return;
    const lines = end === 0 ? this.#untold : this.#untold.slice(0, end);
    this.#untold = end === 0 ? "" : this.#untold.slice(end);
    this.#progress(visible(tail(lines, progressChars)));
  }

  #isBinary(): boolean {
    const controls = this.#head.match(unprintable)?.length ?? 0;
    return controls > this.#head.length * binaryShare;
  }
}
