/**
 * Time, and the order of everything: a heap of events, one after another, each followed by whatever needs no time.
 *
 * Owns: the clock, the order, the trace. Does not own: what happens. Invariants:
 * 1. Nothing happens but by an event; events of one moment happen in the order in which they were set.
 * 2. The same seed gives the same trace: no real time, no other randomness, no I/O.
 */
import { Random } from "./random.ts";

interface Event {
  at: number;
  order: number;
  /** Of what happens. In two pieces: most labels are only counted into the trace, and never read. */
  who: string;
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
  /** Of the last labels, each in the place of the one that is `keptLabels` older. */
  readonly #labels: { at: number; who: string; label: string }[] = [];
  #noted = 0;
  #order = 0;
  #ids = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  /** The last things that happened, oldest first. */
  get labels(): readonly string[] {
    const oldest = this.#labels.length < keptLabels ? 0 : this.#noted % keptLabels;
    return [...this.#labels.slice(oldest), ...this.#labels.slice(0, oldest)].map(
      ({ at, who, label }) => `${Math.round(at)} ${who === "" ? label : `${who} ${label}`}`,
    );
  }

  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${String(this.#ids).padStart(5, "0")}`;
  }

  /** Returns the cancellation. */
  after(ms: number, label: string, happen: () => void, who = ""): () => void {
    const event: Event = { at: this.now + Math.max(0, ms), order: this.#order++, who, label, happen };
    this.#push(event);
    return () => {
      event.happen = undefined;
    };
  }

  /** Writes into the trace. */
  note(label: string, who = ""): void {
    const hash = mixed(who === "" ? this.hash : mixed(mixed(this.hash, who), " "), label);
    this.hash = Math.imul(hash ^ Math.floor(this.now), 0x01000193) >>> 0;
    this.#labels[this.#noted % keptLabels] = { at: this.now, who, label };
    this.#noted += 1;
  }

  /**
   * Lets events happen, each followed by all that needs no time, until `goesOn` says no, nothing is left, or `most` have.
   * `goesOn` is asked before each, with how many have happened here. Not a loop that awaits: three promises an event.
   */
  run(most: number, goesOn: (events: number) => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let events = 0;
    const next = (): void => {
      try {
        if (!goesOn(events) || events >= most || !this.#happen()) return resolve();
      } catch (error) {
        return reject(error);
      }
      events += 1;
      process.nextTick(settle);
    };
    // Behind a tick no promise is waiting; what happens next happens in a promise's turn again, so that ticks wait for it.
    const settle = (): void => void atOnce.then(next);
    process.nextTick(settle);
    return promise;
  }

  /** False: nothing is left. */
  #happen(): boolean {
    for (;;) {
      const event = this.#pop();
      if (!event) return false;
      const { happen } = event;
      if (!happen) continue;
      event.happen = undefined;
      this.now = Math.max(this.now, event.at);
      this.happened += 1;
      this.note(event.label, event.who);
      happen();
      return true;
    }
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

const atOnce = Promise.resolve();

function mixed(hash: number, text: string): number {
  let sum = hash;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return sum;
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
