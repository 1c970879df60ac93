/**
 * Named gates: a `hold` step waits at one until the test releases it, so tests order events without sleeping. A
 * release that comes before its hold counts for the next hold of that name.
 */
export class Gates {
  readonly #permits = new Map<string, number>();
  readonly #waiting: { name: string; open: () => void }[] = [];
  readonly #watchers: { name: string; seen: () => void }[] = [];

  /** Resolves at the release, or when the signal aborts. */
  hold(name: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const permits = this.#permits.get(name) ?? 0;
    if (permits > 0) this.#permits.set(name, permits - 1);
    if (permits > 0 || signal.aborted) {
      resolve();
    } else {
      const entry = { name, open: resolve };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        resolve();
      };
      entry.open = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      this.#waiting.push(entry);
      signal.addEventListener("abort", leave, { once: true });
    }
    for (const watcher of this.#watchers.filter((each) => each.name === name)) {
      this.#watchers.splice(this.#watchers.indexOf(watcher), 1);
      watcher.seen();
    }
    return promise;
  }

  release(name: string): void {
    const at = this.#waiting.findIndex((each) => each.name === name);
    if (at < 0) {
      this.#permits.set(name, (this.#permits.get(name) ?? 0) + 1);
      return;
    }
    const [entry] = this.#waiting.splice(at, 1);
    entry?.open();
  }

  /** Resolves when a response waits (or next comes to wait) at this gate. */
  reached(name: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#waiting.some((each) => each.name === name)) resolve();
    else this.#watchers.push({ name, seen: resolve });
    return promise;
  }
}
