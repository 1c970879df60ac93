/**
 * What a command says, on disk and bounded: its start up to a cap, and behind that its end. Written by the supervisor,
 * synchronously: it has nothing better to do, and a full pipe is what slows a flood down.
 */
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import type { OutputSize } from "./command-folder.ts";

/** A runaway command fills no disk. */
export const outputBytes = 256_000_000;
/** The end says most: more than a result shows of it, whatever the script (three bytes a character at most). */
const tailBytes = 80_000;

export class OutputFile {
  readonly #file: number;
  readonly #cap: number;
  readonly #size: OutputSize = { bytes: 0, head: 0, tail: 0 };
  #end: Buffer[] = [];
  #endBytes = 0;
  #rescued: string | undefined;

  /** Throws where it cannot be created. */
  constructor(path: string, cap: number) {
    this.#file = openSync(path, "wx", 0o600);
    this.#cap = cap;
  }

  get size(): Readonly<OutputSize> {
    return this.#size;
  }

  /** After the close: the end (base64), where the disk would not take it. */
  get rescued(): string | undefined {
    return this.#rescued;
  }

  write(chunk: Buffer): void {
    const room = this.#size.error === undefined ? Math.max(0, this.#cap - this.#size.head) : 0;
    const kept = this.#append(chunk.subarray(0, room));
    this.#size.bytes += chunk.length;
    this.#size.head += kept;
    if (kept < chunk.length) this.#keepEnd(chunk.subarray(kept));
  }

  /** Never throws: the command has run by then, and that is to be said. */
  close(): void {
    const end = Buffer.concat(this.#end);
    const tail = end.subarray(Math.max(0, end.length - tailBytes));
    const whole = this.#append(tail) === tail.length;
    if (whole) this.#size.tail = tail.length;
    else this.#rescued = tail.toString("base64");
    try {
      // Half an end in the file would be taken for all of it.
      if (!whole) ftruncateSync(this.#file, this.#size.head);
      closeSync(this.#file);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** How much was written. */
  #append(chunk: Buffer): number {
    let written = 0;
    try {
      while (written < chunk.length) written += writeSync(this.#file, chunk, written);
    } catch (error) {
      this.#fail(error);
    }
    return written;
  }

  #fail(error: unknown): void {
    this.#size.error ??= error instanceof Error ? error.message : String(error);
  }

  #keepEnd(chunk: Buffer): void {
    this.#end.push(chunk);
    this.#endBytes += chunk.length;
    for (let first = this.#end[0]; first && this.#endBytes - first.length >= tailBytes; first = this.#end[0]) {
      this.#endBytes -= first.length;
      this.#end.shift();
    }
  }
}
