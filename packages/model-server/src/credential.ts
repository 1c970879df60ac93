import type { IncomingHttpHeaders } from "node:http";
import type { Protocol } from "./protocol/protocol.ts";

/** Why the headers of a request are refused before its body is looked at. */
export interface CredentialFault {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly code?: string;
}

function bearer(headers: IncomingHttpHeaders): string | undefined {
  return headers.authorization?.replace(/^Bearer\s+/i, "");
}

function openaiFault(key: string | undefined): CredentialFault {
  const type = "invalid_request_error";
  if (key === undefined || key === "") {
    const message =
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth " +
      "(i.e. Authorization: Bearer YOUR_KEY).";
    return { status: 401, type, message };
  }
  // The real endpoint shows the key masked; a whole key has no place in an error that will be logged.
  const message = `Incorrect API key provided: ${key.slice(0, 2)}***. You can find your API key at https://platform.openai.com/account/api-keys.`;
  return { status: 401, type, message, code: "invalid_api_key" };
}

/** `apiKey` undefined lets every key in, and none at all. */
export function credentialFault(
  protocol: Protocol,
  headers: IncomingHttpHeaders,
  apiKey: string | undefined,
): CredentialFault | undefined {
  if (protocol !== "anthropic") {
    const key = bearer(headers);
    return apiKey === undefined || key === apiKey ? undefined : openaiFault(key);
  }
  const key = [headers["x-api-key"]].flat()[0] ?? bearer(headers);
  if (apiKey !== undefined && key !== apiKey) {
    const message = key === undefined ? "x-api-key header is required" : "invalid x-api-key";
    return { status: 401, type: "authentication_error", message };
  }
  if (headers["anthropic-version"] !== undefined) return undefined;
  return { status: 400, type: "invalid_request_error", message: "anthropic-version: header is required" };
}
