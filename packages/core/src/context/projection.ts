/**
 * What the model sees: a fold of the log for one target.
 *
 * Owns: which recorded facts are sent, where, in what form. Does not own: the log, which is never changed to please a
 * provider. Pure. Invariants:
 * 1. Every client-executed call has exactly one result, directly after its message, in call order, for any log (L1).
 * 2. Messages once sent keep their bytes: state only appends, except at recorded changes (L10).
 * 3. Nothing of a sealed or discarded attempt is sent. Of a fragment that ended its turn, the text is, marked.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { LogEntry } from "../log/envelope.ts";
import type { EventOf, MessagePart } from "../log/event.ts";
import type { Fold } from "../log/fold.ts";
import { type EagerEntries, type Pending, pendingOf, track, trackEager, unsettled } from "../tool/pending.ts";
import { missingOutput } from "../tool/settle.ts";
import { assistantMessage, isBlank, type Target, toolResult, userMessage, wireToolName } from "./message.ts";
import { WireIds } from "./wire-id.ts";

export interface ContextState {
  /** Everything that can no longer change. */
  messages: LanguageModelV4Message[];
  /** The last committed message's calls, until their results are complete or something follows. */
  open: OpenMessage | undefined;
  /** The last attempt at the step's message. Other requests (a title, a summary) leave nothing in the conversation. */
  attempt: string | undefined;
  /** What that attempt had let out when it ended without a commit; sent if it ends the turn. */
  fragment: MessagePart[] | undefined;
  /** Reads that were entered while that attempt was open. */
  eager: EagerEntries;
  ids: WireIds;
  /** The tools that the header in force declares. */
  declared: ReadonlySet<string>;
}

interface OpenMessage {
  pending: Pending;
  /** Each call as it stands in the message, with its names on the wire. A broken log may have one id twice in it. */
  calls: { id: string; wireId: string; wireName: string }[];
}

export const interruptedSuffix = " [interrupted]";

export function contextFold(target: Target): Fold<ContextState> {
  return {
    init: () => ({
      messages: [],
      open: undefined,
      attempt: undefined,
      fragment: undefined,
      eager: new Map(),
      ids: new WireIds(),
      declared: new Set(),
    }),
    step: (state, entry) => step(state, entry, target),
  };
}

/** The messages of the next request. Calls still without a result get the same synthetic one every time. */
export function promptOf(state: ContextState, instructions: string | undefined): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  if (instructions !== undefined && !isBlank(instructions))
    prompt.push({ role: "system", content: instructions.toWellFormed() });
  // Not a spread: a long session's messages would be pushed as arguments.
  for (const message of state.messages) prompt.push(message);
  if (state.open) prompt.push(resultsOf(state.open));
  return prompt;
}

function step(state: ContextState, entry: LogEntry, target: Target): ContextState {
  const { event } = entry;
  trackEager(state.eager, entry);
  switch (event.type) {
    case "input.accepted":
      close(state);
      add(state, userMessage(event.content));
      break;
    case "step.started":
      if (event.header) state.declared = new Set(event.header.tools.map((tool) => tool.name));
      break;
    case "attempt.started":
      if (event.purpose !== "step") break;
      state.attempt = event.attempt;
      state.fragment = undefined;
      break;
    case "attempt.ended":
      if (event.attempt !== state.attempt) break;
      if (event.end === "failed" || event.end === "interrupted") state.fragment = event.fragment;
      break;
    case "message.committed":
      commit(state, event, target);
      break;
    case "tool.entered":
    case "log.repaired":
      if (state.open) track(state.open.pending, entry);
      break;
    case "tool.settled":
      if (!state.open) break;
      track(state.open.pending, entry);
      if (unsettled(state.open.pending).length === 0) close(state);
      break;
    case "turn.ended":
      close(state);
      if (state.fragment) add(state, fragmentMessage(state.fragment));
      state.fragment = undefined;
      break;
    default:
      break;
  }
  return state;
}

function commit(state: ContextState, event: EventOf<"message.committed">, target: Target): void {
  close(state);
  const calls: OpenMessage["calls"] = [];
  const message = assistantMessage(event.parts, event.model, target, (part) => {
    const wireId = state.ids.next(part.providerId, part.id);
    const wireName = part.providerExecuted ? part.tool : wireToolName(part.tool, state.declared);
    if (!part.providerExecuted) calls.push({ id: part.id, wireId, wireName });
    return { wireId, wireName };
  });
  add(state, message);
  if (calls.length > 0) state.open = { pending: pendingOf(event.parts, state.eager), calls };
}

function close(state: ContextState): void {
  if (!state.open) return;
  state.messages.push(resultsOf(state.open));
  state.open = undefined;
}

function resultsOf({ pending, calls }: OpenMessage): LanguageModelV4Message {
  const content = calls.flatMap(({ id, wireId, wireName }) => {
    const call = pending.get(id);
    return call ? [toolResult(wireName, wireId, call.output ?? missingOutput(call))] : [];
  });
  return { role: "tool", content };
}

/** Only text: reasoning, calls and signatures of a broken message prove nothing and would be refused. */
function fragmentMessage(parts: readonly MessagePart[]): LanguageModelV4Message | undefined {
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  if (isBlank(text)) return undefined;
  return { role: "assistant", content: [{ type: "text", text: text.trimEnd().toWellFormed() + interruptedSuffix }] };
}

function add(state: ContextState, message: LanguageModelV4Message | undefined): void {
  if (message) state.messages.push(message);
}
