/**
 * From what PostgreSQL and its clients throw to what a caller can act on.
 *
 * Owns: codes and words. Does not own: how long to try again (link).
 */
import { type ErrorCode, isPawlError, PawlError } from "@pawl/core";

/**
 * - `lost`: no answer came; what was asked may have been done.
 * - `refused`: nothing was done, and the same may go through in a moment.
 * - `final`: trying again would give the same.
 */
export type Prospect = "lost" | "refused" | "final";

/** Of the connection, by Node. */
const lostCodes: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"]);
/** The connection was never made. */
const unreachedCodes: ReadonlySet<string> = new Set(["ECONNREFUSED", "EAI_AGAIN", "ENOENT"]);
/**
 * SQLSTATE of what passes: serialization failure, deadlock, a lock or a connection not to be had, out of memory, a statement's
 * time is up, the server starts, is full, or only reads as long as a fail-over takes.
 */
const refusedStates: ReadonlySet<string> = new Set([
  ...["40001", "40P01", "55P03", "53000", "53200", "53300", "57014", "57P03", "25006"],
]);
/** SQLSTATE: the server ended the connection, perhaps directly after a commit. */
const lostStates: ReadonlySet<string> = new Set(["57P01", "57P02", "57P05", "25P03", "25P04"]);
/** What `pg` says without any code. */
const lostWords = /^(connection terminated|client has encountered a connection error|the connection was closed)/i;
/** A pooler knows few settings; a server knows ours. */
const poolerWords = /^unsupported startup parameter/i;
const unreachedWords = /^timeout (expired|exceeded when trying to connect)/i;

export function prospectOf(error: unknown): Prospect {
  const { code = "", message = "" } = (error ?? {}) as { code?: string; message?: string };
  if (isPawlError(error) || poolerWords.test(message)) return "final";
  if (lostCodes.has(code) || lostStates.has(code) || code.startsWith("08") || lostWords.test(message)) return "lost";
  if (refusedStates.has(code) || unreachedCodes.has(code) || unreachedWords.test(message)) return "refused";
  // Of several addresses each was tried.
  if (error instanceof AggregateError) return prospectOf(error.errors[0]);
  return "final";
}

/** By SQLSTATE, or by what Node says of the network. */
const words: { readonly [state: string]: readonly [ErrorCode, string] } = {
  "53100": ["STORE_FULL", "its disk is full: nothing was written; make room and try again"],
  "53300": ["STORE_UNAVAILABLE", "it has no connection left; give it more, or the workers fewer"],
  "55P03": ["STORE_UNAVAILABLE", "another transaction keeps a lock for long; look at pg_stat_activity"],
  "57014": ["STORE_UNAVAILABLE", "a statement took longer than its statement_timeout; look at its load, or allow more"],
  "53200": ["STORE_UNAVAILABLE", "it is out of memory; look at its settings and its load"],
  "28P01": ["STORE_UNAVAILABLE", "it refuses the password; correct the URL"],
  "28000": ["STORE_UNAVAILABLE", "it refuses the user; correct the URL or its pg_hba.conf"],
  "3D000": ["STORE_UNAVAILABLE", "there is no such database; create it, or correct the URL"],
  "42501": [
    "STORE_UNAVAILABLE",
    "the user may not do this; grant it (`pawl migrate --grant ROLE`), or name another user",
  ],
  "25006": ["STORE_UNAVAILABLE", "it only reads (a standby?); name the primary"],
  "42P01": ["STORE_UNAVAILABLE", "a table is missing; `pawl migrate` makes what is missing"],
  "3F000": ["STORE_UNAVAILABLE", "the schema is missing; `pawl migrate` makes it"],
  "42704": ["STORE_UNAVAILABLE", "there is no such role; create it, or correct its name"],
  ENOTFOUND: ["STORE_UNAVAILABLE", "there is no host of that name; correct the URL"],
  "22021": ["INVALID_INPUT", "a text holds a character that it cannot keep (NUL)"],
  "22P05": ["INVALID_INPUT", "a text holds a character that it cannot keep (NUL)"],
  XX001: ["CORRUPT", "its data is damaged; restore a backup"],
  XX002: ["CORRUPT", "an index is damaged; REINDEX, or restore a backup"],
};

/** What has no code, or one of many of its kind. */
const known: readonly (readonly [said: RegExp, words: string])[] = [
  [/client password must be a string/i, "it asks for a password and none was given; name it in the URL"],
  [/does not support SSL connections/i, "it speaks no TLS; leave sslmode out, or set it up there"],
  [
    /^(DEPTH_ZERO_)?SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_(HAS_EXPIRED|UNTRUSTED)|ALTNAME_INVALID/,
    "its certificate cannot be trusted; name its authority's file with sslrootcert=FILE, or trust anyone with sslmode=no-verify",
  ],
];

/** A {@link PawlError} stays what it is. */
export function storeFault(error: unknown): PawlError {
  if (isPawlError(error)) return error;
  const { code = "" } = (error ?? {}) as { code?: string };
  const said = textOf(error);
  if (poolerWords.test(said.replace(/^\w{5}: /, ""))) return poolerBetween(said, { cause: error });
  const [errorCode, what] = words[code] ?? ["STORE_UNAVAILABLE", saidWords(code, said)];
  if (what) return new PawlError(errorCode, `PostgreSQL: ${what} (${said})`, { cause: error });
  const which =
    prospectOf(error) === "final"
      ? "PostgreSQL did not do what was asked"
      : "PostgreSQL cannot be reached, or ended the connection";
  return new PawlError("STORE_UNAVAILABLE", `${which} (${said}); look at the server, then try again`, { cause: error });
}

function saidWords(code: string, said: string): string | undefined {
  return known.find(([pattern]) => pattern.test(code) || pattern.test(said))?.[1];
}

export function poolerBetween(seen: string, options?: ErrorOptions): PawlError {
  return new PawlError(
    "INVALID_INPUT",
    `a pooler stands before this PostgreSQL (${seen}): open the store with mode "pooled", or name the server itself`,
    options,
  );
}

function textOf(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const text = typeof message === "string" && message !== "" ? message : String(error);
  return typeof code === "string" && !text.includes(code) ? `${code}: ${text}` : text;
}
