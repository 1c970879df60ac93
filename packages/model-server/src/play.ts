import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { statusBody, statusOfType } from "./fault.ts";
import type { Gates } from "./gate.ts";
import type { Encoder } from "./protocol/encoder.ts";
import { GARBAGE } from "./protocol/encoder.ts";
import type { Protocol } from "./protocol/protocol.ts";
import type { Beat, ControlBeat } from "./score.ts";

/** One response on its connection, and what playing on it needs. */
export interface Stage {
  readonly response: ServerResponse;
  readonly protocol: Protocol;
  readonly requestId: string;
  /** Aborts when the client goes or the server closes. */
  readonly signal: AbortSignal;
  readonly gates: Gates;
  readonly pieces: number | undefined;
  /** Told before the socket is destroyed, so that this end is not taken for the client's. */
  readonly onReset: () => void;
}

/** Resolves once the bytes have left this process: what follows (a reset, say) cannot overtake them. */
function write(stage: Stage, bytes: Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (stage.signal.aborted) resolve();
  else stage.response.write(bytes, () => resolve());
  return promise;
}

async function writePieces(stage: Stage, bytes: Buffer): Promise<void> {
  const size = stage.pieces ?? bytes.length;
  for (let at = 0; at < bytes.length; at += size) await write(stage, bytes.subarray(at, at + size));
}

function gone(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

/** Waiting and ending mean the same whether the answer streams or not. */
async function control(stage: Stage, beat: ControlBeat): Promise<void> {
  switch (beat.beat) {
    case "headers":
      return stage.response.flushHeaders();
    case "raw":
      return writePieces(stage, beat.bytes);
    case "wait":
      return delay(beat.ms, undefined, { signal: stage.signal }).catch(() => {});
    case "hold":
      return stage.gates.hold(beat.name, stage.signal);
    case "reset":
      stage.onReset();
      stage.response.socket?.resetAndDestroy();
      return;
    case "end":
      stage.response.end();
      return;
    case "silence":
      return gone(stage.signal);
  }
}

/** Ends the response, unless a reset, an `end` or the client has already. */
function finish(stage: Stage, body?: string): void {
  const { response, signal } = stage;
  if (!signal.aborted && !response.writableEnded && !response.socket?.destroyed) response.end(body);
}

export async function playStream(stage: Stage, beats: Iterable<Beat>, encoder: Encoder): Promise<void> {
  for (const beat of beats) {
    if (stage.signal.aborted) return;
    switch (beat.beat) {
      case "headers":
      case "raw":
      case "wait":
      case "hold":
      case "reset":
      case "end":
      case "silence":
        await control(stage, beat);
        break;
      default: {
        const lost = "lost" in beat && beat.lost;
        // A lost frame is still encoded: counters and the server's own belief move on.
        for (const frame of encoder.frames(beat)) if (!lost) await writePieces(stage, Buffer.from(frame));
      }
    }
  }
  finish(stage);
}

/** Without streaming the content is one body at the end; faults act on the connection as they do in a stream. */
export async function playWhole(stage: Stage, beats: Iterable<Beat>, encoder: Encoder): Promise<void> {
  let replaced = false;
  for (const beat of beats) {
    if (stage.signal.aborted) return;
    switch (beat.beat) {
      case "end": {
        if (!replaced) await write(stage, half(encoder.body()));
        await control(stage, beat);
        return;
      }
      case "raw":
        replaced = true;
        await control(stage, beat);
        break;
      case "garbage":
        replaced = true;
        await write(stage, Buffer.from(GARBAGE));
        break;
      case "error": {
        const status = beat.fault.status ?? statusOfType(beat.fault.type);
        if (!stage.response.headersSent) stage.response.statusCode = status;
        stage.response.end(JSON.stringify(statusBody(stage.protocol, status, stage.requestId, beat.fault)));
        return;
      }
      case "headers":
      case "wait":
      case "hold":
      case "reset":
      case "silence":
        await control(stage, beat);
        break;
      default:
        encoder.frames(beat);
    }
  }
  finish(stage, replaced ? undefined : JSON.stringify(encoder.body()));
}

/** A clean end without the terminal frame has this counterpart: a body that stops in the middle. */
function half(body: unknown): Buffer {
  const bytes = Buffer.from(JSON.stringify(body));
  return bytes.subarray(0, Math.floor(bytes.length / 2));
}
