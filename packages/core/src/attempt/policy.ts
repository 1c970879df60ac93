/**
 * Recovery policy: data that a user may change, never code. Presets are rows of the same table.
 */
import { limit } from "../limit.ts";
import type { FailureKind } from "../log/value.ts";

/**
 * - `default`: reasoning alone is sealed, everything else uncommitted is discarded and retried.
 * - `replace`: reasoning is discarded too; any entered tool stops.
 * - `preserve`: text, tool activity or signed state stops.
 */
export type Preset = "default" | "replace" | "preserve";

export interface RecoveryPolicy {
  preset: Preset;
  /** Overrides per kind: whether a failure of that kind may be retried at all. Never overrides a row that says stop. */
  retry: Partial<Record<FailureKind, "retry" | "stop">>;
  backoff: Backoff;
  /** The longest wait a provider may ask of us, ms; beyond it the turn ends rate-limited until then. */
  retryAfterCapMs: number;
  attemptsPerStep: number;
  attemptsPerTurn: number;
  sealsPerStep: number;
}

export interface Backoff {
  firstMs: number;
  /** Each wait is up to this many times the one before. */
  factor: number;
  capMs: number;
}

export const defaultPolicy: RecoveryPolicy = {
  preset: "default",
  retry: {},
  // Half a second forgives a dead pooled connection; 30 s is as long as a person watches without asking why.
  backoff: { firstMs: 500, factor: 2, capMs: 30_000 },
  // A minute can be watched; more is an appointment, and the turn says until when.
  retryAfterCapMs: 60_000,
  attemptsPerStep: limit.attemptsPerStep,
  attemptsPerTurn: limit.attemptsPerTurn,
  sealsPerStep: limit.sealsPerStep,
};

/** The policy with a user's changes laid over the default. */
export function policyOf(changes: Partial<RecoveryPolicy> = {}): RecoveryPolicy {
  return { ...defaultPolicy, ...changes, retry: { ...defaultPolicy.retry, ...changes.retry } };
}

/** The wait before attempt `number + 1`, with equal jitter: at least half, so that a floor remains. */
export function backoffMs(backoff: Backoff, number: number, jitter: number): number {
  const full = Math.min(backoff.capMs, backoff.firstMs * backoff.factor ** (number - 1));
  return Math.round(full / 2 + (full / 2) * jitter);
}
