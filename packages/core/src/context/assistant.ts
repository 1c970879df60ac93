/**
 * A committed message as it is sent back.
 *
 * Owns: which of its parts go back, and whether its opaque state (signatures, item ids, encrypted reasoning) goes with
 * them. Pure. Invariants:
 * 1. Opaque state goes back byte for byte, in place, to the model family that gave it, or not at all.
 * 2. State is one unit per message. Whatever is changed or missing in the message takes all of it along (R45): a signature
 *    beside edited words, or an item id without the reasoning before it, is refused with every later request.
 * 3. What is sent is never blank, malformed or without substance.
 */
import type {
  LanguageModelV4Message,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { CallPart, MessagePart, ProviderMeta } from "../log/event.ts";
import { inputOf, isBlank, isWellFormed } from "./message.ts";
import type { Target } from "./target.ts";

type AssistantMessage = Extract<LanguageModelV4Message, { role: "assistant" }>;
type AssistantContent = AssistantMessage["content"];
type PartOf<T extends MessagePart["type"]> = Extract<MessagePart, { type: T }>;
type KindOf = `${string}.${string}`;

/** What a call is named on the wire. */
export interface WireName {
  wireId: string;
  wireName: string;
}

export interface Replay {
  /** The target is of the family that gave the message. */
  home: boolean;
  /** Its opaque state may go back. */
  state: boolean;
  /** Reasoning: what carries its proof, all of it, none. */
  reasoning: "proven" | "all" | "none";
  /** A call that has lost its thought signature gets Google's documented stand-in. */
  standIn: boolean;
  /** Signatures cover their own thought and nothing else of the message (Anthropic). */
  thoughtsSignedAlone: boolean;
}

/** Undefined: nothing of the message can be sent. `wires`: a name for each tool call of it, in order. */
export function assistantMessage(
  parts: readonly MessagePart[],
  wires: readonly WireName[],
  replay: Replay,
): AssistantMessage | undefined {
  let draft = drafted(parts, wires, replay, replay.state);
  // What the provider ran came after its reasoning, and is refused without it.
  if (replay.state && draft.edited) draft = drafted(parts, wires, { ...replay, state: false }, !parts.some(isProven));
  const { content } = draft;
  const substance = content.some((part) => part.type === "text" || part.type === "tool-call" || part.type === "file");
  if (!substance) return undefined;
  if (replay.standIn) signFirstCall(content);
  return { role: "assistant", content };
}

function isProven(part: MessagePart): boolean {
  return part.type === "reasoning" && part.meta !== undefined;
}

interface Draft {
  content: AssistantContent;
  /** Something of the message is not sent as it came, on which its state may rest. */
  edited: boolean;
}

/** `withExecuted`: calls that the provider ran go back, where they are whole. */
function drafted(
  parts: readonly MessagePart[],
  wires: readonly WireName[],
  replay: Replay,
  withExecuted: boolean,
): Draft {
  const draft: Draft = { content: [], edited: false };
  const results = new Map(parts.flatMap((part) => (part.type === "tool-result" ? [[part.call, part] as const] : [])));
  const executed = new Map<string, string>();
  let calls = 0;
  for (const part of parts) {
    switch (part.type) {
      case "text":
        draftText(draft, part, replay);
        break;
      case "reasoning":
        draftReasoning(draft, part, replay);
        break;
      case "tool-call": {
        const wire = wires[calls++];
        if (!wire) break;
        if (!part.providerExecuted) draftCall(draft, part, wire, replay);
        else if (executed.has(part.id) || !isWhole(part, wire, results.get(part.id))) draft.edited = true;
        else if (withExecuted) {
          executed.set(part.id, wire.wireId);
          draftCall(draft, part, wire, replay);
        }
        break;
      }
      case "tool-result": {
        const toolCallId = executed.get(part.call);
        if (toolCallId !== undefined) draft.content.push(executedResult(part, toolCallId, replay));
        executed.delete(part.call);
        break;
      }
      case "file":
        draftFile(draft, part, replay);
        break;
      case "custom":
        if (replay.state && part.meta) draft.content.push({ type: "custom", kind: part.kind as KindOf, ...meta(part) });
        break;
      case "source":
        // A citation beside the text, for people: no block of the answer.
        break;
    }
  }
  if (executed.size > 0) withdraw(draft, new Set(executed.values()));
  if (replay.state && endsInReasoning(draft.content)) draft.edited = true;
  return draft;
}

function meta(part: { meta?: ProviderMeta }): { providerOptions?: SharedV4ProviderOptions } {
  return part.meta ? { providerOptions: part.meta as SharedV4ProviderOptions } : {};
}

function draftText(draft: Draft, part: PartOf<"text">, { state }: Replay): void {
  const text = part.text.toWellFormed();
  // A blank block has to go: it is refused. Models put them between reasoning and calls, and no signature covers them;
  // one that is an item of its own is another matter.
  if (isBlank(text)) draft.edited ||= part.meta !== undefined;
  else draft.content.push({ type: "text", text, ...(state ? meta(part) : {}) });
  draft.edited ||= text !== part.text;
}

function draftReasoning(draft: Draft, part: PartOf<"reasoning">, { state, reasoning }: Replay): void {
  if (part.meta) {
    // Its text is proven by the state: together as they came, or not at all.
    if (reasoning === "none" || !part.text.isWellFormed()) draft.edited = true;
    else if (state) draft.content.push({ type: "reasoning", text: part.text, ...meta(part) });
    return;
  }
  if (reasoning !== "all" || isBlank(part.text)) return;
  const text = part.text.toWellFormed();
  draft.edited ||= text !== part.text;
  draft.content.push({ type: "reasoning", text });
}

function draftCall(draft: Draft, part: CallPart, { wireId, wireName }: WireName, replay: Replay): void {
  const { state, thoughtsSignedAlone } = replay;
  const { input, same } = inputOf(part.input);
  // Where a signature covers its thought alone, dropping the thought for the call's sake would be refused in a tool loop.
  draft.edited ||= (!same || wireName !== part.tool) && !thoughtsSignedAlone;
  draft.content.push({
    type: "tool-call",
    toolCallId: wireId,
    toolName: wireName,
    input,
    ...(part.providerExecuted ? { providerExecuted: true } : {}),
    ...(state ? meta(part) : {}),
  });
}

/**
 * A call that the provider ran means nothing to another provider, and nothing to anyone without its result or under
 * another id.
 */
function isWhole(part: CallPart, { wireId }: WireName, result: PartOf<"tool-result"> | undefined): boolean {
  return result !== undefined && inputOf(part.input).same && wireId === part.providerId && isWellFormed(result.result);
}

/**
 * Reasoning that leads to nothing was cut off, or has lost what it led to: it is refused at the end of a message. Where
 * it is an item of its own, a call that the provider ran does not count: its package cannot always send one back.
 */
function endsInReasoning(content: AssistantContent): boolean {
  const last = content.findLast(({ type }) => type === "reasoning");
  if (!last) return false;
  const isItem = Object.values(last.providerOptions ?? {}).some((options) => options["itemId"] !== undefined);
  return !content
    .slice(content.indexOf(last) + 1)
    .some((part) => !isItem || part.type === "text" || (part.type === "tool-call" && !part.providerExecuted));
}

/** Takes calls back whose result does not come behind them. */
function withdraw(draft: Draft, wireIds: ReadonlySet<string>): void {
  draft.content = draft.content.filter((part) => part.type !== "tool-call" || !wireIds.has(part.toolCallId));
  draft.edited = true;
}

function executedResult(part: PartOf<"tool-result">, toolCallId: string, { state }: Replay) {
  const output = { type: part.isError ? "error-json" : "json", value: part.result } as const;
  const result = { type: "tool-result", toolCallId, toolName: part.tool, output } as const;
  return { ...result, ...(state ? meta(part) : {}) } as LanguageModelV4ToolResultPart;
}

function draftFile(draft: Draft, part: PartOf<"file">, { home, state }: Replay): void {
  const { mediaType, data } = part;
  if (home && data !== undefined) {
    draft.content.push({ type: "file", mediaType, data: { type: "data", data }, ...(state ? meta(part) : {}) });
    return;
  }
  // Not every model takes what another one drew, and a message of which nothing is sent is a hole in the conversation.
  draft.edited = true;
  draft.content.push({ type: "text", text: `[file (${mediaType})]`.toWellFormed() });
}

/**
 * Gemini 3 refuses a step whose first function call has no thought signature. For calls that another model made, or
 * whose signature is lost, Google documents this value in its place (its page on thought signatures, FAQ). @ai-sdk/google
 * puts it in by itself, in newer versions, for model names that begin with `gemini-3`. Google asks for it in the open
 * turn only; it stands in earlier ones, too, so that a request keeps its bytes.
 */
export const thoughtStandIn = "skip_thought_signature_validator";

export function needsStandIn({ provider, model }: Target): boolean {
  return provider.startsWith("google") && /(?:^|\/)gemini-(?:[3-9]|\d\d)[.-]/.test(model);
}

/** Of parallel calls, only the first carries the signature. */
function signFirstCall(content: AssistantContent): void {
  const calls = content.filter(
    (part): part is LanguageModelV4ToolCallPart => part.type === "tool-call" && !part.providerExecuted,
  );
  const [first] = calls;
  if (!first || calls.some(isSigned)) return;
  const options = first.providerOptions;
  first.providerOptions = { ...options, google: { ...options?.["google"], thoughtSignature: thoughtStandIn } };
}

function isSigned({ providerOptions }: LanguageModelV4ToolCallPart): boolean {
  return Object.values(providerOptions ?? {}).some((options) => options["thoughtSignature"] !== undefined);
}
