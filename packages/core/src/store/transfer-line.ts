/**
 * One line of an exported session.
 *
 * Owns: the form of a line, both ways, byte for byte. Pure. A file is: a header; the records in order; the blobs they
 * name; an end that says how many there were. A payload that is text stands as text, so that a person can read the file.
 */
import { PawlError } from "../error.ts";
import type { LogRecord } from "../log/envelope.ts";
import { seen } from "../log/shape.ts";
import type { Head } from "./store.ts";

/** Of the file. A reader refuses a greater one. */
export const transferFormat = 1;

/** A stretch of seq that was damaged where the session came from, and is not in the file. */
export interface Absent {
  from: number;
  to: number;
}

export type TransferLine =
  | { pawl: "session"; format: number; session: string; seq: number; head: Head; absent: Absent[] }
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
  const value = json(text);
  if (value["pawl"] === "session") return header(value);
  if (typeof value["blob"] === "string") return { blob: value["blob"], bytes: bytesOf({ base64: value["base64"] }) };
  if (typeof value["end"] === "object" && value["end"] !== null) {
    const { records, blobs } = value["end"] as { records?: unknown; blobs?: unknown };
    return { end: { records: Number(records), blobs: Number(blobs) } };
  }
  if (!("checksum" in value)) throw wrong(`is neither a header, a record, a blob nor an end: ${seen(value)}`);
  return { record: { ...value, payload: payloadOf(value["payload"]) } as unknown as LogRecord };
}

function json(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw wrong(`is not a JSON object: ${seen(text)}`);
}

function header({ format, session, seq, head, absent }: Record<string, unknown>): TransferLine {
  if (typeof format !== "number" || format > transferFormat) {
    throw wrong(`has format ${seen(format)}, this build reads up to ${transferFormat}; update Pawl`);
  }
  const complete =
    typeof session === "string" && Number.isSafeInteger(seq) && typeof head === "object" && head !== null;
  if (!complete || !Array.isArray(absent)) throw wrong("is a header without session, seq, head or absent");
  return { pawl: "session", format, session, seq: Number(seq), head: head as Head, absent: absent as Absent[] };
}

function payloadOf(form: unknown): LogRecord["payload"] {
  if (typeof form !== "object" || form === null || !("erased" in form)) return bytesOf(form);
  const { erased, left, seal } = form as { erased: string; left?: unknown; seal: string };
  return { erased, left: bytesOf(left), seal };
}

function bytesOf(form: unknown): Uint8Array {
  if (typeof form === "string") return new TextEncoder().encode(form);
  const text = (form as { base64?: unknown } | null)?.base64;
  if (typeof text !== "string") throw wrong(`has no payload that can be read: ${seen(form)}`);
  return new Uint8Array(Buffer.from(text, "base64"));
}

function wrong(what: string): PawlError {
  return new PawlError("INVALID_INPUT", what);
}
