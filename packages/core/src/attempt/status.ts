/**
 * The tables that give a fault its kind: HTTP status, the error types providers put into bodies and frames, the codes
 * of sockets, HTTP/2 and TLS. One table each, shared by every path; an in-band error frame has the class of its twin.
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

/** Undefined for 2xx and 3xx: there the status says nothing about the fault. */
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
    default:
      return status >= 500 && status !== 501 && status !== 505 ? "server" : "rejected";
  }
}

const bodyTypes: Record<string, FailureKind> = {
  overloaded_error: "overloaded",
  server_is_overloaded: "overloaded",
  service_unavailable_error: "overloaded",
  slow_down: "overloaded",
  rate_limit_error: "rate-limited",
  rate_limit_exceeded: "rate-limited",
  too_many_requests: "rate-limited",
  api_error: "server",
  server_error: "server",
  internal_server_error: "server",
  internal_error: "server",
  timeout_error: "server",
  insufficient_quota: "quota",
  billing_error: "quota",
  billing_hard_limit_reached: "quota",
  billing_not_active: "quota",
  credit_balance_too_low: "quota",
  usage_limit_reached: "quota",
  authentication_error: "auth",
  permission_error: "auth",
  invalid_api_key: "auth",
  context_length_exceeded: "overflow",
  request_too_large: "overflow",
  string_above_max_length: "overflow",
  model_context_window_exceeded: "overflow",
  invalid_encrypted_content: "provider-state",
  invalid_request_error: "rejected",
  invalid_prompt: "rejected",
  not_found_error: "rejected",
  model_not_found: "rejected",
  content_filter: "filtered",
  content_policy_violation: "filtered",
};

export function kindOfBodyType(type: string): FailureKind | undefined {
  return Object.hasOwn(bodyTypes, type) ? bodyTypes[type] : undefined;
}

/** Words of a rejected request that mean something narrower. Anchored, and read only where the request was rejected. */
const rejectedWords: [RegExp, FailureKind][] = [
  [
    /\bprompt is too long\b|\bcontext (length|window)\b.*\bexceed|\bmaximum context length\b|\binput (is|length).*too (long|large)\b/i,
    "overflow",
  ],
  [
    /\bsignature\b.*\bthinking\b|\bthinking\b.*\bblocks?\b.*\bcannot be modified\b|\bencrypted content\b.*\b(verified|decrypted|invalid)\b|\bItem with id '[^']+' not found\b/i,
    "provider-state",
  ],
  [
    /\bcredit balance is too low\b|\bexceeded your current quota\b|\b(monthly|weekly|usage|spending) (usage )?limit\b.*\b(reached|exceeded)\b/i,
    "quota",
  ],
];

export function narrowed(kind: FailureKind, text: string): FailureKind {
  if (kind !== "rejected" && kind !== "rate-limited" && kind !== "auth") return kind;
  for (const [words, narrower] of rejectedWords) {
    if (kind === "rate-limited" && narrower !== "quota") continue;
    if (words.test(text)) return narrower;
  }
  return kind;
}

export type TransportFault = "transient" | "configuration";

const transientCodes = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ESOCKETTIMEDOUT",
  "EAI_AGAIN",
  "ENOTFOUND",
  "ENETUNREACH",
  "ENETDOWN",
  "ENETRESET",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "EADDRNOTAVAIL",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_SOCKET_CONNECTION_TIMEOUT",
  "ConnectionClosed",
  "ConnectionRefused",
  "FailedToOpenSocket",
]);

/** Socket, undici, HTTP/2 and TLS codes. A certificate or a protocol setting does not heal by itself; an alert does. */
export function transportFault(code: string): TransportFault | undefined {
  if (
    transientCodes.has(code) ||
    /^UND_ERR_(SOCKET|CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|CLOSED|DESTROYED|INFO)$/.test(code)
  ) {
    return "transient";
  }
  if (/^ERR_HTTP2_/.test(code) || /^HPE_/.test(code)) return "transient";
  if (
    /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|ERR_SSL_(WRONG_VERSION|UNSUPPORTED|NO_PROTOCOLS|TLSV1_ALERT_PROTOCOL))/.test(
      code,
    )
  ) {
    return "configuration";
  }
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO$)/.test(code)) return "transient";
  return undefined;
}

/** Sentences of runtimes that give no code. Whole sentences or anchored starts, never a word inside a body. */
const transportWords =
  /^(terminated|fetch failed|socket hang up|premature close|other side closed|network ?error|failed to fetch|aborted due to timeout|stream half-closed \(remote\)|the socket connection was closed unexpectedly.*|the operation timed out\.?|connection (closed|reset|refused|error|lost).*|http\/2: .*goaway.*|.*\bgoaway\b.*|.*\bbad[ _]record[ _]mac\b.*|.*tls[^ ]* alert .*internal error.*|stream (closed|ended) (prematurely|unexpectedly).*|unexpected end of (file|stream|json input))$/i;

export function soundsLikeTransport(message: string): boolean {
  return transportWords.test(message.trim());
}
