/**
 * The tables that give a fault its kind where a provider has spoken: HTTP status, and the error types that providers
 * put into bodies and frames. One table each, shared by every path; an in-band error frame has the class of its twin.
 */
import type { FailureKind } from "../log/value.ts";

/** Whether a failure of a kind is worth another request at all. Safety to replay is the exposure's question. */
export const retryableKinds: Record<FailureKind, boolean> = {
  connect: true,
  "stream-broken": true,
  "rate-limited": true,
  overloaded: true,
  server: true,
  empty: true,
  overflow: false,
  quota: false,
  auth: false,
  rejected: false,
  "provider-state": false,
  filtered: false,
  aborted: false,
  "tool-runtime": false,
  store: false,
  unknown: false,
};

/** Undefined for 1xx to 3xx: there the status says nothing about the fault. */
export function kindOfStatus(status: number): FailureKind | undefined {
  if (status < 400) return undefined;
  switch (status) {
    case 401:
    case 403:
      return "auth";
    case 402:
      return "quota";
    case 413:
      return "overflow";
    case 429:
      return "rate-limited";
    case 503:
    case 529:
      return "overloaded";
    // Lock timeouts, early data, and relays that turn their own first-byte timeout into 499.
    case 408:
    case 409:
    case 425:
    case 499:
      return "server";
    // What the server cannot do at all it will not do a second later.
    case 501:
    case 505:
      return "rejected";
    default:
      return status >= 500 ? "server" : "rejected";
  }
}

const bodyTypes: Record<string, FailureKind> = {
  overloaded_error: "overloaded",
  overloaded: "overloaded",
  server_is_overloaded: "overloaded",
  server_overloaded: "overloaded",
  engine_overloaded: "overloaded",
  service_unavailable_error: "overloaded",
  service_unavailable: "overloaded",
  slow_down: "overloaded",
  UNAVAILABLE: "overloaded",
  rate_limit_error: "rate-limited",
  rate_limit_exceeded: "rate-limited",
  rate_limit_reached: "rate-limited",
  too_many_requests: "rate-limited",
  RESOURCE_EXHAUSTED: "rate-limited",
  api_error: "server",
  server_error: "server",
  internal_server_error: "server",
  internal_error: "server",
  timeout_error: "server",
  INTERNAL: "server",
  DEADLINE_EXCEEDED: "server",
  insufficient_quota: "quota",
  billing_error: "quota",
  billing_hard_limit_reached: "quota",
  billing_not_active: "quota",
  credit_balance_too_low: "quota",
  usage_limit_reached: "quota",
  quota_exceeded: "quota",
  authentication_error: "auth",
  permission_error: "auth",
  invalid_api_key: "auth",
  UNAUTHENTICATED: "auth",
  PERMISSION_DENIED: "auth",
  context_length_exceeded: "overflow",
  exceed_context_size_error: "overflow",
  request_too_large: "overflow",
  string_above_max_length: "overflow",
  model_context_window_exceeded: "overflow",
  invalid_encrypted_content: "provider-state",
  invalid_request_error: "rejected",
  invalid_prompt: "rejected",
  not_found_error: "rejected",
  model_not_found: "rejected",
  INVALID_ARGUMENT: "rejected",
  content_filter: "filtered",
  content_policy_violation: "filtered",
};

export function kindOfBodyType(type: string): FailureKind | undefined {
  return Object.hasOwn(bodyTypes, type) ? bodyTypes[type] : undefined;
}

/** Gateways put the upstream's status into a body that came with 200, as a number or as text. */
export function kindOfBodyCode(code: unknown): FailureKind | undefined {
  const number = typeof code === "string" && /^[45]\d\d$/.test(code) ? Number(code) : code;
  return typeof number === "number" && number >= 400 && number < 600 ? kindOfStatus(number) : undefined;
}
