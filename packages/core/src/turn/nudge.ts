/** A person's word that a wait has lasted long enough. Where nothing waits it does nothing. */
export class Nudge {
  readonly #waits = new Set<() => void>();

  now(): void {
    for (const end of this.#waits) end();
  }

  /** `end` is called at most until the returned function is. */
  during(end: () => void): () => void {
    this.#waits.add(end);
    return () => this.#waits.delete(end);
  }
}
