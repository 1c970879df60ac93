/**
 * What is left of an event whose payload an operator erases: the same event, with a fixed text in place of content.
 *
 * Owns: which types hold content, and what stays of each. Pure. Invariants:
 * 1. What stays is a valid event of the same type: every fold reads it, none needs to know.
 * 2. Ids stay, and so do order, kinds, codes and figures: calls keep their results, attempts their books.
 * 3. Opaque provider state goes with the text that it signs: a signature proves a text that is no longer there.
 */
import { PawlError } from "../error.ts";
import { decode } from "./codec.ts";
import { type ErasedPayload, type LogRecord, payloadHash, redactionSeal } from "./envelope.ts";
import type { EventOf, EventType, LogEvent, MessagePart, Part } from "./event.ts";

/** What folds, models and people read in place of content. */
export const erasedText = "[erased]";
/** A call's input is JSON for the endpoints that see it again. */
const erasedInput = JSON.stringify({ erased: erasedText });
const erasedContent: Part[] = [{ type: "text", text: erasedText }];

const redactions: { [T in EventType]?: (event: EventOf<T>) => EventOf<T> } = {
  "input.accepted": (event) => ({ ...event, content: erasedContent }),
  "turn.ended": (event) => (event.output === undefined ? event : { ...event, output: erasedText }),
  "attempt.ended": ({ notes, fragment, ...event }) => ({
    ...event,
    ...(fragment && { fragment: fragment.map(redactPart) }),
    ...(notes && { notes: notes.map(() => erasedText) }),
  }),
  "message.committed": (event) => ({ ...event, parts: event.parts.map(redactPart) }),
  // A path may come from the call's input.
  "tool.entered": ({ site, input, ...event }) => ({
    ...event,
    ...(input !== undefined && { input: erasedInput }),
    ...(site && { site: { ...site, where: erasedText } }),
  }),
  "tool.settled": (event) => ({ ...event, output: { ...event.output, content: erasedContent } }),
  "context.compacted": (event) => ({ ...event, summary: erasedContent }),
  "note.recorded": ({ data: _, ...event }) => ({ ...event, text: erasedText }),
};

function redactPart(part: MessagePart): MessagePart {
  const { id } = part;
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, id, text: erasedText };
    case "tool-call": {
      const { meta: _, ...call } = part;
      return { ...call, input: erasedInput };
    }
    case "tool-result": {
      const { meta: _, ...result } = part;
      return { ...result, result: erasedText };
    }
    case "file":
      return { type: "file", id, mediaType: part.mediaType };
    case "source":
      return { type: "source", id, source: erasedText };
    case "custom":
      return { type: "custom", id, kind: part.kind };
  }
}

/** Undefined: events of this type hold no content that may be erased. */
export function redact(event: LogEvent): LogEvent | undefined {
  const redaction = redactions[event.type] as ((event: LogEvent) => LogEvent) | undefined;
  return redaction?.(event);
}

/**
 * What the store keeps in place of this record's payload. Fails with INVALID_INPUT for a record without content, and as
 * `decode` does for one that cannot be read. Of one that was erased before, what is there.
 */
export function erasePayload(record: LogRecord): ErasedPayload {
  const entry = decode(record);
  if (!(record.payload instanceof Uint8Array)) return record.payload;
  const rest = entry && redact(entry.event);
  if (!rest) {
    const types = Object.keys(redactions).join(", ");
    throw new PawlError(
      "INVALID_INPUT",
      `record ${record.seq} is ${record.type}, which holds no content to erase; records that do: ${types}`,
    );
  }
  const { type: _, ...fields } = rest;
  const left = new TextEncoder().encode(JSON.stringify(fields));
  return { erased: payloadHash(record.payload), left, seal: redactionSeal(record.checksum, left) };
}
