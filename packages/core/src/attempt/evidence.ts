/**
 * What an error chain says, gathered link by link before anything is concluded: status, codes, body types, words.
 */
import type { FailureKind } from "../log/value.ts";
import { isError, messageOf, read, readString } from "./chain.ts";
import { header } from "./retry-after.ts";
import { kindOfBodyCode, kindOfBodyType } from "./status.ts";
import { transportFault } from "./transport.ts";

export interface Evidence {
  /** The first error status of the chain, else the first of any kind. */
  status?: number;
  /** The first code of the chain that any table knows, else the first code. */
  code?: string;
  bodyKind?: FailureKind;
  bodyMessage?: string;
  /** Everything the errors and bodies say, for words that narrow a kind. */
  text: string;
  requestId?: string;
  /** The headers of every link that has any, outermost first. */
  headers: unknown[];
}

/** Long enough for every sentence that matters, short enough that a page of HTML costs nothing. */
const bodyChars = 2_000;

export function gather(chain: readonly unknown[]): Evidence {
  const evidence: Evidence = { text: "", headers: [] };
  for (const link of chain) {
    const status = statusOf(link);
    if (status !== undefined && (evidence.status === undefined || (evidence.status < 400 && status >= 400))) {
      evidence.status = status;
    }
    const code = readString(link, "code");
    if (code !== undefined && (evidence.code === undefined || (known(code) && !known(evidence.code))))
      evidence.code = code;
    const headers = read(link, "responseHeaders");
    if (headers !== undefined) evidence.headers.push(headers);
    for (const body of bodiesOf(link)) readBody(body, evidence);
    evidence.text += ` ${(readString(link, "message") ?? "").slice(0, bodyChars)}`;
  }
  for (const headers of evidence.headers) {
    const requestId = header(headers, "request-id") ?? header(headers, "x-request-id");
    if (requestId !== undefined) evidence.requestId = requestId;
  }
  return evidence;
}

function statusOf(link: unknown): number | undefined {
  const places = [read(link, "statusCode"), read(link, "status"), read(read(link, "response"), "status")];
  return places.find(
    (status): status is number => Number.isInteger(status) && Number(status) >= 100 && Number(status) < 600,
  );
}

function known(code: string): boolean {
  return transportFault(code) !== undefined || kindOfBodyType(code) !== undefined;
}

/** A body comes parsed (`data`), as text (`responseBody`), or is the link itself: a plain object from an error frame. */
function bodiesOf(link: unknown): unknown[] {
  const bodies: unknown[] = [link, read(link, "data")];
  const text = readString(link, "responseBody");
  if (text !== undefined) bodies.push(parsed(text));
  return bodies.filter((body) => typeof body === "object" && body !== null);
}

function parsed(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    return Array.isArray(body) ? body[0] : body;
  } catch {
    return undefined;
  }
}

function readBody(body: unknown, evidence: Evidence): void {
  const inner = read(body, "error");
  for (const place of [inner, read(inner, "error"), body]) {
    for (const name of ["code", "type", "status"]) {
      const value = read(place, name);
      const kind = (typeof value === "string" ? kindOfBodyType(value) : undefined) ?? kindOfBodyCode(value);
      if (kind && outranks(kind, evidence.bodyKind)) evidence.bodyKind = kind;
    }
    // An error's own message may be a wrapper's; a body's is the provider's.
    if (isError(place)) continue;
    const message = readString(place, "message");
    if (message === undefined) continue;
    evidence.bodyMessage ??= messageOf(place);
    evidence.text += ` ${message.slice(0, bodyChars)}`;
  }
  const requestId = readString(body, "request_id");
  if (requestId !== undefined) evidence.requestId ??= requestId;
}

/** A narrower word beats `invalid_request_error`, which wraps half of all rejections; a spent quota beats all. */
function outranks(kind: FailureKind, before: FailureKind | undefined): boolean {
  return before === undefined || before === "rejected" || (kind === "quota" && before !== "quota");
}
