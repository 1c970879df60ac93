/**
 * What a command says, in bounded memory: its start, its end, and, where that is not all, the whole in a file.
 *
 * Owns: decoding, the cap, the spill, progress. Invariants:
 * 1. A character is decoded whole, wherever chunks are cut; invalid bytes become U+FFFD; a cut never splits a pair.
 * 2. Once something is left out, the file has every byte, up to {@link spillBytes}; the note says what it has.
 */
import type { FileHandle } from "node:fs/promises";
import type { SpillFolder } from "./spill-folder.ts";
import { byteSize, head, tail, visible } from "./text.ts";

/** The end of an output says most: errors, totals. Together half of what the runtime lets a result have. */
const headChars = 10_000;
const tailChars = 20_000;
/** A runaway command fills no disk. */
const spillBytes = 256_000_000;
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
  readonly #spill: SpillFolder;
  readonly #name: string;
  readonly #progress: (text: string) => void;
  readonly #decoder = new TextDecoder("utf-8");
  #head = "";
  #tail = "";
  #chars = 0;
  #bytes = 0;
  /** Every chunk so far, until it is clear whether they go to a file. */
  #chunks: Buffer[] = [];
  #file: FileHandle | undefined;
  #path: string | undefined;
  #spilled = 0;
  #spillError: string | undefined;
  #untold = "";

  constructor(spill: SpillFolder, name: string, progress: (text: string) => void) {
    this.#spill = spill;
    this.#name = name;
    this.#progress = progress;
  }

  push(chunk: Buffer): void | Promise<void> {
    this.#bytes += chunk.length;
    this.#text(this.#decoder.decode(chunk, { stream: true }));
    if (this.#path !== undefined) return this.#write(chunk);
    if (this.#spillError !== undefined) return;
    this.#chunks.push(chunk);
    if (this.#chars > headChars + tailChars) return this.#startSpill();
  }

  /** The text for the model. Call once, after the last push has settled. */
  async finish(): Promise<string> {
    this.#text(this.#decoder.decode());
    const untellable = this.#chars > headChars + tailChars || this.#isBinary();
    if (untellable && this.#path === undefined && this.#spillError === undefined) await this.#startSpill();
    await this.#file?.close().catch(() => undefined);
    if (this.#isBinary()) return `[binary output, ${byteSize(this.#bytes)}, not shown; ${this.#whereabouts()}]`;
    const left = this.#chars - headChars - tailChars;
    if (left <= 0) return visible(this.#head + this.#tail);
    const start = head(`${this.#head} `, headChars);
    const end = tail(this.#tail, tailChars);
    return `${visible(start)}\n[… ${left} characters left out; ${this.#whereabouts()} …]\n${visible(end)}`;
  }

  #text(text: string): void {
    if (text === "") return;
    this.#chars += text.length;
    const room = Math.max(0, headChars - this.#head.length);
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

  async #startSpill(): Promise<void> {
    try {
      const { file, path } = await this.#spill.create(this.#name);
      this.#file = file;
      this.#path = path;
      const chunks = this.#chunks;
      this.#chunks = [];
      for (const chunk of chunks) await this.#write(chunk);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #write(chunk: Buffer): Promise<void> {
    if (this.#file === undefined || this.#spillError !== undefined || this.#spilled >= spillBytes) return;
    try {
      await this.#file.writeFile(chunk);
      this.#spilled += chunk.length;
    } catch (error) {
      this.#fail(error);
    }
  }

  /** A full disk must not lose the part that is still there to tell. */
  #fail(error: unknown): void {
    this.#chunks = [];
    this.#spillError = error instanceof Error ? error.message : String(error);
  }

  #whereabouts(): string {
    if (this.#spillError !== undefined) return `the whole output could not be saved: ${this.#spillError}`;
    if (this.#spilled < this.#bytes) return `the first ${byteSize(this.#spilled)} are in ${this.#path}`;
    return `the whole output is in ${this.#path} (look into it with read or grep)`;
  }

  #isBinary(): boolean {
    const controls = this.#head.match(unprintable)?.length ?? 0;
    return controls > this.#head.length * binaryShare;
  }
}
