/**
 * Work that must keep its order, one lane a session: connections of a pool do not.
 */
export class Lanes {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Begins when everything given to this lane before has ended, however it ended. */
  async after<T>(lane: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(lane);
    const running = before === undefined ? work() : before.then(work, work);
    // The next one waits for the end, and nobody hears twice of a failure.
    const tail = running.catch(() => {});
    this.#tails.set(lane, tail);
    try {
      return await running;
    } finally {
      if (this.#tails.get(lane) === tail) this.#tails.delete(lane);
    }
  }
}
