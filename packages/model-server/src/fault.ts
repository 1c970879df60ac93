import type { Protocol } from "./protocol/protocol.ts";
import type { Fault } from "./script.ts";

/**
 * The error bodies of the three protocols: of a status, and of a frame inside a stream. Types and messages are those
 * the real endpoints are known to send.
 */

export interface OpenAIError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

interface Known {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
}

const ANTHROPIC: Readonly<Record<number, Known>> = {
  400: { type: "invalid_request_error", message: "Error" },
  401: { type: "authentication_error", message: "invalid x-api-key" },
  402: { type: "billing_error", message: "Your credit balance is too low to access the Anthropic API." },
  403: { type: "permission_error", message: "Your API key does not have permission to use the specified resource." },
  404: { type: "not_found_error", message: "Not Found" },
  413: { type: "request_too_large", message: "Request exceeds the maximum size" },
  429: {
    type: "rate_limit_error",
    message: "This request would exceed your account's rate limit. Please try again later.",
  },
  500: { type: "api_error", message: "Internal server error" },
  503: { type: "api_error", message: "Service Unavailable" },
  504: { type: "timeout_error", message: "Request timed out" },
  529: { type: "overloaded_error", message: "Overloaded" },
};

const OPENAI: Readonly<Record<number, Known>> = {
  400: { type: "invalid_request_error", message: "Invalid request." },
  401: { type: "invalid_request_error", message: "Incorrect API key provided.", code: "invalid_api_key" },
  403: {
    type: "invalid_request_error",
    message: "You do not have access to this resource.",
    code: "unsupported_country_region_territory",
  },
  404: { type: "invalid_request_error", message: "The requested resource does not exist.", code: "not_found" },
  429: { type: "requests", message: "Rate limit reached. Please try again later.", code: "rate_limit_exceeded" },
  500: { type: "server_error", message: "The server had an error while processing your request. Sorry about that!" },
  503: {
    type: "server_error",
    message: "The engine is currently overloaded, please try again later.",
    code: "server_overloaded",
  },
};

function known(protocol: Protocol, status: number): Known {
  const table = protocol === "anthropic" ? ANTHROPIC : OPENAI;
  const family = status >= 500 ? table[500] : table[400];
  return table[status] ?? family ?? { type: "server_error", message: `Status ${status}` };
}

/** The status whose error body has this type: what an in-band frame becomes for a request that does not stream. */
export function statusOfType(type: string): number {
  for (const table of [ANTHROPIC, OPENAI]) {
    const match = Object.entries(table).find(([, each]) => each.type === type || each.code === type);
    if (match !== undefined) return Number(match[0]);
  }
  return type === "insufficient_quota" ? 429 : 500;
}

export function anthropicError(type: string, message: string, requestId: string): unknown {
  return { type: "error", error: { type, message }, request_id: requestId };
}

export function openaiError(error: OpenAIError): unknown {
  return { error };
}

/** The body of an error status: the protocol's own for it, or the script's fault in the protocol's shape. */
export function statusBody(protocol: Protocol, status: number, requestId: string, fault?: Fault): unknown {
  const { type, message, code } = fault ?? known(protocol, status);
  if (protocol === "anthropic") return anthropicError(type, message, requestId);
  return openaiError({ message, type, param: null, code: code ?? null });
}
