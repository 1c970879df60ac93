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
import { type Pending, pendingOf, track } from "../tool/pending.ts";
import { missingOutput } from "../tool/settle.ts";
import { assistantMessage, isBlank, type Target, toolResult, userMessage } from "./message.ts";
import { WireIds } from "./wire-id.ts";

export interface ContextState {
  /** Everything that can no longer change. */
  messages: LanguageModelV4Message[];
  /** The last committed message's calls, until their results are complete or something follows. */
  open: { pending: Pending; ids: Map<string, string> } | undefined;
  /** What the last attempt had let out when it ended without a commit; sent if it ends the turn. */
  fragment: MessagePart[] | undefined;
  ids: WireIds;
}

export const interruptedSuffix = " [interrupted]";

export function contextFold(target: Target): Fold<ContextState> {
  return {
    init: () => ({ messages: [], open: undefined, fragment: undefined, ids: new WireIds() }),
    step: (state, entry) => step(state, entry, target),
  };
}

/** The messages of the next request. Calls still without a result get the same synthetic one every time. */
export function promptOf(state: ContextState, instructions: string | undefined): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  if (instructions !== undefined && !isBlank(instructions)) prompt.push({ role: "system", content: instructions });
  // Not a spread: a long session's messages would be pushed as arguments.
  for (const message of state.messages) prompt.push(message);
  if (state.open) prompt.push(resultsOf(state.open));
  return prompt;
}

function step(state: ContextState, entry: LogEntry, target: Target): ContextState {
  const { event } = entry;
  switch (event.type) {
    case "input.accepted":
      close(state);
      add(state, userMessage(event.content));
      break;
    case "attempt.started":
      state.fragment = undefined;
      break;
    case "attempt.ended":
      if (event.end === "failed" || event.end === "interrupted") state.fragment = event.fragment;
      break;
    case "message.committed":
      commit(state, event, target);
      break;
    case "tool.settled":
      if (state.open) {
        track(state.open.pending, entry);
        if ([...state.open.pending.values()].every((call) => call.output)) close(state);
      }
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
  const ids = new Map<string, string>();
  const message = assistantMessage(event.parts, event.model, target, (part) => {
    const id = state.ids.next(part.providerId, part.id);
    ids.set(part.id, id);
    return id;
  });
  add(state, message);
  const pending = pendingOf(event.parts);
  if (pending.size > 0) state.open = { pending, ids };
}

function close(state: ContextState): void {
  if (!state.open) return;
  state.messages.push(resultsOf(state.open));
  state.open = undefined;
}

function resultsOf({ pending, ids }: NonNullable<ContextState["open"]>): LanguageModelV4Message {
  const content = [...pending.values()].map((call) =>
    toolResult(call.part.tool, ids.get(call.part.id) ?? call.part.id, call.output ?? missingOutput(call)),
  );
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
