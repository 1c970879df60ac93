import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Verdict } from "./judge/verdict.ts";
import type { Protocol } from "./protocol/protocol.ts";

/** How a response ended: sent to its end, reset by the script, left by the client, or cut by `server.close()`. */
export type Ending = "finished" | "reset" | "aborted" | "closed";

/** A request as it came, and what became of it. */
export interface RecordedRequest {
  /** From 1, in the order in which the requests arrived whole. */
  readonly order: number;
  readonly protocol: Protocol;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as text, byte for byte. */
  readonly body: string;
  /** The body as JSON, or undefined when it is none. */
  readonly parsed: unknown;
  readonly verdict: Verdict;
  /** The status that was sent; 0 while (or when) none was. */
  readonly status: number;
  /** The client went away before the response ended. */
  readonly aborted: boolean;
  /** Resolves when the response is over, in whatever way. */
  readonly ended: Promise<Ending>;
}

/** The writable side of a record, for the server alone. */
export interface OpenRecord extends RecordedRequest {
  aborted: boolean;
  end(ending: Ending): void;
}

/** Owns the list of requests, and hands each to one waiter of `next`. */
export class Recorder {
  readonly requests: RecordedRequest[] = [];
  readonly #waiters: PromiseWithResolvers<RecordedRequest>[] = [];
  #handedOut = 0;
  #closed = false;

  open(request: Omit<RecordedRequest, "order" | "status" | "aborted" | "ended">, response: ServerResponse): OpenRecord {
    const { promise, resolve } = Promise.withResolvers<Ending>();
    const record: OpenRecord = {
      ...request,
      order: this.requests.length + 1,
      get status() {
        return response.headersSent ? response.statusCode : 0;
      },
      aborted: false,
      ended: promise,
      end(ending) {
        record.aborted ||= ending === "aborted";
        resolve(ending);
      },
    };
    this.requests.push(record);
    this.#handOut();
    return record;
  }

  /** The next request that no earlier `next` got, now or when it comes. */
  next(): Promise<RecordedRequest> {
    const waiter = Promise.withResolvers<RecordedRequest>();
    this.#waiters.push(waiter);
    if (this.#closed) this.close();
    else this.#handOut();
    return waiter.promise;
  }

  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters.splice(0)) {
      waiter.reject(
        new Error("The model server is closed: no further request will come. Await requests before close()."),
      );
    }
  }

  #handOut(): void {
    while (this.#waiters.length > 0 && this.#handedOut < this.requests.length) {
      const request = this.requests[this.#handedOut];
      const waiter = this.#waiters.shift();
      this.#handedOut += 1;
      if (request !== undefined) waiter?.resolve(request);
    }
  }
}
