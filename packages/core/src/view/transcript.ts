/**
 * What a person reads: a reducer over live items.
 *
 * Fed with entries alone (from the log) it gives the same as fed live, once the turn has ended. A message is one
 * attempt (L2): its parts are withdrawn when the attempt is discarded, labelled when it is sealed or broken.
 */
import type { LogEntry } from "../log/envelope.ts";
import type { AttemptEnd, EventOf, LogEvent, MessagePart, Part, ToolOutput } from "../log/event.ts";
import type { Decision, Failure, Outcome } from "../log/value.ts";
import type { LiveItem } from "./live.ts";

export type TranscriptItem =
  | { type: "input"; id: string; kind: "prompt" | "steer"; content: Part[] }
  | TranscriptMessage
  | { type: "end"; turn: string; outcome: Outcome; failure?: Failure };

export interface TranscriptMessage {
  type: "message";
  /** Its one attempt. */
  attempt: string;
  state: "streaming" | AttemptEnd;
  parts: TranscriptPart[];
  failure?: Failure;
  decision?: Decision;
}

export type TranscriptPart =
  | { type: "text" | "reasoning"; id: string; text: string }
  | {
      type: "call";
      id: string;
      tool: string;
      input: string;
      /** `waiting`: for a person's answer. */
      state: "asked" | "waiting" | "entered" | "settled";
      /** The last question about it. */
      approval?: string;
      output?: ToolOutput;
    }
  | { type: "other"; id: string; part: MessagePart };

export interface Transcript {
  items: TranscriptItem[];
}

export function emptyTranscript(): Transcript {
  return { items: [] };
}

/** Applies one item. Changes and returns `transcript`. */
export function readItem(transcript: Transcript, item: LiveItem): Transcript {
  switch (item.type) {
    case "entry":
      return readEntry(transcript, item.entry);
    case "part.started": {
      const message = messageOf(transcript, item.attempt);
      const known = partOf(message, item.part);
      // Whoever watches anew, from facts that he knows, is told the words of the open attempt from their beginning.
      if (known?.type === "call") known.input = "";
      else if (known && known.type !== "other") known.text = "";
      else if (!known) message?.parts.push(...newPart(item.part, item.kind, item.tool));
      return transcript;
    }
    case "part.delta": {
      const part = partOf(messageOf(transcript, item.attempt), item.part);
      if (part?.type === "call") part.input += item.text;
      else if (part && part.type !== "other") part.text += item.text;
      return transcript;
    }
    case "part.ended":
    case "approval.pending":
    case "tool.progress":
    case "paused":
    case "resumed":
    case "warning":
      return transcript;
  }
}

/** The transcript of a log. */
export function transcriptOf(entries: Iterable<LogEntry>): Transcript {
  const transcript = emptyTranscript();
  for (const entry of entries) readEntry(transcript, entry);
  return transcript;
}

/** The committed text of one message: what a pipe prints. */
export function textOf(parts: readonly (MessagePart | TranscriptPart)[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function readEntry(transcript: Transcript, entry: LogEntry): Transcript {
  const event: LogEvent = entry.event;
  switch (event.type) {
    case "input.accepted":
      transcript.items.push({ type: "input", id: event.input, kind: event.kind, content: event.content });
      break;
    case "attempt.started":
      if (event.purpose === "step")
        transcript.items.push({ type: "message", attempt: event.attempt, state: "streaming", parts: [] });
      break;
    case "attempt.ended": {
      const message = messageOf(transcript, event.attempt);
      if (!message) break;
      message.state = event.end;
      if (event.failure) message.failure = event.failure;
      if (event.decision) message.decision = event.decision;
      // What was let out and is not in the log is lost to everyone: what is shown now is what a later reader will see.
      // Retracted, not deleted: the fragment stays in the log for whoever audits it.
      if (isRetracted(event)) message.parts = [];
      else if (event.end !== "committed") message.parts = shownParts(event.fragment ?? []);
      break;
    }
    case "message.committed": {
      const message = messageOf(transcript, event.attempt);
      if (message) message.parts = shownParts(event.parts);
      break;
    }
    case "approval.requested": {
      const call = callOf(transcript, event.call);
      if (call) Object.assign(call, { state: "waiting", approval: event.approval });
      break;
    }
    case "approval.resolved": {
      const call = waitingFor(transcript, event.approval);
      if (call) call.state = "asked";
      break;
    }
    case "tool.entered":
    case "tool.settled": {
      const call = callOf(transcript, event.call);
      if (!call) break;
      call.state = event.type === "tool.entered" ? "entered" : "settled";
      if (event.type === "tool.settled") call.output = event.output;
      break;
    }
    case "turn.ended":
      transcript.items.push({
        type: "end",
        turn: event.turn,
        outcome: event.outcome,
        ...(event.failure ? { failure: event.failure } : {}),
      });
      break;
    default:
      break;
  }
  return transcript;
}

function messageOf(transcript: Transcript, attempt: string): TranscriptMessage | undefined {
  return transcript.items.findLast(
    (item): item is TranscriptMessage => item.type === "message" && item.attempt === attempt,
  );
}

function callOf(transcript: Transcript, call: string): Extract<TranscriptPart, { type: "call" }> | undefined {
  // A call's id begins with its attempt's, and most calls are of the last message.
  const message = transcript.items.findLast((item) => item.type === "message" && call.startsWith(`${item.attempt}-`));
  const part = message?.type === "message" ? partOf(message, call) : undefined;
  return part?.type === "call" ? part : undefined;
}

function waitingFor({ items }: Transcript, approval: string): Extract<TranscriptPart, { type: "call" }> | undefined {
  const message = items.findLast((item) => item.type === "message");
  const part = message?.parts.find((one) => one.type === "call" && one.approval === approval);
  return part?.type === "call" && part.state === "waiting" ? part : undefined;
}

function partOf(message: TranscriptMessage | undefined, id: string): TranscriptPart | undefined {
  return message?.parts.findLast((part) => part.id === id);
}

/** Files, sources and the like come whole, with their message. */
function newPart(id: string, kind: MessagePart["type"], tool = ""): TranscriptPart[] {
  if (kind === "text" || kind === "reasoning") return [{ type: kind, id, text: "" }];
  return kind === "tool-call" ? [{ type: "call", id, tool, input: "", state: "asked" }] : [];
}

/** Whether the parts of an attempt that ended so are withdrawn from whoever has read them. */
export function isRetracted({ end, decision }: EventOf<"attempt.ended">): boolean {
  // A crashed attempt ends as interrupted, and is retracted all the same when the step is tried again.
  return end === "discarded" || (end === "interrupted" && decision?.action === "discard");
}

function shownParts(parts: readonly MessagePart[]): TranscriptPart[] {
  const shown = parts.map(shownPart);
  // A call that the provider ran has its result beside it in the same message.
  for (const part of parts) {
    if (part.type !== "tool-result") continue;
    const call = shown.find((one) => one.id === part.call);
    if (call?.type !== "call") continue;
    call.state = "settled";
    call.output = { content: [{ type: "data", data: part.result }], isError: part.isError === true };
  }
  return shown;
}

function shownPart(part: MessagePart): TranscriptPart {
  if (part.type === "text" || part.type === "reasoning") return { type: part.type, id: part.id, text: part.text };
  if (part.type === "tool-call") {
    return { type: "call", id: part.id, tool: part.tool, input: part.input, state: "asked" };
  }
  return { type: "other", id: part.id, part };
}
