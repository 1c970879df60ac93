/**
 * One page over HTTP, from a public address.
 *
 * Owns: which address is connected to, redirects, caps. Does not own: what is made of the bytes. Invariants:
 * 1. The address that was judged is the one that is connected to: the name is resolved once, by us, for the connection itself.
 * 2. Each redirect is judged like the first address; only http and https, without credentials. One to another host is not followed: an open
 *    redirect of a host that may be asked would carry what the address says to one that may not.
 * 3. It ends: with the signal, or with the caps on size and redirects.
 */
import { lookup as systemLookup } from "node:dns/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { PawlError } from "@pawl/core";
import { isPublicAddress } from "./address-guard.ts";
import { quoted } from "./text.ts";

export interface FetchGuard {
  /** All private addresses (`true`), or those of these hosts (`localhost`, `10.0.0.7:8080`). Default: none. */
  allowPrivate?: boolean | readonly string[];
  /** Every address of a name; default: the system's. */
  resolve?(hostname: string): Promise<{ address: string; family: number }[]>;
}

export interface Page {
  url: string;
  status: number;
  /** In lower case, without parameters. */
  mediaType: string;
  charset: string | undefined;
  /** It redirects there, to another host: not followed. */
  elsewhere?: string;
  /** Undefined where `wanted` did not want it. */
  body: Uint8Array | undefined;
  /** The body goes on: it is longer than the cap. */
  cut: boolean;
}

const mostRedirects = 5;
/** Larger than any page that is worth reading; the start of what is longer. */
const bodyBytes = 5_000_000;
const agent = "pawl (a coding agent; fetches pages for its user)";

export async function requestPage(
  address: string,
  guard: FetchGuard,
  wanted: (mediaType: string) => boolean,
  signal: AbortSignal,
): Promise<Page> {
  let url = checkedUrl(address);
  for (let redirects = 0; ; redirects++) {
    const response = await send(url, guard, signal);
    const { statusCode: status = 0, headers } = response;
    if (status >= 300 && status < 400 && headers.location !== undefined) {
      response.destroy();
      if (redirects >= mostRedirects)
        throw new Error(`more than ${mostRedirects} redirects, the last one from ${url.href}`);
      const next = checkedUrl(headers.location, url);
      if (!staysWith(url, next))
        return {
          url: url.href,
          status,
          mediaType: "",
          charset: undefined,
          elsewhere: next.href,
          body: undefined,
          cut: false,
        };
      url = next;
      continue;
    }
    const [type = "", ...parameters] = (headers["content-type"] ?? "text/plain").split(";");
    const mediaType = type.trim().toLowerCase();
    const charset = parameters.map((each) => /^\s*charset="?([\w-]+)"?\s*$/i.exec(each)?.[1]).find(Boolean);
    const page = { url: url.href, status, mediaType, charset };
    if (!wanted(mediaType)) {
      response.destroy();
      return { ...page, body: undefined, cut: false };
    }
    return { ...page, ...(await readBody(response)) };
  }
}

/** The same host, its `www` or without it; from http also to https. */
function staysWith(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  const bare = ({ hostname }: URL) => hostname.replace(/^www\./, "");
  const plain = from.port === "" && to.port === "" && bare(from) === bare(to);
  return plain && (to.protocol === from.protocol || to.protocol === "https:");
}

function checkedUrl(address: string, base?: URL): URL {
  let url: URL;
  try {
    url = new URL(address, base);
  } catch {
    throw invalid(address, "is no address: give a whole one, for example https://example.com/page");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw invalid(address, "is neither http nor https");
  if (url.username !== "" || url.password !== "") throw invalid(url.host, "comes with credentials: leave them out");
  return url;
}

function invalid(address: string, what: string): PawlError {
  return new PawlError("INVALID_INPUT", `${quoted(address)} ${what}`);
}

async function send(url: URL, guard: FetchGuard, signal: AbortSignal): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const free = guard.allowPrivate === true || isNamed(url, host, guard.allowPrivate || []);
  const addresses = isIP(host) ? [{ address: host, family: isIP(host) }] : await resolved(host, guard, signal);
  // One that is not public is enough: whoever answers with both means us to pick it.
  const closed = free ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
  if (closed) {
    const where = closed.address === host ? "is" : `leads to ${closed.address},`;
    throw invalid(
      host,
      `${where} not an address of the public internet, and no other is fetched; bash may reach it, where a person allows that`,
    );
  }
  const lookup: LookupFunction = (_name, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, addresses);
    else callback(null, first?.address ?? "", first?.family);
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    lookup,
    signal,
    // A connection of its own: none that was opened for another name.
    agent: false,
    headers: {
      accept: "text/html,text/plain,text/markdown,application/json;q=0.9,*/*;q=0.5",
      "accept-encoding": "gzip, br, deflate",
      "user-agent": agent,
    },
  });
  // Each error: one that comes after the answer, or a second one, has nobody else to hear it.
  request.once("response", resolve).on("error", reject).end();
  try {
    return await promise;
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(
      `${url.host} cannot be reached: ${error instanceof Error ? error.message || String((error as { code?: unknown }).code) : error}`,
      {
        cause: error,
      },
    );
  }
}

function isNamed(url: URL, host: string, hosts: readonly string[]): boolean {
  return hosts.some((each) => [host, url.hostname, url.host].includes(each.toLowerCase()));
}

async function resolved(
  host: string,
  guard: FetchGuard,
  signal: AbortSignal,
): Promise<{ address: string; family: number }[]> {
  const resolve = guard.resolve ?? ((name: string) => systemLookup(name, { all: true }));
  try {
    // The system's look-up knows no abort.
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      if (signal.aborted) reject(signal.reason);
    });
    const addresses = await Promise.race([resolve(host), stopped]);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`${host} cannot be found: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
  throw new Error(`${host} cannot be found: it has no address`);
}

/** Up to the cap, after unpacking: a small packed body may be a very large page. */
async function readBody(response: IncomingMessage): Promise<{ body: Uint8Array; cut: boolean }> {
  const stream = unpacked(response);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > bodyBytes) break;
    }
  } finally {
    stream.destroy();
    response.destroy();
  }
  const body = Buffer.concat(chunks);
  return { body: body.subarray(0, bodyBytes), cut: bytes > bodyBytes };
}

function unpacked(response: IncomingMessage): Readable {
  const encoding = (response.headers["content-encoding"] ?? "identity").toLowerCase();
  const unpack = { gzip: createGunzip, "x-gzip": createGunzip, br: createBrotliDecompress, deflate: createInflate }[
    encoding
  ];
  if (unpack === undefined) return response;
  const stream = unpack();
  response.on("error", (error) => stream.destroy(error));
  return response.pipe(stream);
}
