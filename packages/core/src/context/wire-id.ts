/**
 * The call ids a request carries: the provider's own where they can be, made unique where they repeat.
 *
 * A map per target, filled in log order: the same log gives the same ids, and an id once given never changes, since
 * the prefix it stands in is cached (L10). Injective: two calls of a session never share one.
 */

/** The least that an endpoint takes: OpenAI's chat refuses ids of more than 40 characters. */
const lengthMax = 40;
const allowed = /^[A-Za-z0-9_-]{1,40}$/;
/** What a provider ran has to keep the id by which the provider knows it, and goes to nobody else. */
const allowedExecuted = /^[A-Za-z0-9_-]{1,64}$/;

export class WireIds {
  /** Every id given out, with the next suffix to try for it. */
  readonly #used = new Map<string, number>();

  /** The wire id of the next call, in log order. */
  next(providerId: string, callId: string, executed = false): string {
    const fits = (executed ? allowedExecuted : allowed).test(providerId);
    const base = fits ? providerId : callId.slice(0, lengthMax);
    let id = base;
    for (let occurrence = this.#used.get(base) ?? 1; this.#used.has(id); ) {
      occurrence += 1;
      const suffix = `_${occurrence}`;
      id = base.slice(0, lengthMax - suffix.length) + suffix;
      // A server that gives every call the same id must not make the thousandth one search from the start.
      this.#used.set(base, occurrence);
    }
    this.#used.set(id, 1);
    return id;
  }
}
