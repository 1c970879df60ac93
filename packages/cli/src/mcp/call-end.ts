/** What the end of a call says of its effect. Pure. */
import { visibleLine } from "../tools/text.ts";
import { streamEndedCode } from "./http-transport.ts";
import { NotSent } from "./program-transport.ts";
import type { Answer } from "./tool-answer.ts";

export type CallEnd =
  | { type: "answered"; answer: Answer }
  /** The server says that it does not do it. */
  | { type: "refused"; why: string }
  | { type: "not-sent"; why: string }
  | { type: "unknown"; why: string };

/** Of what a failed request says: whether the call can have been received. In doubt it can. */
export function callEnd(error: unknown, account: (why: string) => string): CallEnd {
  const { code, status, name } = (error ?? {}) as { code?: unknown; status?: unknown; name?: unknown };
  const why = messageOf(error);
  if (error instanceof NotSent || code === "NOT_CONNECTED" || why === "Not connected")
    return { type: "not-sent", why: account(why) };
  if (code === streamEndedCode) return { type: "unknown", why };
  // Its answer, by the protocol: a number, and no status of a connection.
  if (name === "ProtocolError" || (typeof code === "number" && status === undefined)) return { type: "refused", why };
  if (typeof status === "number") return httpEnd(status, why);
  if (code === "INVALID_RESULT") return { type: "unknown", why: `what it answered is no result (${why})` };
  if (neverArrived(error)) return { type: "not-sent", why };
  return { type: "unknown", why: account(code === "CONNECTION_CLOSED" ? "it ended before it answered" : why) };
}

function httpEnd(status: number, why: string): CallEnd {
  // The session is gone (by the protocol 404, by many servers 400): a new one is begun, and the call was not taken.
  if (status === 404 || (status === 400 && /session/i.test(why))) return { type: "not-sent", why };
  return status >= 400 && status < 500 ? { type: "refused", why } : { type: "unknown", why };
}

/** No connection came about: nobody can have read anything. */
function neverArrived(error: unknown): boolean {
  for (let cause = error, depth = 0; cause !== undefined && depth < 8; depth++) {
    const { code, cause: inner, errors } = (cause ?? {}) as { code?: unknown; cause?: unknown; errors?: unknown[] };
    if (typeof code === "string" && /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/.test(code))
      return true;
    cause = inner ?? errors?.[0];
  }
  return false;
}

export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
  return visibleLine(cause !== "" && !text.includes(cause) ? `${text} (${cause})` : text).slice(0, 500);
}
