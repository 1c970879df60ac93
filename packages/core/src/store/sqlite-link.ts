/**
 * The main thread's end of the line to the worker.
 *
 * Owns: the worker, the calls that wait for an answer. Invariants:
 * 1. Calls travel in order, those made in one turn of the event loop together, up to {@link sendAt}.
 * 2. The worker keeps the process alive only while a call waits.
 * 3. A worker that dies fails every call that waits and every later one: what it had not answered may or may not be
 *    in the file, and saying otherwise would be worse.
 */
import { Worker } from "node:worker_threads";
import { PawlError } from "../error.ts";
import { storeClosed } from "./refusal.ts";
import type { Answer, Call, Kind, Operations } from "./sqlite-wire.ts";

/** So that the worker is busy with the first while the main thread is still at the last of many. */
const sendAt = 32;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class WorkerLink {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #outbox: Call[] = [];
  #lastId = 0;
  #failure: PawlError | undefined;
  #closing: Promise<void> | undefined;

  constructor(script: URL = workerScript()) {
    // The process's own flags (--test, --input-type, --eval) are not the worker's.
    this.#worker = new Worker(script, { execArgv: [] });
    this.#worker.on("message", (answers: Answer[]) => this.#settle(answers));
    // An answer that cannot be taken over would leave its callers waiting for ever.
    this.#worker.on("messageerror", (cause) => this.#fail(died(cause)));
    this.#worker.on("error", (cause) => this.#fail(died(cause)));
    this.#worker.on("exit", (code) => this.#fail(died(new Error(`it exited with code ${code}`))));
    this.#worker.unref();
  }

  call<K extends Kind>(kind: K, input: Operations[K]["in"]): Promise<Operations[K]["out"]> {
    if (this.#failure) return Promise.reject(this.#failure);
    this.#lastId += 1;
    const id = this.#lastId;
    const queued = this.#outbox.push({ id, kind, in: input } as Call);
    if (queued === 1) queueMicrotask(() => this.#send());
    if (queued === sendAt) this.#send();
    if (this.#waiting.size === 0) this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** What was called before is answered first; what is called after is refused. Closing again is the same close. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // A thread that died has nothing left to let go of.
    const closed = this.#failure ? undefined : this.call("close", undefined);
    this.#failure = storeClosed();
    await closed?.finally(() => this.#worker.terminate());
  }

  /** For a store that did not open. */
  async abandon(): Promise<void> {
    this.#failure ??= storeClosed();
    await this.#worker.terminate();
  }

  get isOpen(): boolean {
    return this.#failure === undefined;
  }

  assertOpen(): void {
    if (this.#failure) throw this.#failure;
  }

  #send(): void {
    const calls = this.#outbox;
    if (calls.length === 0) return;
    this.#outbox = [];
    this.#worker.postMessage(calls);
  }

  #settle(answers: Answer[]): void {
    for (const answer of answers) {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ("fault" in answer) waiting?.reject(new PawlError(answer.fault.code, answer.fault.message));
      else waiting?.resolve(answer.out);
    }
    if (this.#waiting.size === 0) this.#worker.unref();
  }

  #fail(error: PawlError): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** Beside this file, as source and as build. */
function workerScript(): URL {
  return new URL(`./sqlite-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
}

function died(cause: unknown): PawlError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new PawlError(
    "STORE_UNAVAILABLE",
    `the store's thread died (${why}); open the store again and read what is there`,
    { cause },
  );
}
