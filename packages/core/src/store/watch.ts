/**
 * Who wants to hear about which session, inside one process.
 *
 * Owns: the list of watchers. Does not own: how a store learns of other processes' work (each store).
 */
import type { News } from "./store.ts";

export class Watchers {
  readonly #bySession = new Map<string, Set<(news: News) => void>>();

  add(session: string, notify: (news: News) => void): () => void {
    // A wrapper, so that the same function may watch twice and each end ends one of them.
    const entry = (news: News): void => notify(news);
    const entries = this.#bySession.get(session) ?? new Set();
    this.#bySession.set(session, entries.add(entry));
    return () => {
      entries.delete(entry);
      if (entries.size === 0 && this.#bySession.get(session) === entries) this.#bySession.delete(session);
    };
  }

  get sessions(): string[] {
    return [...this.#bySession.keys()];
  }

  get size(): number {
    return this.#bySession.size;
  }

  /** In a microtask: a watcher that throws is its owner's bug and must not look like a failed append. */
  notify(session: string, news: News): void {
    for (const entry of this.#bySession.get(session) ?? []) queueMicrotask(() => entry(news));
  }

  notifyAll(): void {
    for (const session of this.sessions) this.notify(session, "any");
  }
}
