/**
 * A store on a server, as people name it: `postgres://user:password@host:port/database?schema=NAME&mode=pooled`. Pure.
 *
 * Owns: what such a URL may say, what of it may be shown, and what machines call what stands beside it. Invariants:
 * 1. Nothing that is made to be read holds a password (`maskedUrls`), also where the URL is wrong.
 * 2. The key of a store is the same whoever connects: a changed password or user must not lose what recovery needs of commands.
 */
import { PawlError } from "@pawl/core";
import { maskedUrls } from "./masked-url.ts";
import { near } from "./near.ts";

export interface ServerStore {
  /** As it was written: not to be shown. */
  word: string;
  /** For the client, without what is ours. */
  url: string;
  schema: string;
  mode: "own" | "pooled";
  /** Connections at most; absent: the client's default. */
  connections?: number;
  /** `host:port`, for a person who waits for it. */
  host: string;
  /** A file name. */
  key: string;
}

/** What is written like a URL is meant as one: no folder is called so. */
export function isStoreUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

/** Fails with INVALID_INPUT: what is wrong, and how it is written. */
export function serverStore(word: string): ServerStore {
  const refuse = (what: string) =>
    new PawlError(
      "INVALID_INPUT",
      `--store ${maskedUrls(word)}: ${what}; write postgres://USER@HOST/DATABASE, or a folder`,
    );
  if (!/^postgres(ql)?:\/\//i.test(word)) throw refuse("no such kind of store is known");
  const escapes = "in a password, write @ : / ? # as %40 %3A %2F %3F %23";
  if (!URL.canParse(word)) throw refuse(`it is no URL; ${escapes}`);
  const url = new URL(word);
  const database = url.pathname.slice(1);
  if (database === "") throw refuse("it names no database");
  if (/[/@]/.test(database)) throw refuse(`the name of the database cannot hold / or @; ${escapes}`);
  const schema = taken(url, "schema") ?? "pawl";
  const mode = taken(url, "mode") ?? "own";
  const connections = taken(url, "connections");
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) throw refuse(`schema=${schema} is not 1 to 51 characters a-z 0-9 _`);
  if (mode !== "own" && mode !== "pooled") throw refuse(`mode=${mode} is neither own nor pooled`);
  if (connections !== undefined && !/^[1-9]\d{0,3}$/.test(connections))
    throw refuse(`connections=${connections} is no number from 1 to 9999`);
  for (const name of url.searchParams.keys()) if (!known.has(name)) throw unknownParameter(word, name);
  const host = `${url.hostname || "localhost"}:${url.port || "5432"}`;
  return {
    word,
    url: url.href,
    schema,
    mode,
    ...(connections === undefined ? {} : { connections: Number(connections) }),
    host,
    key: encodeURIComponent(`${host}/${decodeURIComponent(database)}/${schema}`).slice(0, keyChars),
  };
}

/** Most file systems take no longer name. */
const keyChars = 250;

const ours = ["schema", "mode", "connections"];

/** What the client (`pg`) understands. */
const clients = [
  ...["host", "port", "user", "password", "options", "client_encoding", "replication", "binary"],
  ...["ssl", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslnegotiation", "uselibpqcompat"],
  ...["application_name", "fallback_application_name"],
  ...["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "query_timeout"],
];
/** What a URL made for PostgreSQL's own programs often says besides: the client passes over it, as it always did. */
const passedOver = ["channel_binding", "connect_timeout", "target_session_attrs", "gssencmode"];
const keepalives = ["keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"];
const known: ReadonlySet<string> = new Set([...clients, ...passedOver, ...keepalives]);

/** Of the URL only what stands before its parameters is shown: a password under a wrong name would be seen. */
function unknownParameter(word: string, name: string): PawlError {
  const [address = ""] = maskedUrls(word).split("?", 1);
  const [meant] = near(name, [...ours, ...clients]);
  const called = /^\w{1,40}$/.test(name) ? ` ${name}` : "";
  const also =
    meant === undefined
      ? `ours are ${ours.join(", ")}; the others are the client's, as sslmode`
      : `did you mean ${meant}?`;
  return new PawlError("INVALID_INPUT", `--store ${address}: it knows no parameter${called}; ${also}`);
}

/** Ours: the server would take it for a setting of its own, and refuse it. */
function taken(url: URL, name: string): string | undefined {
  const value = url.searchParams.get(name) ?? undefined;
  url.searchParams.delete(name);
  return value;
}
