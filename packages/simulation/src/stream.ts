/**
 * The stream of a model's answer: of the platform's `ReadableStream`, what a reader of one sees, and nothing of its bulk.
 *
 * Why not the platform's own: each one made by `new` lives, with all that can be reached from it (in this world: the world),
 * until the collector has gone through everything, and that was most of what a schedule left behind. Invariants:
 * 1. Whoever reads or pulls sees what they would see of the platform's with its default strategy (`stream.test.ts`).
 * 2. Where it has ended, by whichever side, it reaches nothing of what fed it.
 */

type Read<T> = ReadableStreamReadResult<T>;

/** How many chunks may wait unread before no more are asked for. */
const highWater = 1;

export class AnswerStream<T> {
  #state: "readable" | "closed" | "errored" = "readable";
  #reason: unknown;
  #pull: (() => void) | undefined;
  #started = false;
  #pulling = false;
  #pullAgain = false;
  #closing = false;
  #chunks: T[] = [];
  #reads: PromiseWithResolvers<Read<T>>[] = [];
  #locked = false;

  /** `pull` is called when there is room, and not again before `pulled`. */
  constructor(pull: () => void) {
    this.#pull = pull;
    queueMicrotask(() => this.#start());
  }

  /** As a model's result wants it typed. */
  get readable(): ReadableStream<T> {
    return this as unknown as ReadableStream<T>;
  }

  /** What `pull` had to do is done. */
  pulled(): void {
    queueMicrotask(() => this.#goOn());
  }

  /** Puts one more chunk in. */
  enqueue(chunk: T): void {
    if (this.#closing || this.#state !== "readable") throw new TypeError("the stream has ended");
    const read = this.#reads.shift();
    if (read) read.resolve({ done: false, value: chunk });
    else this.#chunks.push(chunk);
    this.#pullIfNeeded();
  }

  /** The end, behind what is waiting to be read. */
  close(): void {
    if (this.#closing || this.#state !== "readable") throw new TypeError("the stream has ended");
    this.#closing = true;
    if (this.#chunks.length === 0) this.#end();
  }

  /** The end, at once: what waits is lost. */
  error(reason: unknown): void {
    if (this.#state !== "readable") return;
    this.#state = "errored";
    this.#reason = reason;
    this.#chunks = [];
    this.#pull = undefined;
    this.#refuse(reason);
  }

  cancel(): Promise<void> {
    if (this.#locked) return Promise.reject(new TypeError("the stream has a reader"));
    return this.#cancel();
  }

  getReader(): Pick<ReadableStreamDefaultReader<T>, "read" | "cancel" | "releaseLock"> {
    if (this.#locked) throw new TypeError("the stream has a reader");
    this.#locked = true;
    let released = false;
    return {
      read: () => (released ? Promise.reject(new TypeError("the reader was released")) : this.#read()),
      cancel: () => (released ? Promise.reject(new TypeError("the reader was released")) : this.#cancel()),
      releaseLock: () => {
        if (released) return;
        released = true;
        this.#locked = false;
        this.#refuse(new TypeError("the reader was released"));
      },
    };
  }

  #start(): void {
    this.#started = true;
    this.#pullIfNeeded();
  }

  #goOn(): void {
    this.#pulling = false;
    if (!this.#pullAgain) return;
    this.#pullAgain = false;
    this.#pullIfNeeded();
  }

  #read(): Promise<Read<T>> {
    if (this.#state === "errored") return Promise.reject(this.#reason);
    if (this.#state === "closed") return Promise.resolve({ done: true, value: undefined });
    if (this.#chunks.length === 0) {
      const read = Promise.withResolvers<Read<T>>();
      this.#reads.push(read);
      this.#pullIfNeeded();
      return read.promise;
    }
    const value = this.#chunks.shift() as T;
    if (this.#closing && this.#chunks.length === 0) this.#end();
    else this.#pullIfNeeded();
    return Promise.resolve({ done: false, value });
  }

  #cancel(): Promise<void> {
    if (this.#state === "errored") return Promise.reject(this.#reason);
    this.#chunks = [];
    if (this.#state === "readable") this.#end();
    return Promise.resolve();
  }

  #end(): void {
    this.#state = "closed";
    this.#pull = undefined;
    for (const read of this.#reads.splice(0)) read.resolve({ done: true, value: undefined });
  }

  #refuse(reason: unknown): void {
    for (const read of this.#reads.splice(0)) read.reject(reason);
  }

  #pullIfNeeded(): void {
    const wanted = this.#reads.length > 0 || this.#chunks.length < highWater;
    if (!wanted || !this.#started || this.#closing || this.#state !== "readable") return;
    if (this.#pulling) {
      this.#pullAgain = true;
      return;
    }
    this.#pulling = true;
    this.#pull?.();
  }
}
