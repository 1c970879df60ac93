/**
 * Between events and records.
 *
 * Owns: encoding, decoding, versions, what may be passed over. Invariants:
 * 1. What `encode` accepts, `decode` accepts: both run the same validator (check).
 * 2. `decode(encode(event))` is the event.
 * 3. An unknown type or version is passed over if it says so, else nothing of the session may be driven.
 */
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { checkEvent, isEventType } from "./check.ts";
import { checksum, type LogEntry, type LogRecord, redactionSeal } from "./envelope.ts";
import type { EventType, LogEvent } from "./event.ts";
import { seen } from "./shape.ts";

/** The version this build writes, per type. All types began at 1. */
const eventVersion = 1;

/** Facts a reader can live without: views lose a detail, no fold loses its footing. */
const ignorableTypes: ReadonlySet<EventType> = new Set(["note.recorded", "snapshot.recorded"]);

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

export interface BatchPosition {
  session: string;
  epoch: number;
  /** The seq before the first record of the batch. */
  expectedSeq: number;
  /** UTC, ms. */
  time: number;
}

/** Encodes a batch; throws INVALID_EVENT naming the event and the field, before anything is written. */
export function encode(events: readonly LogEvent[], { session, epoch, expectedSeq, time }: BatchPosition): LogRecord[] {
  return events.map((event, index) => encodeEntry({ session, seq: expectedSeq + 1 + index, epoch, time, event }));
}

/** Encodes one fact at its place; throws as `encode`. */
export function encodeEntry({ session, seq, epoch, time, event }: LogEntry): LogRecord {
  const { type } = event;
  const payload = payloadOf(event);
  if (payload.byteLength > limit.recordBytes) {
    throw new PawlError(
      "INVALID_EVENT",
      `cannot record ${type}: ${payload.byteLength} bytes, at most ${limit.recordBytes}; put large content into a blob`,
    );
  }
  const ignorable = ignorableTypes.has(type);
  const record = { session, seq, epoch, type, version: eventVersion, ignorable, time, payload, checksum: "" };
  record.checksum = checksum(record, payload);
  return record;
}

/** What JSON cannot carry (a cycle, a bigint, depth without end) is as invalid as what the validator refuses. */
function payloadOf(event: LogEvent): Uint8Array {
  const { type } = event;
  let problem: string | undefined;
  try {
    problem = checkEvent(event);
    if (problem === undefined) return encoder.encode(JSON.stringify({ ...event, type: undefined }));
  } catch (cause) {
    throw new PawlError("INVALID_EVENT", `cannot record ${String(type)}: it is not JSON`, { cause });
  }
  throw new PawlError("INVALID_EVENT", `cannot record ${String(type)}: ${problem}`);
}

/**
 * Decodes one record. Undefined: unknown and ignorable, pass over. Throws CORRUPT where the checksum, the JSON or the
 * event is wrong, and SESSION_READ_ONLY where a newer version is needed.
 */
export function decode(record: LogRecord): LogEntry | undefined {
  if (checksum(record, record.payload) !== record.checksum) {
    throw corrupt(record, `the checksum does not match; run \`pawl doctor ${record.session}\``);
  }
  if (typeof record.type !== "string" || typeof record.version !== "number")
    throw corrupt(record, "its envelope is none");
  if (!isEventType(record.type) || record.version > eventVersion) {
    if (record.ignorable) return undefined;
    throw new PawlError(
      "SESSION_READ_ONLY",
      `${placeOf(record)}: version ${record.version} needs a newer Pawl; update to drive it`,
    );
  }
  const event = parse(record, record.type);
  const problem = checkEvent(event);
  if (problem) throw corrupt(record, problem);
  return { session: record.session, seq: record.seq, epoch: record.epoch, time: record.time, event };
}

function parse(record: LogRecord, type: EventType): LogEvent {
  const payload = readablePayload(record);
  try {
    const event = { type, ...(JSON.parse(decoder.decode(payload)) as object) };
    // The envelope says what it is, whatever a payload says of itself.
    event.type = type;
    return event as LogEvent;
  } catch (cause) {
    throw corrupt(record, "the payload is not JSON", cause);
  }
}

/** Of an erased payload, what was left in its place. */
function readablePayload(record: LogRecord): Uint8Array {
  const { payload, checksum: sum } = record;
  if (payload instanceof Uint8Array) return payload;
  if (redactionSeal(sum, payload.left) === payload.seal) return payload.left;
  throw corrupt(record, "its payload was erased, and what is left does not match its seal");
}

function corrupt(record: LogRecord, what: string, cause?: unknown): PawlError {
  return new PawlError("CORRUPT", `${placeOf(record)}: ${what}`, cause === undefined ? undefined : { cause });
}

function placeOf({ session, seq, type }: LogRecord): string {
  return `session ${session}, record ${seq} (${typeof type === "string" ? type : seen(type)})`;
}

/** Decodes records in order and checks that seq has no gap and epoch never falls. */
export function decodeAll(records: Iterable<LogRecord>, after = 0): LogEntry[] {
  const entries: LogEntry[] = [];
  let seq = after;
  let epoch = 0;
  let session: string | undefined;
  for (const record of records) {
    if (record.seq !== seq + 1) {
      throw new PawlError("CORRUPT", `session ${record.session}: record ${seq + 1} is missing, found ${record.seq}`);
    }
    // A fork has its own epochs, from 0 on: those of its parent's records before it are another lease's.
    if (record.session === session && record.epoch < epoch) {
      throw new PawlError(
        "CORRUPT",
        `session ${record.session}: epoch falls from ${epoch} to ${record.epoch} at ${seq + 1}`,
      );
    }
    seq = record.seq;
    epoch = record.epoch;
    session = record.session;
    const entry = decode(record);
    if (entry) entries.push(entry);
  }
  return entries;
}
