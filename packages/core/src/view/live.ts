/** What a subscriber hears: durable facts, and words that are not durable yet, tagged with their attempt and part. */
import type { LogEntry } from "../log/envelope.ts";
import type { Json, MessagePart } from "../log/event.ts";

export type LiveItem =
  /** A fact of the log, after it became durable. `attempt.ended` with `discarded` retracts that attempt's parts. */
  | { type: "entry"; entry: LogEntry }
  | { type: "part.started"; attempt: string; part: string; kind: MessagePart["type"]; tool?: string }
  | { type: "part.delta"; attempt: string; part: string; text: string }
  | { type: "part.ended"; attempt: string; part: string }
  /** How a running tool goes. Not recorded. */
  | { type: "tool.progress"; call: string; data: Json }
  | { type: "warning"; text: string };
