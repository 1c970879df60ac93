/** How a recovered model says that a call has failed for good: the classified failure, and what was thrown. */
import type { Decision, Exposure, Failure } from "../log/value.ts";

export interface FailedCall {
  failure: Failure;
  decision: Decision;
  exposure: Exposure;
  attempts: number;
}

/**
 * What a recovered model rejects with, or gives as its last `error` part, once nothing more is asked.
 *
 * `failure` says what happened (`kind`, `status`, `retryAfterMs`), `decision` why it ended here (and, where a provider
 * asked for more patience than the policy has, `until` when), `exposure` what the consumer had been given by then.
 * `cause` is what the provider package threw or sent, untouched: an `APICallError` holds the whole prompt, so keep it out of logs.
 *
 * It is no `APICallError` and says `isRetryable: false`: neither the AI SDK's `maxRetries` nor a Pawl session asks again
 * on top of what was already asked.
 */
export class ModelCallFailed extends Error {
  readonly isRetryable = false;
  readonly failure: Failure;
  readonly decision: Decision;
  readonly exposure: Exposure;
  /** Requests that were made for this call. */
  readonly attempts: number;

  constructor({ failure, decision, exposure, attempts }: FailedCall, cause: unknown) {
    const made = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
    super(`${failure.message} (${failure.kind}, ${made}; ${decision.reason})`, cause === undefined ? {} : { cause });
    this.name = "ModelCallFailed";
    this.failure = failure;
    this.decision = decision;
    this.exposure = exposure;
    this.attempts = attempts;
  }
}
