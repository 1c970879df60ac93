/**
 * What the context fold keeps: the messages for one target, their sizes, and the entries that made them.
 *
 * Invariants:
 * 1. `messages` only grows, except at a recorded change: it is made again from `kept`, or, where reasoning goes with its
 *    turn, from the messages' own parts.
 * 2. Everything in it comes from entries after `cut`, and from the compaction that cut there: a context loaded from
 *    that seq on is the same, if it is told first which providers had refused state before.
 */
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import type { LogEntry } from "../log/envelope.ts";
import type { MessagePart, Part } from "../log/event.ts";
import { messageChars } from "../log/size.ts";
import type { EagerEntries, Pending } from "../tool/pending.ts";
import type { Replay, WireName } from "./assistant.ts";
import { missingStartMessage, summaryMessage } from "./message.ts";
import type { Target } from "./target.ts";
import { WireIds } from "./wire-id.ts";

export interface ContextState extends Past {
  readonly target: Target;
  /** Everything that can no longer change. */
  messages: LanguageModelV4Message[];
  /** One for each message. */
  marks: Mark[];
  /** The last committed message's calls, until their results are complete or something follows. */
  open: OpenMessage | undefined;
  /** The last attempt at the step's message. */
  attempt: string | undefined;
  /** The last request for anything else (a title, a summary): it leaves nothing in the conversation. */
  aside: string | undefined;
  /** What the attempt had let out when it ended without a commit; sent if it ends the turn. */
  fragment: MessagePart[] | undefined;
  /** Answers since the last message that delivered nothing. */
  empties: number;
  /** Reads that were entered while that attempt was open. */
  eager: EagerEntries;
  ids: WireIds;
  /** Attempts whose message stands here: a second one of the same does not repeat its opaque state. */
  committed: Set<string>;
  /** Messages of the open turn that carry reasoning, where it is to go with the turn. */
  thoughts: Thought[];
  /** The entries that shape messages, in log order. They are the log's own objects. */
  kept: LogEntry[];
}

/** The recorded changes in force. */
export interface Past {
  /** What stood in entries up to this seq is replaced by `summary`. */
  cut: number;
  summary: readonly Part[] | undefined;
  prunes: readonly Prune[];
  /** The target's provider has refused replayed state: none is sent for the rest of the session. */
  stripped: boolean;
}

export interface Prune {
  upTo: number;
  chars: number;
}

export interface Mark {
  /** The last entry that shaped the message. */
  seq: number;
  /** Of all messages up to this one. */
  chars: number;
  /** An input; else its seq is a boundary if nothing is open behind it. */
  input: boolean;
  settled: boolean;
}

export interface OpenMessage {
  pending: Pending;
  /** Each call as it stands in the message, with its names on the wire. A broken log may have one id twice in it. */
  calls: ({ id: string } & WireName)[];
  /** Where each result was recorded. */
  settledAt: Map<string, number>;
  /** The last entry that says something about its calls. */
  seq: number;
}

/** A message with reasoning, and what it was made from. */
export interface Thought {
  at: number;
  parts: readonly MessagePart[];
  wires: readonly WireName[];
  replay: Replay;
}

export function emptyState(target: Target, past: Partial<Past> = {}): ContextState {
  // Each field by its name: of an object that is spread together the engine knows nothing, and every fold reads it.
  const { cut = 0, summary, prunes = [], stripped = false } = past;
  const state: ContextState = {
    target,
    cut,
    summary,
    prunes,
    stripped,
    messages: [],
    marks: [],
    open: undefined,
    attempt: undefined,
    aside: undefined,
    fragment: undefined,
    empties: 0,
    eager: new Map(),
    ids: new WireIds(),
    committed: new Set(),
    thoughts: [],
    kept: [],
  };
  if (state.summary) add(state, summaryMessage(state.summary), { seq: state.cut });
  return state;
}

/** `settled`: the conversation may be cut behind this message. */
export function add(
  state: ContextState,
  message: LanguageModelV4Message,
  { seq, input = false, settled = false }: { seq: number; input?: boolean; settled?: boolean },
): void {
  if (state.messages.length === 0 && message.role !== "user") add(state, missingStartMessage(), { seq });
  state.messages.push(message);
  const chars = charsOf(state) + messageChars(message);
  // What an attempt had let out may still become a message: it belongs to what stands before it.
  state.marks.push({ seq, chars, input, settled: settled && state.fragment === undefined });
}

export function charsOf({ marks }: ContextState): number {
  return marks.at(-1)?.chars ?? 0;
}
