/**
 * Reads a command's output file into what is told of it: live as it grows, or at once after a crash.
 *
 * Owns: the order of bytes, and the gap that the supervisor's cap leaves. One reader for both, so that both tell the same.
 */
import { type FileHandle, open } from "node:fs/promises";
import type { OutputSize } from "./command-folder.ts";
import type { CommandOutput } from "./command-output.ts";
import { errorCode } from "./workspace.ts";

const chunkBytes = 256 * 1024;

export class OutputReader {
  readonly #path: string;
  readonly #output: CommandOutput;
  #file: FileHandle | undefined;
  #read = 0;
  #target = 0;
  #pump: Promise<void> | undefined;
  #error: string | undefined;

  /** `from`: what comes before has been read by another. */
  constructor(path: string, output: CommandOutput, from = 0) {
    this.#path = path;
    this.#output = output;
    this.#read = from;
    this.#target = from;
  }

  /** The file has this much, and more may come. */
  grown(bytes: number): void {
    this.#target = Math.max(this.#target, bytes);
    this.#pump ??= this.#take().finally(() => {
      this.#pump = undefined;
    });
  }

  /** Reads to the end of it. Gives why something is missing, if it is. */
  async finish(size: OutputSize, rescued?: string): Promise<string | undefined> {
    await this.#readTo(size.head);
    const end = rescued === undefined ? undefined : Buffer.from(rescued, "base64");
    const gap = size.bytes - size.head - (end?.length ?? size.tail);
    if (gap > 0) this.#output.skip(gap);
    await this.#readTo(size.head + size.tail);
    if (end !== undefined) this.#output.push(end);
    await this.close();
    return size.error ?? this.#error;
  }

  /** What is still being read is read; more is not asked for. May be called again. */
  async close(): Promise<void> {
    await this.#pump;
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #readTo(bytes: number): Promise<void> {
    while (this.#read < bytes) {
      this.grown(bytes);
      await this.#pump;
    }
  }

  async #take(): Promise<void> {
    // Of full size from the start, also where little is there yet: what comes meanwhile is read with it too.
    const buffer = Buffer.allocUnsafe(chunkBytes);
    try {
      this.#file ??= await open(this.#path, "r");
      while (this.#read < this.#target) {
        const want = Math.min(buffer.length, this.#target - this.#read);
        const { bytesRead } = await this.#file.read(buffer, 0, want, this.#read);
        if (bytesRead === 0) throw new Error("its file is shorter than it was");
        this.#read += bytesRead;
        this.#output.push(buffer.subarray(0, bytesRead));
      }
    } catch (error) {
      this.#error ??= errorCode(error) === "ENOENT" ? "its file has been removed" : `${error}`;
      if (this.#target > this.#read) this.#output.skip(this.#target - this.#read);
      this.#read = this.#target;
    }
  }
}
