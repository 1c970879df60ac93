/**
 * What the model sees: a fold of the log for one target.
 *
 * Owns: which recorded facts are sent, where, in what form. Does not own: the log, which is never changed to please a
 * provider. Pure. Invariants:
 * 1. Every client-executed call has exactly one result, directly after its message, in call order, for any log (L1).
 * 2. Messages once sent keep their bytes: state only appends, except at recorded changes (L10): a compaction, provider
 *    state refused, and the start of a turn where reasoning goes with its turn. There it is made again from the entries
 *    after the last cut, so that nothing of a pair can stay behind, wherever the cut lies.
 * 3. Nothing of a sealed or discarded attempt is sent. Of a fragment that ended its turn, the text is, marked.
 * 4. The first message is a person's, whatever the log begins with, and the last is not the model's own.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { limit } from "../limit.ts";
import type { LogEntry } from "../log/envelope.ts";
import type { EventOf, MessagePart } from "../log/event.ts";
import type { Fold } from "../log/fold.ts";
import { reachOf } from "../log/reach.ts";
import { pendingOf, track, trackEager, unsettled } from "../tool/pending.ts";
import { missingOutput } from "../tool/settle.ts";
import { assistantMessage, needsStandIn, type Replay, type WireName } from "./assistant.ts";
import {
  goOnMessage,
  isBlank,
  missingStartMessage,
  nudgeMessage,
  picturesMessage,
  toolResult,
  userMessage,
  wireToolName,
} from "./message.ts";
import { add, type ContextState, emptyState, type OpenMessage, type Past } from "./state.ts";
import { isAnthropic, isHome, type Target } from "./target.ts";

export type { ContextState };

/** One answer that delivers nothing is tried again as it is. */
const emptiesToNudge = limit.emptiesPerStep - 1;

const interruptedSuffix = " [interrupted]";

export function contextFold(target: Target): Fold<ContextState> {
  return { init: () => emptyState(target), step };
}

/** The messages of the next request. Calls still without a result get the same synthetic one every time. */
export function promptOf(state: ContextState, instructions: string | undefined): LanguageModelV4Prompt {
  const prompt = promptStart(instructions).concat(state.messages);
  if (state.open) prompt.push(...answersOf(state, state.open));
  return prompt;
}

export function promptStart(instructions: string | undefined): LanguageModelV4Prompt {
  return instructions === undefined || isBlank(instructions)
    ? []
    : [{ role: "system", content: instructions.toWellFormed() }];
}

function step(state: ContextState, entry: LogEntry): ContextState {
  const { event } = entry;
  switch (event.type) {
    case "context.compacted":
      return compacted(state, event, entry.seq);
    case "provider-state.stripped":
      if (event.provider !== state.target.provider) return state;
      return state.stripped ? state : refold(state, { stripped: true });
    case "input.accepted":
    case "turn.started":
    case "turn.ended":
    case "attempt.started":
    case "attempt.ended":
    case "message.committed":
    case "tool.entered":
    case "tool.settled":
    case "log.repaired":
      shape(state, entry);
      return state;
    default:
      return state;
  }
}

function compacted(state: ContextState, event: EventOf<"context.compacted">, seq: number): ContextState {
  const { by, summary, resultChars } = event;
  const reach = reachOf(event, seq);
  if (by !== "prune") return refold(state, { cut: Math.max(state.cut, reach), summary });
  return resultChars === undefined ? state : pruned(state, reach, resultChars);
}

/** The same conversation with old results cut. Leaves `state` as it is. */
export function pruned(state: ContextState, upTo: number, chars: number): ContextState {
  return refold(state, { prunes: [...state.prunes, { upTo, chars }] });
}

/** The state made again from the entries that it keeps, after a recorded change. */
function refold(state: ContextState, change: Partial<Past>): ContextState {
  const { cut, summary, prunes, stripped } = { ...state, ...change };
  const next = emptyState(state.target, {
    cut,
    summary,
    prunes: prunes.filter(({ upTo }) => upTo > cut),
    stripped,
  });
  for (const entry of state.kept) if (entry.seq > cut) shape(next, entry);
  return next;
}

function shape(state: ContextState, entry: LogEntry): void {
  const { event, seq } = entry;
  state.kept.push(entry);
  trackEager(state.eager, entry);
  switch (event.type) {
    case "input.accepted":
      close(state);
      add(state, userMessage(event.content, state.target.images), { seq, input: true, settled: true });
      break;
    case "turn.started":
      state.empties = 0;
      if (state.target.reasoning === "turn") forgetThoughts(state);
      break;
    case "attempt.started":
      if (event.purpose !== "step") {
        state.aside = event.attempt;
        break;
      }
      state.attempt = event.attempt;
      state.fragment = undefined;
      // No cut directly behind either: what this attempt lets out must find its beginning.
      // A turn that continues another, a steer that was withdrawn: nobody has said anything since the model did.
      if (!state.open && state.messages.at(-1)?.role === "assistant") add(state, goOnMessage(), { seq });
      // All of it lay in a hole: a request without any message is refused everywhere.
      if (!state.open && state.messages.length === 0) add(state, missingStartMessage(), { seq });
      // The same request a third time would give the same nothing.
      if (state.empties < emptiesToNudge) break;
      close(state);
      add(state, nudgeMessage(), { seq });
      state.empties = 0;
      break;
    case "attempt.ended":
      if (event.attempt !== state.attempt) break;
      if (event.failure?.kind === "empty") state.empties += 1;
      if (event.end === "failed" || event.end === "interrupted") state.fragment = event.fragment;
      break;
    case "message.committed":
      if (event.attempt !== state.aside) commit(state, event, seq);
      break;
    case "tool.entered":
    case "tool.settled":
    case "log.repaired":
      trackOpen(state, entry);
      break;
    case "turn.ended": {
      close(state);
      const fragment = state.fragment && fragmentMessage(state.fragment);
      state.fragment = undefined;
      if (fragment) add(state, fragment, { seq, settled: true });
      break;
    }
    default:
      break;
  }
}

function commit(state: ContextState, event: EventOf<"message.committed">, seq: number): void {
  close(state);
  state.empties = 0;
  const calls: OpenMessage["calls"] = [];
  const wires = event.parts.flatMap((part): WireName[] => {
    if (part.type !== "tool-call") return [];
    const wireId = state.ids.next(part.providerId, part.id, part.providerExecuted);
    const wireName = part.providerExecuted ? part.tool : wireToolName(part.tool, state.target.tools);
    if (!part.providerExecuted) calls.push({ id: part.id, wireId, wireName });
    return [{ wireId, wireName }];
  });
  const replay = replayOf(state, event);
  state.committed.add(event.attempt);
  const message = assistantMessage(event.parts, wires, replay);
  if (!message) return;
  add(state, message, { seq, settled: calls.length === 0 });
  if (state.target.reasoning === "turn" && message.content.some(({ type }) => type === "reasoning"))
    state.thoughts.push({ at: state.messages.length - 1, parts: event.parts, wires, replay });
  if (calls.length > 0) state.open = { pending: pendingOf(event.parts, state.eager), calls, settledAt: new Map(), seq };
}

function replayOf(
  { target, stripped, committed }: ContextState,
  { model, attempt }: EventOf<"message.committed">,
): Replay {
  const home = isHome(model, target);
  const policy = target.reasoning ?? "proven";
  return {
    home,
    state: home && !stripped && !committed.has(attempt),
    reasoning: !home || policy === "drop" ? "none" : policy === "proven" ? "proven" : "all",
    standIn: needsStandIn(target),
    thoughtsSignedAlone: isAnthropic(target.provider),
  };
}

/** A turn begins: the reasoning of the one before goes, and of its messages all that rests on it. */
function forgetThoughts(state: ContextState): void {
  const [first] = state.thoughts;
  if (!first) return;
  const thoughts = new Map(state.thoughts.map((thought) => [thought.at, thought]));
  const messages = state.messages.splice(first.at);
  const marks = state.marks.splice(first.at);
  state.thoughts = [];
  for (const [index, mark] of marks.entries()) {
    const thought = thoughts.get(first.at + index);
    const message = thought
      ? assistantMessage(thought.parts, thought.wires, { ...thought.replay, reasoning: "none" })
      : messages[index];
    if (message) add(state, message, mark);
  }
}

function trackOpen(state: ContextState, entry: LogEntry): void {
  const { open } = state;
  if (!open) return;
  const { event, seq } = entry;
  if (event.type === "tool.entered" || event.type === "tool.settled") {
    if (!open.pending.has(event.call)) return;
    if (event.type === "tool.settled" && !open.settledAt.has(event.call)) open.settledAt.set(event.call, seq);
  }
  open.seq = seq;
  track(open.pending, entry);
  if (unsettled(open.pending).length === 0) close(state);
}

function close(state: ContextState): void {
  const { open } = state;
  if (!open) return;
  state.open = undefined;
  const answers = answersOf(state, open);
  for (const [at, message] of answers.entries())
    add(state, message, { seq: open.seq, settled: at === answers.length - 1 });
}

/** The results of the open message as they would be sent now, and the pictures among them. */
export function answersOf(
  { prunes, target }: ContextState,
  { pending, calls, settledAt }: OpenMessage,
): LanguageModelV4Message[] {
  const shown: Parameters<typeof picturesMessage>[0][number][] = [];
  const content = calls.flatMap(({ id, wireId, wireName }) => {
    const call = pending.get(id);
    if (!call) return [];
    const output = call.output ?? missingOutput(call);
    const at = settledAt.get(id) ?? Number.POSITIVE_INFINITY;
    const mostChars = Math.min(...prunes.filter(({ upTo }) => upTo >= at).map(({ chars }) => chars));
    // An old picture goes with what is cut from old results.
    if (mostChars === Number.POSITIVE_INFINITY) shown.push({ tool: wireName, output });
    return [toolResult(wireName, wireId, output, mostChars)];
  });
  const pictures = target.images === "send" ? picturesMessage(shown) : undefined;
  return [{ role: "tool", content }, ...(pictures ? [pictures] : [])];
}

/** Only text: reasoning, calls and signatures of a broken message prove nothing and would be refused. */
function fragmentMessage(parts: readonly MessagePart[]): LanguageModelV4Message | undefined {
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  if (isBlank(text)) return undefined;
  return { role: "assistant", content: [{ type: "text", text: text.trimEnd().toWellFormed() + interruptedSuffix }] };
}
