/**
 * One stored fact: an envelope and payload bytes.
 *
 * Owns: the record's shape and its checksum. Does not own: what payload bytes mean (codec), where they lie (store).
 * Invariants:
 * 1. The checksum covers every envelope field and the hash of the payload, so neither can change unnoticed.
 * 2. An erased payload leaves its hash behind; the checksum still holds. What is left in its place has a seal of its own.
 * 3. A forked session reads its parent's records with the parent's session id in them.
 */
import { hash } from "node:crypto";
import type { LogEvent } from "./event.ts";

export interface Envelope {
  session: string;
  /** 1, 2, 3 ... without a gap within what a session reads. */
  seq: number;
  /** The lease epoch of the driver that wrote it; 0 for the creation. Never falls. */
  epoch: number;
  type: string;
  version: number;
  /** Whether a reader that does not know the type or version may pass over it. */
  ignorable: boolean;
  /** UTC, milliseconds. For display; order comes from seq. */
  time: number;
}

/** What a store keeps, byte for byte. */
export interface LogRecord extends Envelope {
  /** Bytes, or what an operator has left of them. */
  payload: Uint8Array | ErasedPayload;
  /** Hex, 32 characters. */
  checksum: string;
}

export interface ErasedPayload {
  /** sha256 of the bytes that were there, hex. */
  erased: string;
  /** The same event without its content (log/redaction): bytes that decode. */
  left: Uint8Array;
  /** Hex, 32 characters: binds `left` to its record, which the record's own checksum cannot. */
  seal: string;
}

/** A decoded record: what folds step over. */
export interface LogEntry {
  session: string;
  seq: number;
  epoch: number;
  time: number;
  event: LogEvent;
}

/** sha256 of payload bytes, hex. */
export function payloadHash(payload: LogRecord["payload"]): string {
  return payload instanceof Uint8Array ? hash("sha256", payload, "hex") : payload.erased;
}

/** Half a sha256 is plenty against accident, and a third of the bytes per record against the whole. */
export function checksum(envelope: Envelope, payload: LogRecord["payload"]): string {
  const { session, seq, epoch, type, version, ignorable, time } = envelope;
  const head = JSON.stringify([session, seq, epoch, type, version, ignorable, time]);
  return hash("sha256", head + payloadHash(payload), "hex").slice(0, 32);
}

/** What `left` of a record is sealed with. `sum` is the record's own checksum. */
export function redactionSeal(sum: string, left: Uint8Array): string {
  return hash("sha256", `erased ${sum} ${hash("sha256", left, "hex")}`, "hex").slice(0, 32);
}
