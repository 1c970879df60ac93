/**
 * The whole outside world of the runtime, besides the store, the models and the tools. Nothing else in core touches a
 * clock, a timer, randomness or ids, so a simulation that replaces this object replaces the world.
 */
export interface Effects {
  readonly clock: Clock;
  readonly timers: Timers;
  /** A number in [0, 1). */
  random(): number;
  /** A new id: time-ordered, matches `[A-Za-z0-9_-]{1,64}`, starts with `prefix` and an underscore. */
  id(prefix: string): string;
  /** Validates `value` against a bare JSON Schema. Schemas that bring their own validation do not need it. */
  validate?(schema: unknown, value: unknown): Validation;
}

export interface Clock {
  /** Wall clock, UTC, milliseconds. May jump. For display and for moments agreed with others. */
  now(): number;
  /** Milliseconds that only grow. For durations and for the validity of our own lease. */
  monotonic(): number;
}

export interface Timers {
  /** Runs `fn` once after `ms` milliseconds; returns the cancellation. `ms` is at most {@link limit.timerMs}. */
  after(ms: number, fn: () => void): () => void;
}

export type Validation = { ok: true; value: unknown } | { ok: false; issues: string[] };
