/**
 * Live items to any number of subscribers.
 *
 * A slow subscriber costs no more than the text it has not read: deltas that wait are joined, facts are kept whole and
 * in order. Nothing is dropped, and nobody waits for anybody.
 */
import type { LiveItem } from "./live.ts";

type Delta = Extract<LiveItem, { type: "part.delta" }>;

export class Feed {
  readonly #subscribers = new Set<Subscription>();

  /** Whether anybody listens. */
  get heard(): boolean {
    return this.#subscribers.size > 0;
  }

  push(item: LiveItem): void {
    for (const subscriber of this.#subscribers) subscriber.push(item);
  }

  delta(attempt: string, part: string, text: string): void {
    for (const subscriber of this.#subscribers) subscriber.delta(attempt, part, text);
  }

  /** Hears everything from now on, until it returns or the feed ends. */
  subscribe(): Subscription {
    const subscription = new Subscription(() => this.#subscribers.delete(subscription));
    this.#subscribers.add(subscription);
    return subscription;
  }

  end(): void {
    for (const subscriber of this.#subscribers) subscriber.end();
    this.#subscribers.clear();
  }
}

export class Subscription implements AsyncIterableIterator<LiveItem> {
  #queue: LiveItem[] = [];
  #read = 0;
  /** The last queued item if it is a delta nobody has read: the next one of its part joins it. */
  #open: Delta | undefined;
  #waiting: ((result: IteratorResult<LiveItem>) => void) | undefined;
  #ended = false;
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  push(item: LiveItem): void {
    if (this.#ended) return;
    const waiting = this.#waiting;
    if (waiting) {
      this.#waiting = undefined;
      waiting({ done: false, value: item });
      return;
    }
    this.#open = undefined;
    this.#queue.push(item);
  }

  delta(attempt: string, part: string, text: string): void {
    if (this.#open && this.#open.part === part) {
      this.#open.text += text;
      return;
    }
    const item: Delta = { type: "part.delta", attempt, part, text };
    const queued = !this.#waiting;
    this.push(item);
    if (queued) this.#open = item;
  }

  next(): Promise<IteratorResult<LiveItem>> {
    const item = this.#queue[this.#read];
    if (item) {
      if (item === this.#open) this.#open = undefined;
      this.#read += 1;
      if (this.#read === this.#queue.length) {
        this.#queue = [];
        this.#read = 0;
      }
      return Promise.resolve({ done: false, value: item });
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  return(): Promise<IteratorResult<LiveItem>> {
    this.end();
    this.#queue = [];
    this.#read = 0;
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends after what is queued has been read. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    this.#waiting?.({ done: true, value: undefined });
    this.#waiting = undefined;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
