/** What a subscriber hears: durable facts, and words that are not durable yet, tagged with their attempt and part. */
import type { LogEntry } from "../log/envelope.ts";
import type { Json, MessagePart } from "../log/event.ts";

/** A call that waits for a person's answer. */
export interface PendingApproval {
  approval: string;
  call: string;
  tool: string;
  /** The argument text as the model gave it. */
  input: string;
  /** Of tool and input: an answer that names it is for this very call and no other. */
  digest: string;
  /** UTC ms. */
  askedAt: number;
  expiresAt?: number;
}

export type LiveItem =
  /** A fact of the log, after it became durable. `attempt.ended` with `discarded` retracts that attempt's parts. */
  | { type: "entry"; entry: LogEntry }
  /** Of a part that is known already (to whoever watches anew): its words are told from their beginning. */
  | { type: "part.started"; attempt: string; part: string; kind: MessagePart["type"]; tool?: string }
  | { type: "part.delta"; attempt: string; part: string; kind: MessagePart["type"]; text: string }
  | { type: "part.ended"; attempt: string; part: string }
  /** A person is asked, now or since before this subscriber came. Over with `approval.resolved` or `tool.settled`. */
  | { type: "approval.pending"; approval: PendingApproval }
  /** How a running tool goes. Not recorded. */
  | { type: "tool.progress"; call: string; data: Json }
  /**
   * The store takes nothing more (a full disk): nothing new is sent, waited for or entered until it does. Over with
   * `resumed`, or with the drive.
   */
  | { type: "paused"; reason: string; since: number }
  | { type: "resumed" }
  | { type: "warning"; text: string };
