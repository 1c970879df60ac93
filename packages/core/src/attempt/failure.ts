/**
 * `classify(unknown) -> Failure`: from whatever was thrown or came as an error part to a value that can be logged.
 *
 * Owns: the order of evidence. Structure first (status, body types, codes, classes, over the whole chain), words last.
 * Does not own: whether it is safe to replay (exposure), what is done about it (decide). Pure. Invariants:
 * 1. The kind describes the world. Who noticed is an attribute that nothing reads but displays (L5).
 * 2. No request body gets into a Failure: the prompt would follow it into logs.
 * 3. It never throws, whatever it is handed.
 */
import type { Detector, Failure, FailureKind } from "../log/value.ts";
import { links, messageOf, read, readString } from "./chain.ts";
import { type Evidence, gather } from "./evidence.ts";
import { narrowed } from "./phrase.ts";
import { retryAfterMs } from "./retry-after.ts";
import { kindOfStatus, retryableKinds } from "./status.ts";
import { cutByOthers, isGarbage, soundsLikeTransport, transportFault } from "./transport.ts";
import { transportWord } from "./transport-word.ts";

export interface Circumstances {
  /** UTC ms, for dates in headers. */
  now: number;
  /** Whether response headers had come: a transport fault is `connect` before, `stream-broken` after. */
  streaming: boolean;
  detector?: Detector;
  /** What our fetch wrapper was thrown, before an SDK rewrapped it. */
  noted?: unknown;
  /** The status that our fetch wrapper saw. */
  wireStatus?: number;
}

/** Our own failures: kind, words, nothing to classify. */
export function failureOf(kind: FailureKind, message: string, detector?: Detector): Failure {
  return { kind, message, retryable: retryableKinds[kind], ...(detector ? { detector } : {}) };
}

/**
 * A fault as a value. `error` may be anything: an error with causes, an aggregate, a plain object from an error frame, a
 * string, undefined.
 *
 * ```ts
 * classify(new TypeError("terminated", { cause: socketError }), { now: Date.now(), streaming: true }).kind; // "stream-broken"
 * ```
 */
export function classify(error: unknown, at: Circumstances): Failure {
  const chain = links(error, at.noted);
  const evidence = gather(chain);
  const found = kindOf(chain, evidence, at.streaming);
  const word = transportWord(chain, at.noted, at.wireStatus);
  const messages = [...new Set(chain.map(messageOf).filter((text) => text !== ""))];
  const wait = waitOf(evidence, at);
  return {
    kind: found.kind,
    message: found.message ?? evidence.bodyMessage ?? messages[0] ?? `nothing that says why (${typeof error})`,
    retryable: judged(found, word),
    ...(word === undefined ? {} : { said: word ? "retry" : "stop" }),
    ...(at.detector ? { detector: at.detector } : {}),
    ...(evidence.status === undefined ? {} : { status: evidence.status }),
    ...(evidence.code === undefined ? {} : { code: evidence.code }),
    ...(evidence.requestId === undefined ? {} : { requestId: evidence.requestId }),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(messages.length > 1 ? { causes: messages.slice(0, 8) } : {}),
  };
}

/** The transport's own headers come before those of a response around it, which a package adds to every error. */
function waitOf({ headers }: Evidence, { noted, now }: Circumstances): number | undefined {
  for (const holder of [read(noted, "responseHeaders"), ...headers.toReversed()]) {
    const wait = retryAfterMs(holder, now);
    if (wait !== undefined) return wait;
  }
  return undefined;
}

interface Found {
  kind: FailureKind;
  /** Where the error's own words would not help a person. */
  message?: string;
  /** A fault of its kind that another try cannot cure. */
  final?: true;
}

function kindOf(chain: readonly unknown[], evidence: Evidence, streaming: boolean): Found {
  // Our own refusals (a bug, a fenced lease) are no faults of the wire.
  if (readString(chain[0], "name") === "PawlError") return { kind: "unknown" };
  const byStatus = evidence.status === undefined ? undefined : kindOfStatus(evidence.status);
  if (byStatus !== undefined) {
    const kind = bodyNarrows(byStatus, evidence.bodyKind) ? evidence.bodyKind : byStatus;
    return { kind: narrowed(kind, evidence.text), ...silentStatus(evidence, chain) };
  }
  if (evidence.bodyKind !== undefined) return { kind: narrowed(evidence.bodyKind, evidence.text) };
  // A 2xx in the chain says that headers came, whoever asks.
  const answered = streaming || evidence.status !== undefined;
  return transportKind(chain, answered) ?? restKind(chain, answered);
}

/**
 * The body may narrow what the status says, never blur it: a 400 that calls itself overloaded stays retryable, a 429
 * whose body says that the quota is gone is not, and a 529 that calls itself a server error is still an overload.
 */
function bodyNarrows(byStatus: FailureKind, byBody: FailureKind | undefined): byBody is FailureKind {
  if (byBody === undefined || byBody === "rejected") return false;
  return byBody !== "server" || byStatus === "rejected";
}

/** A status without a body: the package's message is empty, or its own class name. */
function silentStatus(evidence: Evidence, chain: readonly unknown[]): { message?: string } {
  const said = evidence.bodyMessage ?? readString(chain[0], "message");
  return said === undefined ? { message: `the provider answered with status ${evidence.status} and no words` } : {};
}

function transportKind(chain: readonly unknown[], answered: boolean): Found | undefined {
  const kind: FailureKind = answered ? "stream-broken" : "connect";
  const broke = answered ? "the connection broke" : "no connection";
  for (const link of chain) {
    const fault = transportFault(readString(link, "code") ?? "");
    if (fault === "transient") return { kind, message: `${broke}: ${messageOf(link)}` };
    if (fault === "configuration")
      return { kind, message: `the connection cannot be set up: ${messageOf(link)}`, final: true };
  }
  if (chain.some((link) => isGarbage(readString(link, "name") ?? "", messageOf(link))))
    return { kind: "stream-broken" };
  for (const link of chain) {
    const message = messageOf(link);
    if (cutByOthers(readString(link, "name") ?? "") || soundsLikeTransport(message))
      return { kind, message: `${broke}: ${message}` };
  }
  return undefined;
}

/**
 * Nothing in it is known. After headers the request was accepted, so that whatever broke is the stream; before, it may
 * as well be a bug of the caller, which a retry would only repeat.
 */
function restKind(chain: readonly unknown[], answered: boolean): Found {
  if (!answered) return { kind: "unknown" };
  const innermost = chain.map(messageOf).findLast((text) => text !== "");
  return { kind: "stream-broken", ...(innermost ? { message: innermost } : {}) };
}

/** False always stops. True helps an unknown or transport fault, never abort, auth, quota or overflow. */
function judged({ kind, final }: Found, word: boolean | undefined): boolean {
  if (word === false) return false;
  if (word === true && (kind === "unknown" || kind === "connect" || kind === "stream-broken")) return true;
  return final ? false : retryableKinds[kind];
}
