/**
 * `classify(unknown) -> Failure`: from whatever was thrown or came as an error part to a value that can be logged.
 *
 * Owns: the order of evidence. Structure first (status, body types, codes, classes, over the whole chain), words last.
 * Does not own: whether it is safe to replay (exposure), what is done about it (decide). Pure. Invariants:
 * 1. The kind describes the world. Who noticed is an attribute that nothing reads but displays (L5).
 * 2. No request body gets into a Failure: the prompt would follow it into logs.
 */
import type { Detector, Failure, FailureKind } from "../log/value.ts";
import { links, messageOf, read, readString } from "./chain.ts";
import { header, retryAfterMs } from "./retry-after.ts";
import {
  kindOfBodyType,
  kindOfStatus,
  narrowed,
  retryableKinds,
  soundsLikeTransport,
  transportFault,
} from "./status.ts";

export interface Circumstances {
  /** UTC ms, for dates in headers. */
  now: number;
  /** Whether response headers had come: a transport fault is `connect` before, `stream-broken` after. */
  streaming: boolean;
  detector?: Detector;
}

/** Our own failures: kind, words, nothing to classify. */
export function failureOf(kind: FailureKind, message: string, detector?: Detector): Failure {
  return { kind, message, retryable: retryableKinds[kind], ...(detector ? { detector } : {}) };
}

export function classify(error: unknown, at: Circumstances): Failure {
  const chain = links(error);
  const evidence = gather(chain);
  const found = kindOf(chain, evidence, at.streaming);
  const word = transportWord(chain);
  const retryable = judged(found.kind, found.retryable, word);
  const messages = [...new Set(chain.map(messageOf).filter((text) => text !== ""))];
  const headers = chain.map((link) => read(link, "responseHeaders")).find((value) => value !== undefined);
  const wait = retryAfterMs(headers, at.now);
  const requestId = header(headers, "request-id") ?? header(headers, "x-request-id") ?? evidence.requestId;
  return {
    kind: found.kind,
    message: evidence.bodyMessage ?? messages[0] ?? `no message (${typeof error})`,
    retryable,
    ...(at.detector ? { detector: at.detector } : {}),
    ...(evidence.status === undefined ? {} : { status: evidence.status }),
    ...(evidence.code === undefined ? {} : { code: evidence.code }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(messages.length > 1 ? { causes: messages.slice(0, 8) } : {}),
  };
}

interface Evidence {
  status?: number;
  /** The first code of the chain that any table knows, else the first code. */
  code?: string;
  bodyKind?: FailureKind;
  bodyMessage?: string;
  bodyText: string;
  requestId?: string;
}

function gather(chain: unknown[]): Evidence {
  const evidence: Evidence = { bodyText: "" };
  for (const link of chain) {
    const status = read(link, "statusCode") ?? read(link, "status");
    if (evidence.status === undefined && typeof status === "number" && status >= 100) evidence.status = status;
    const code = readString(link, "code");
    if (code !== undefined && (evidence.code === undefined || (known(code) && !known(evidence.code))))
      evidence.code = code;
    for (const body of bodiesOf(link)) readBody(body, evidence);
    evidence.bodyText += ` ${messageOf(link)}`;
  }
  return evidence;
}

function known(code: string): boolean {
  return transportFault(code) !== undefined || kindOfBodyType(code) !== undefined;
}

/** A body comes parsed (`data`), as text (`responseBody`), or is the link itself: a plain object from an error frame. */
function bodiesOf(link: unknown): unknown[] {
  const bodies: unknown[] = [link, read(link, "data")];
  const text = readString(link, "responseBody");
  if (text !== undefined) bodies.push(parseJson(text));
  return bodies.filter((body) => typeof body === "object" && body !== null);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readBody(body: unknown, evidence: Evidence): void {
  const inner = read(body, "error");
  for (const place of [inner, read(inner, "error"), body]) {
    for (const name of ["code", "type"]) {
      const value = read(place, name);
      const kind = typeof value === "string" ? kindOfBodyType(value) : kindOfNumber(value);
      // A narrower word beats `invalid_request_error`, which wraps half of all rejections.
      if (kind && (evidence.bodyKind === undefined || evidence.bodyKind === "rejected")) evidence.bodyKind = kind;
    }
    if (place !== body || !(place instanceof Error)) {
      const message = readString(place, "message");
      if (message !== undefined) {
        evidence.bodyMessage ??= message.slice(0, 500);
        evidence.bodyText += ` ${message.slice(0, 2_000)}`;
      }
    }
  }
  const requestId = readString(body, "request_id");
  if (requestId !== undefined) evidence.requestId ??= requestId;
}

/** Gateways put the upstream's status into a body that came with 200. */
function kindOfNumber(value: unknown): FailureKind | undefined {
  return typeof value === "number" && value >= 400 && value < 600 ? kindOfStatus(value) : undefined;
}

function kindOf(chain: unknown[], evidence: Evidence, streaming: boolean): { kind: FailureKind; retryable?: boolean } {
  const byStatus = evidence.status === undefined ? undefined : kindOfStatus(evidence.status);
  if (byStatus !== undefined) {
    // The body may narrow what the status says, never soften it: a 400 that calls itself overloaded stays retryable,
    // a 429 whose body says the quota is gone is not.
    const kind = evidence.bodyKind && evidence.bodyKind !== "rejected" ? evidence.bodyKind : byStatus;
    return { kind: narrowed(kind, evidence.bodyText) };
  }
  if (evidence.bodyKind !== undefined) return { kind: narrowed(evidence.bodyKind, evidence.bodyText) };
  const transport: FailureKind = streaming ? "stream-broken" : "connect";
  for (const link of chain) {
    const code = readString(link, "code") ?? "";
    const fault = transportFault(code);
    if (fault === "transient") return { kind: transport };
    if (fault === "configuration") return { kind: transport, retryable: false };
  }
  if (chain.some(isGarbage)) return { kind: "stream-broken" };
  if (chain.some((link) => soundsLikeTransport(messageOf(link)))) return { kind: transport };
  // A provider wraps whatever broke a 200 body: the request was accepted, the stream was not.
  if (evidence.status !== undefined && evidence.status < 300 && chain.some(isApiCallError))
    return { kind: "stream-broken" };
  return { kind: "unknown" };
}

/** What came is not what the protocol says: bad JSON, wrong shape, no body. */
const garbageNames = new Set([
  "AI_JSONParseError",
  "AI_TypeValidationError",
  "AI_InvalidResponseDataError",
  "AI_EmptyResponseBodyError",
]);

function isGarbage(link: unknown): boolean {
  return garbageNames.has(readString(link, "name") ?? "");
}

function isApiCallError(link: unknown): boolean {
  return readString(link, "name") === "AI_APICallError";
}

/**
 * The transport's own word: the innermost error that says `isRetryable` and is no `APICallError`, else an
 * `APICallError` whose value differs from its status's default. A computed value is no statement.
 */
function transportWord(chain: unknown[]): boolean | undefined {
  const speaking = chain.filter((link) => typeof read(link, "isRetryable") === "boolean");
  const own = speaking.filter((link) => link instanceof Error && !isApiCallError(link)).at(-1);
  if (own) return read(own, "isRetryable") as boolean;
  const call = speaking.find(isApiCallError);
  if (!call) return undefined;
  const said = read(call, "isRetryable") as boolean;
  const status = read(call, "statusCode");
  const computed = typeof status === "number" && (status === 408 || status === 409 || status === 429 || status >= 500);
  // Without a status, providers say `true` for every failed fetch: computed as well.
  if (typeof status !== "number") return said ? undefined : false;
  return said === computed || (status < 300 && said) ? undefined : said;
}

/** False always stops. True helps an unknown or transport fault, never abort, auth, quota or overflow. */
function judged(kind: FailureKind, exception: boolean | undefined, word: boolean | undefined): boolean {
  if (word === false) return false;
  if (word === true && (kind === "unknown" || kind === "connect" || kind === "stream-broken")) return true;
  return exception ?? retryableKinds[kind];
}
