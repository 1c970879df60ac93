/**
 * Time, and the order of everything: a heap of events, one after another, each followed by whatever needs no time.
 *
 * Owns: the clock, the order, the trace. Does not own: what happens. Invariants:
 * 1. Nothing happens but by an event; events of one moment happen in the order in which they were set.
 * 2. The same seed gives the same trace: no real time, no other randomness, and no I/O but a store's, whose answers are
 *    waited for one by one.
 */
import { Random } from "./random.ts";

interface Event {
  at: number;
  order: number;
  label: string;
  happen: (() => void) | undefined;
}

/** What the last events of a trace are kept for: the report of a failure. */
const keptLabels = 60;

export class World {
  readonly random: Random;
  /** Milliseconds since the world began. */
  now = 0;
  /** Events that have happened. */
  happened = 0;
  /** Of every label so far, in order. */
  hash = 0x811c9dc5;
  readonly #heap: Event[] = [];
  readonly #owed: Promise<unknown>[] = [];
  readonly #labels: { at: number; label: string }[] = [];
  #order = 0;
  #ids = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  /** The last things that happened, oldest first. */
  get labels(): readonly string[] {
    return this.#labels.slice(-keptLabels).map(({ at, label }) => `${Math.round(at)} ${label}`);
  }

  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${String(this.#ids).padStart(5, "0")}`;
  }

  /** Returns the cancellation. */
  after(ms: number, label: string, happen: () => void): () => void {
    const event: Event = { at: this.now + Math.max(0, ms), order: this.#order++, label, happen };
    this.#push(event);
    return () => {
      event.happen = undefined;
    };
  }

  /** Writes into the trace. */
  note(label: string): void {
    let hash = this.hash;
    for (let at = 0; at < label.length; at += 1) hash = Math.imul(hash ^ label.charCodeAt(at), 0x01000193);
    this.hash = Math.imul(hash ^ Math.floor(this.now), 0x01000193) >>> 0;
    this.#labels.push({ at: this.now, label });
    if (this.#labels.length > keptLabels * 4) this.#labels.splice(0, keptLabels * 3);
  }

  /** Lets the next event happen, and all that follows from it without time. False: nothing is left. */
  async step(): Promise<boolean> {
    for (;;) {
      const event = this.#pop();
      if (!event) return false;
      const { happen } = event;
      if (!happen) continue;
      event.happen = undefined;
      this.now = Math.max(this.now, event.at);
      this.happened += 1;
      this.note(event.label);
      happen();
      await settled();
      if (this.#owed.length > 0) await this.settled();
      return true;
    }
  }

  /** Nothing else happens before this answer has come: it is from outside, and has its own time. */
  owe(answer: Promise<unknown>): void {
    this.#owed.push(answer);
  }

  /** All that needs no time has happened, and no answer is owed. */
  async settled(): Promise<void> {
    for (await settled(); this.#owed.length > 0; await settled()) await Promise.allSettled(this.#owed.splice(0));
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (!above || !before(event, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (!top || !last || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const left = heap[child];
      const right = heap[child + 1];
      if (!left) break;
      if (right && before(right, left)) child += 1;
      const least = heap[child];
      if (!least || !before(least, last)) break;
      heap[at] = least;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/**
 * All promises that can settle have: a tick runs when no microtask is left, and nothing in this world waits for anything
 * but promises and events. A turn of the event loop would do the same at several times the cost.
 */
export function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
