/**
 * Live items to any number of subscribers.
 *
 * A slow subscriber costs no more than what it has not read: deltas that wait are joined, of a tool's progress the last
 * word waits, facts are kept whole and in order. No fact and no text is dropped, and nobody waits for anybody. Whoever
 * comes late is told which questions are open, and that the store is full.
 */
import type { LiveItem } from "./live.ts";

type Delta = Extract<LiveItem, { type: "part.delta" }>;
type Question = Extract<LiveItem, { type: "approval.pending" }>;
type Paused = Extract<LiveItem, { type: "paused" }>;
type Progress = Extract<LiveItem, { type: "tool.progress" }>;

export class Feed {
  readonly #subscribers = new Set<Subscription>();
  /** Questions that are open, by approval. */
  readonly #questions = new Map<string, Question>();
  #paused: Paused | undefined;
  #ended = false;

  push(item: LiveItem): void {
    this.#keep(item);
    for (const subscriber of this.#subscribers) subscriber.push(item);
  }

  /** Whether anybody listens now. */
  get heard(): boolean {
    return this.#subscribers.size > 0;
  }

  delta(attempt: string, part: string, kind: Delta["kind"], text: string): void {
    for (const subscriber of this.#subscribers) subscriber.delta(attempt, part, kind, text);
  }

  /** Hears everything from now on, until it returns or the feed ends. */
  subscribe(): Subscription {
    const subscription = new Subscription(() => this.#subscribers.delete(subscription));
    if (this.#ended) subscription.end();
    else this.#subscribers.add(subscription);
    for (const question of this.#questions.values()) subscription.push(question);
    if (this.#paused) subscription.push(this.#paused);
    return subscription;
  }

  end(): void {
    this.#ended = true;
    for (const subscriber of this.#subscribers) subscriber.end();
  }

  #keep(item: LiveItem): void {
    if (item.type === "paused") this.#paused = item;
    if (item.type === "resumed") this.#paused = undefined;
    if (item.type === "approval.pending") this.#questions.set(item.approval.approval, item);
    if (item.type !== "entry" || this.#questions.size === 0) return;
    const { event } = item.entry;
    for (const [id, { approval }] of this.#questions) {
      const over =
        event.type === "turn.ended" ||
        (event.type === "approval.resolved" && event.approval === id) ||
        (event.type === "tool.settled" && event.call === approval.call);
      if (over) this.#questions.delete(id);
    }
  }
}

export class Subscription implements AsyncIterableIterator<LiveItem> {
  #queue: LiveItem[] = [];
  #read = 0;
  /** The last queued item if it is a delta nobody has read: the next one of its part joins it. */
  #open: Delta | undefined;
  /** Progress nobody has read, by call. */
  readonly #progress = new Map<string, Progress>();
  readonly #waiting: ((result: IteratorResult<LiveItem>) => void)[] = [];
  #ended = false;
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  push(item: LiveItem): void {
    if (this.#ended) return;
    const waiting = this.#waiting.shift();
    if (waiting) return waiting({ done: false, value: item });
    if (item.type === "tool.progress") return this.#pushProgress(item);
    this.#open = undefined;
    this.#queue.push(item);
  }

  delta(attempt: string, part: string, kind: Delta["kind"], text: string): void {
    if (this.#open && this.#open.part === part) {
      this.#open.text += text;
      return;
    }
    const item: Delta = { type: "part.delta", attempt, part, kind, text };
    const queued = this.#waiting.length === 0;
    this.push(item);
    if (queued && !this.#ended) this.#open = item;
  }

  next(): Promise<IteratorResult<LiveItem>> {
    const item = this.#queue[this.#read];
    if (item) {
      if (item === this.#open) this.#open = undefined;
      if (item.type === "tool.progress") this.#progress.delete(item.call);
      this.#read += 1;
      if (this.#read === this.#queue.length) this.#forget();
      return Promise.resolve({ done: false, value: item });
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    const { promise, resolve } = Promise.withResolvers<IteratorResult<LiveItem>>();
    this.#waiting.push(resolve);
    return promise;
  }

  return(): Promise<IteratorResult<LiveItem>> {
    this.end();
    this.#forget();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends after what is queued has been read. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    for (const waiting of this.#waiting.splice(0)) waiting({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #pushProgress({ call, data }: Progress): void {
    const waiting = this.#progress.get(call);
    if (waiting) {
      waiting.data = data;
      return;
    }
    // A copy: what other subscribers hear must not change under them.
    const item: Progress = { type: "tool.progress", call, data };
    this.#progress.set(call, item);
    this.#queue.push(item);
  }

  #forget(): void {
    this.#queue = [];
    this.#read = 0;
  }
}
