/**
 * The tables of the layer below HTTP: codes of sockets, undici, HTTP/2 and TLS, names of error classes, and sentences of
 * runtimes that give neither.
 */

/** A certificate or a protocol setting does not heal by itself; a reset, a lost name server and an alert do. */
export type TransportFault = "transient" | "configuration";

const transientCodes = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ESOCKETTIMEDOUT",
  "EAI_AGAIN",
  "EAI_FAIL",
  "ENOTFOUND",
  "ENETUNREACH",
  "ENETDOWN",
  "ENETRESET",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "EADDRNOTAVAIL",
  "ENOTCONN",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
  "ERR_SOCKET_CLOSED",
  "ERR_SOCKET_CONNECTION_TIMEOUT",
  // Bun
  "ConnectionClosed",
  "ConnectionRefused",
  "ConnectionReset",
  "FailedToOpenSocket",
  "Timeout",
]);

const undici =
  /^UND_ERR_(SOCKET|CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|CLOSED|DESTROYED|INFO|ABORTED|RES_CONTENT_LENGTH_MISMATCH)$/;
/** HTTP/2 and the HTTP/1 parser: what came on this connection was no HTTP; the next connection is another one. */
const framing = /^(ERR_HTTP2_|HPE_)/;
/** Electron's and Chromium's spelling. */
const chromium =
  /^(net::)?ERR_(HTTP2_|QUIC_|CONNECTION_|NETWORK_|INTERNET_|SOCKET_|TIMED_OUT|EMPTY_RESPONSE|NAME_NOT_RESOLVED|INCOMPLETE_)/;
const configuration =
  /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|CRL_|(net::)?ERR_CERT_|ERR_SSL_(WRONG_VERSION|UNSUPPORTED|UNKNOWN_PROTOCOL|NO_|TLSV1_ALERT_PROTOCOL|TLSV1_ALERT_UNKNOWN_CA|SSLV3_ALERT_CERTIFICATE|SSLV3_ALERT_BAD_CERTIFICATE|SSLV3_ALERT_HANDSHAKE|TLSV13_ALERT_CERTIFICATE)|ERR_INVALID_URL|ERR_INVALID_PROTOCOL|ERR_INVALID_ARG)/;
const tls = /^(ERR_SSL_|ERR_TLS_|EPROTO$)/;

export function transportFault(code: string): TransportFault | undefined {
  if (transientCodes.has(code) || undici.test(code)) return "transient";
  if (configuration.test(code)) return "configuration";
  return framing.test(code) || chromium.test(code) || tls.test(code) ? "transient" : undefined;
}

/**
 * Classes that say a request was cut by a clock or a hand that is not ours (ours is recognised by its signal, before
 * anything is read): a custom transport's own timeout, a proxy's.
 */
const cutNames = new Set(["AbortError", "TimeoutError", "ResponseAborted"]);

export function cutByOthers(name: string): boolean {
  return cutNames.has(name);
}

/** Sentences of runtimes that give no code. Whole sentences or anchored starts, never a word inside a body. */
const sentences: readonly RegExp[] = [
  /^(terminated|fetch failed|failed to fetch|load failed|socket hang ?up|premature close|other side closed|network ?error|http\/2: .*|unexpected eof)\.?$/i,
  /^(the )?(socket|connection|stream|network|request|operation|body)( \w+)? (was |has )?(been )?(closed|reset|lost|refused|aborted|terminated|timed out|interrupted|destroyed|half-closed|ended (prematurely|unexpectedly))\b/i,
  /^connection (error|closed|reset|refused|lost|timed out)\b/i,
  /^(invalid response body while trying to fetch .*|.*\bpremature close)$/i,
  /^read (ECONNRESET|ETIMEDOUT)$|^write EPIPE$|^connect E[A-Z]+\b/,
  /^(http\/2: )?(.* )?goaway\b/i,
  /\bbad[ _]record[ _]mac\b/i,
  /^(.*:)?(ssl|tls)\w*( routines)?\b.*\balert\b.*\b(internal error|close notify|decode error|record overflow)\b/i,
  /^unexpected end of (file|stream|json input|data)$/i,
  /^(the )?server (closed|disconnected|has closed the connection)\b/i,
];

export function soundsLikeTransport(message: string): boolean {
  const text = message.trim();
  return sentences.some((sentence) => sentence.test(text));
}

/** Sentences of provider packages for a frame that is not what the protocol says. */
const garbage =
  /^(Expected a normalized Anthropic stream error|Invalid JSON response|Unsupported (chunk|delta|content block) type\b.*)$/;

/** The classes for it: bad JSON, wrong shape, no body. */
const garbageNames = new Set([
  "AI_JSONParseError",
  "AI_TypeValidationError",
  "AI_InvalidResponseDataError",
  "AI_EmptyResponseBodyError",
  "SyntaxError",
]);

export function isGarbage(name: string, message: string): boolean {
  return garbageNames.has(name) || garbage.test(message.trim());
}
