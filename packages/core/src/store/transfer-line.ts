/**
 * One line of an exported session.
 *
 * Owns: the form of a line, both ways, byte for byte, down to the type of each field. Does not own: whether lines belong
 * together (transfer-check). Pure. A file is: a header; the records in order; the blobs they
 * name; an end that says how many there were. A payload that is text stands as text, so that a person can read the file.
 */
import { PawlError } from "../error.ts";
import type { LogRecord } from "../log/envelope.ts";
import {
  boolean,
  count,
  id,
  json,
  list,
  number,
  object,
  optional,
  type Shape,
  seen,
  string,
  workspace,
} from "../log/shape.ts";
import { maxSeq } from "./admission.ts";
import type { Head } from "./store.ts";

/** Of the file. A reader refuses a greater one. */
export const transferFormat = 1;

/** A stretch of seq that was damaged where the session came from, and is not in the file. */
export interface Absent {
  from: number;
  to: number;
}

export interface Header {
  pawl: "session";
  format: number;
  session: string;
  seq: number;
  head: Head;
  absent: Absent[];
}

export type TransferLine =
  | Header
  | { record: LogRecord }
  | { blob: string; bytes: Uint8Array }
  | { end: { records: number; blobs: number } };

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function lineOf(line: TransferLine): string {
  if ("record" in line) return JSON.stringify({ ...line.record, payload: payloadForm(line.record.payload) });
  if ("blob" in line) return JSON.stringify({ blob: line.blob, base64: base64(line.bytes) });
  return JSON.stringify(line);
}

type Bytes = string | { base64: string };
type PayloadForm = Bytes | { erased: string; left: Bytes; seal: string };

function payloadForm(payload: LogRecord["payload"]): PayloadForm {
  if (payload instanceof Uint8Array) return bytesForm(payload);
  return { erased: payload.erased, left: bytesForm(payload.left), seal: payload.seal };
}

function bytesForm(bytes: Uint8Array): Bytes {
  try {
    return decoder.decode(bytes);
  } catch {
    return { base64: base64(bytes) };
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Throws INVALID_INPUT, without the line's number, for what is no such line. */
export function parseLine(text: string): TransferLine {
  const value = objectOf(text);
  if (value["pawl"] === "session") return headerOf(value);
  if (typeof value["blob"] === "string") return { blob: value["blob"], bytes: bytesOf({ base64: value["base64"] }) };
  if ("end" in value) {
    const { records, blobs } = checked(end, value["end"], "end");
    return { end: { records, blobs } };
  }
  if (!("checksum" in value)) throw wrong(`is neither a header, a record, a blob nor an end: ${seen(value)}`);
  return { record: recordOf(value) };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw wrong(`is not a JSON object: ${seen(text)}`);
}

const end = object<{ records: number; blobs: number }>({ records: count, blobs: count });

const headShape = object<Head>({
  title: optional(string),
  openTurn: optional(string),
  outcome: optional(string),
  cwd: optional(string),
  workspace: optional(workspace),
});

const header = object<Pick<Header, "session" | "seq" | "head" | "absent">>({
  session: id,
  seq: count,
  head: headShape,
  absent: list(object<Absent>({ from: count, to: count })),
});

function headerOf(value: Record<string, unknown>): Header {
  const { format } = value;
  if (!Number.isSafeInteger(format) || Number(format) > transferFormat) {
    throw wrong(`has format ${seen(format)}, this build reads up to ${transferFormat}; update Pawl`);
  }
  const { session, seq, head, absent } = checked(header, value, "the header");
  // Fields that a newer version added are kept, as far as every store can keep them.
  checked(json(), head, "the header.head");
  if (seq >= maxSeq) throw wrong(`the header.seq must be less than ${maxSeq}, is ${seq}`);
  return { pawl: "session", format: Number(format), session, seq, head, absent };
}

const envelope = object<Omit<LogRecord, "payload">>({
  session: id,
  seq: count,
  epoch: count,
  type: string,
  version: count,
  ignorable: boolean,
  time: number,
  checksum: string,
});

function recordOf(value: Record<string, unknown>): LogRecord {
  const { session, seq, epoch, type, version, ignorable, time, checksum } = checked(envelope, value, "the record");
  // A database would change it, and with it what the checksum is of.
  if (!type.isWellFormed()) throw wrong(`the record.type must be well-formed text, is ${seen(type)}`);
  const payload = payloadOf(value["payload"]);
  return { session, seq, epoch, type, version, ignorable, time, payload, checksum };
}

const erasure = object<{ erased: string; seal: string }>({ erased: string, seal: string });

function payloadOf(form: unknown): LogRecord["payload"] {
  if (typeof form !== "object" || form === null || !("erased" in form)) return bytesOf(form);
  const { erased, seal } = checked(erasure, form, "the payload");
  return { erased, left: bytesOf((form as { left?: unknown }).left), seal };
}

function bytesOf(form: unknown): Uint8Array {
  if (typeof form === "string") return new TextEncoder().encode(form);
  const text = (form as { base64?: unknown } | null | undefined)?.base64;
  if (typeof text !== "string") throw wrong(`has no payload that can be read: ${seen(form)}`);
  return new Uint8Array(Buffer.from(text, "base64"));
}

function checked<T>(shape: Shape<T>, value: unknown, name: string): T {
  const problem = shape.check(value, name);
  if (problem !== undefined) throw wrong(problem);
  return value as T;
}

function wrong(what: string): PawlError {
  return new PawlError("INVALID_INPUT", what);
}
