/**
 * Recovery policy: data that a user may change, never code. Presets are rows of the same table.
 */
import { PawlError } from "../error.ts";
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
  /**
   * Overrides per kind: whether a failure of that kind may be retried at all. Never overrides a row that says stop, an
   * abort, a failure of the step, or a transport that said no.
   */
  retry: Partial<Record<FailureKind, "retry" | "stop">>;
  backoff: Backoff;
  /** The longest wait a provider may ask of us, ms; beyond it the turn ends rate-limited until then. */
  retryAfterCapMs: number;
  attemptsPerStep: number;
  attemptsPerTurn: number;
  sealsPerStep: number;
  /** No retry begins that would end its wait after so much of the turn, ms: attempts, waits, tools; not people. */
  elapsedMsPerTurn?: number;
  /** No retry begins once a turn has cost this much, in units of the price list. */
  costPerTurn?: number;
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

/** The policy with a user's changes laid over the default. Fails with INVALID_INPUT for a figure that bounds nothing. */
export function policyOf(changes: Partial<RecoveryPolicy> = {}): RecoveryPolicy {
  const policy = { ...defaultPolicy, ...changes, retry: { ...defaultPolicy.retry, ...changes.retry } };
  const { backoff, retryAfterCapMs, attemptsPerStep, attemptsPerTurn, sealsPerStep } = policy;
  const { elapsedMsPerTurn = 0, costPerTurn = 0 } = policy;
  check("backoff.firstMs", backoff.firstMs, limit.timerMs);
  check("backoff.factor", backoff.factor, 1_000);
  check("backoff.capMs", backoff.capMs, limit.timerMs);
  check("retryAfterCapMs", retryAfterCapMs, limit.timerMs);
  check("attemptsPerStep", attemptsPerStep, limit.attemptsPerTurn);
  check("attemptsPerTurn", attemptsPerTurn, limit.attemptsPerTurn);
  check("sealsPerStep", sealsPerStep, limit.attemptsPerTurn);
  check("elapsedMsPerTurn", elapsedMsPerTurn, Number.MAX_VALUE);
  check("costPerTurn", costPerTurn, Number.MAX_VALUE);
  return policy;
}

function check(name: string, value: number, atMost: number): void {
  if (typeof value === "number" && value >= 0 && value <= atMost) return;
  throw new PawlError("INVALID_INPUT", `recovery.${name} is ${value}; use a number from 0 to ${atMost}`);
}

/** The wait before attempt `number + 1`, with equal jitter: at least half, so that a floor remains. */
export function backoffMs(backoff: Backoff, number: number, jitter: number): number {
  const full = Math.min(backoff.capMs, backoff.firstMs * Math.min(backoff.factor ** (number - 1), Number.MAX_VALUE));
  return Math.round(full / 2 + (full / 2) * jitter);
}
