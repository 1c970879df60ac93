/**
 * The right to drive, kept alive.
 *
 * Owns: acquiring, renewing, giving back, and knowing by our own monotonic clock whether it still holds: a process that
 * slept finds its lease expired before it asks anyone. The store fences whatever comes too late all the same (L8).
 */
import type { Effects } from "../effects.ts";
import { isPawlError, PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import type { Holder, LeaseInfo, Store } from "../store/store.ts";

export class DriverLease {
  readonly epoch: number;
  readonly #store: Store;
  readonly #session: string;
  readonly #effects: Effects;
  readonly #lost = new AbortController();
  #validUntil: number;
  #released = false;
  #cancel: (() => void) | undefined;

  private constructor(store: Store, session: string, effects: Effects, epoch: number, askedAt: number) {
    this.#store = store;
    this.#session = session;
    this.#effects = effects;
    this.epoch = epoch;
    this.#validUntil = askedAt + limit.leaseMs;
    this.#schedule();
  }

  /** Fails with SESSION_BUSY, naming the holder, while another live driver has it. */
  static async acquire(store: Store, session: string, holder: Holder, effects: Effects): Promise<DriverLease> {
    const askedAt = effects.clock.monotonic();
    const answer = await store.acquireLease(session, holder, limit.leaseMs);
    if (!answer.granted) throw busy(session, answer.held);
    return new DriverLease(store, session, effects, answer.epoch, askedAt);
  }

  /** A lease that the store has granted with `claimWork`, asked for at `askedAt` of our monotonic clock. */
  static adopt(store: Store, session: string, effects: Effects, epoch: number, askedAt: number): DriverLease {
    return new DriverLease(store, session, effects, epoch, askedAt);
  }

  /** Aborts when the lease could not be renewed in time, or another driver was seen to have it. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  assertValid(): void {
    if (this.#lost.signal.aborted || this.#effects.clock.monotonic() >= this.#validUntil) {
      throw new PawlError(
        "FENCED",
        `session ${this.#session}: our lease (epoch ${this.epoch}) is no longer valid; another process may drive it`,
      );
    }
  }

  /**
   * As `assertValid`, but a lease that has only run out by our clock, in a process that slept or was held up, is asked for
   * again: where nobody took over, the store says so in one step, and what was done meanwhile can be recorded. Fails with
   * STORE_FULL where the disk has no room for the answer. Undefined: it is valid, and there is nothing to wait for.
   */
  hold(): Promise<void> | undefined {
    if (!this.#lost.signal.aborted && this.#effects.clock.monotonic() >= this.#validUntil) return this.#regain();
    this.assertValid();
    return undefined;
  }

  async #regain(): Promise<void> {
    const askedAt = this.#effects.clock.monotonic();
    const renewed = await this.#store.renewLease(this.#session, this.epoch, limit.leaseMs).catch((error: unknown) => {
      if (isPawlError(error, "STORE_FULL")) throw error;
      return false;
    });
    if (renewed) this.#validUntil = askedAt + limit.leaseMs;
    this.assertValid();
  }

  /** The store has said that another driver took over. */
  lose(reason: unknown): void {
    this.#lost.abort(reason);
  }

  /** It is renewed no more, and not given back either: it runs out. */
  rest(): void {
    this.#released = true;
    this.#cancel?.();
  }

  async release(): Promise<void> {
    this.#released = true;
    this.#cancel?.();
    await this.#store.releaseLease(this.#session, this.epoch);
  }

  #schedule(): void {
    this.#cancel = this.#effects.timers.after(limit.leaseMs / 3, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { clock } = this.#effects;
    const askedAt = clock.monotonic();
    let full = false;
    // A store that does not answer is no proof of a loss: the clock decides when the lease has run out.
    const asked = this.#store.renewLease(this.#session, this.epoch, limit.leaseMs).catch((error: unknown) => {
      full = isPawlError(error, "STORE_FULL");
      return undefined;
    });
    // However long the store itself may wait: by then somebody else may drive. Whoever slept gets a moment to ask.
    const renewed = await this.#before(asked, Math.max(this.#validUntil - askedAt, limit.leaseMs / 3));
    if (this.#released) return;
    if (renewed === true) this.#validUntil = askedAt + limit.leaseMs;
    // On a full disk nobody can take over either: nothing new is entered, and what runs may end.
    const expired = !full && this.#effects.clock.monotonic() >= this.#validUntil;
    if (renewed === false || expired)
      this.lose(new PawlError("FENCED", `session ${this.#session}: the lease was lost`));
    else this.#schedule();
  }

  async #before<T>(asked: Promise<T>, ms: number): Promise<T | undefined> {
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    this.#cancel = this.#effects.timers.after(ms, () => resolve(undefined));
    const answer = await Promise.race([asked, late]);
    this.#cancel();
    return answer;
  }
}

function busy(session: string, { holder }: LeaseInfo): PawlError {
  return new PawlError(
    "SESSION_BUSY",
    `session ${session} is being driven by process ${holder.pid} on ${holder.host}; wait until it ends, or fork the session`,
  );
}
