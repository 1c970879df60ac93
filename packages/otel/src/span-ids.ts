/**
 * Ids of spans from what they are spans of, so that a turn told twice (live and again from the log, or by two processes) is
 * one trace and not two, and a turn finds the one it goes on from. A tracer takes ids from its provider's generator only:
 * give this to the provider and to `observe` and `record`.
 */
import { createHash } from "node:crypto";
import type { SpanContext } from "@opentelemetry/api";
import type { SpanShape, TurnTrace } from "./span.ts";

export class SpanIds {
  #next: { trace: string; span?: string } | undefined;

  /** For the tracer provider. Spans that are not ours get random ids. */
  generateTraceId(): string {
    return this.#next?.trace ?? randomHex(16);
  }

  generateSpanId(): string {
    // Once: what a processor starts meanwhile is not ours.
    const { span } = this.#next ?? {};
    if (this.#next) delete this.#next.span;
    return span ?? randomHex(8);
  }

  /** The ids that the span started inside `start` gets. */
  during<T>(trace: TurnTrace, span: SpanShape, start: () => T): T {
    this.#next = { trace: traceId(trace.session, trace.turn), span: spanId(trace.session, span.id) };
    try {
      return start();
    } finally {
      this.#next = undefined;
    }
  }

  /** Where the span of a turn is, whoever told it. */
  contextOf(session: string, turn: string): SpanContext {
    return { traceId: traceId(session, turn), spanId: spanId(session, turn), traceFlags: 1 };
  }
}

function traceId(session: string, turn: string): string {
  return hex(["trace", session, turn], 32);
}

function spanId(session: string, id: string): string {
  return hex(["span", session, id], 16);
}

function hex(parts: readonly string[], length: number): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, length);
}

function randomHex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}
