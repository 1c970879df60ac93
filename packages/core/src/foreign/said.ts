/**
 * One assistant message of a history that somebody else has kept, as every endpoint takes it.
 *
 * Owns: its parts, its calls and their names on the wire. Does not own: the results (exchange). Invariants:
 * 1. An edit takes the reasoning and the provider's state of the message with it: what they prove is no longer what is
 *    sent. Two things are no edit: leaving out a blank text that has no state of its own (no proof covers it, and a tool
 *    loop must begin with its thinking), and an approval request, which no provider sees.
 * 2. Reasoning is never the last thing said.
 */
import type { ModelMessage } from "@ai-sdk/provider-utils";
import { inputOf, isBlank, wireToolName } from "../context/message.ts";
import type { WireIds } from "../context/wire-id.ts";
import { type Fields, isFields, shown, type Tell } from "./repair-list.ts";

/** What is known from message to message. */
export interface Desk {
  ids: WireIds;
  /** Tool names that go out as they are. */
  declared: ReadonlySet<string>;
  /** Ids of the provider's own calls so far. */
  providerIds: Set<string>;
  dropState: boolean;
  /** Calls of the provider that nothing answers, by place. */
  unanswered: ReadonlySet<string>;
  /** Calls of the provider that were kept and wait for their result: their places by id. */
  waiting: Map<string, string[]>;
  /** Places of kept calls whose result went with a later edit. */
  doomed: Set<string>;
  tell: Tell;
}

export interface Call {
  /** As the history names it. */
  id: string;
  tool: unknown;
  wireId: string;
  name: string;
}

export interface Said {
  at: number;
  /** Undefined: it says nothing, and only its strays count. */
  message: ModelMessage | undefined;
  /** The calls that the client runs. */
  calls: Call[];
  /** Approval requests: of which of these calls; undefined for one that the provider runs. */
  requests: { approval: string; call: Call | undefined }[];
  /** Results of client calls that stood inside the message. */
  strays: Fields[];
}

type Kind = "text" | "file" | "reasoning" | "state" | "call" | "provider" | "request";

interface Piece {
  kind: Kind;
  part: Fields;
  call?: Call;
  /** Of the provider's call, where it stands; of its result, where that call stands. */
  place?: string;
}

interface Draft {
  at: number;
  edited: boolean;
  pieces: Piece[];
  strays: Fields[];
}

/** Undefined: nothing of it can be sent. `edited`: something of it has been changed already. */
export function saidOf(message: Fields, at: number, edited: boolean, desk: Desk): Said | undefined {
  const { content } = message;
  if (typeof content === "string") return plainly(message, content, at, edited, desk);
  if (!Array.isArray(content)) {
    desk.tell(at, "form", `an assistant message without content is left out: its content is ${shown(content)}`);
    return undefined;
  }
  const draft: Draft = { at, edited, pieces: [], strays: [] };
  for (const [index, part] of content.entries()) take(draft, part, `${at}:${index}`, desk);
  if (draft.pieces.findLast(({ kind }) => kind !== "request")?.kind === "reasoning") {
    draft.edited = true;
    desk.tell(at, "reasoning-alone", "reasoning that nothing follows is left out");
  }
  const stripped = draft.edited || desk.dropState ? strip(draft, message, desk) : false;
  dropLostRequests(draft, desk);
  return finish(draft, message, stripped, desk);
}

function plainly(message: Fields, content: string, at: number, edited: boolean, { tell, dropState }: Desk) {
  if (isBlank(content)) {
    tell(at, "blank", "a blank assistant message is left out");
    return undefined;
  }
  const strips = (edited || dropState) && message["providerOptions"] !== undefined;
  if (strips) tellStripped(tell, at, edited);
  const kept = strips ? without(message, "providerOptions") : message;
  return { at, message: kept as unknown as ModelMessage, calls: [], requests: [], strays: [] };
}

function take(draft: Draft, part: unknown, place: string, desk: Desk): void {
  const { at, pieces } = draft;
  if (typeof part === "string") return take(draft, { type: "text", text: part }, place, desk);
  if (!isFields(part)) return refuse(draft, part, desk);
  const { type } = part;
  switch (type) {
    case "text":
    case "reasoning":
      if (typeof part["text"] !== "string") return refuse(draft, part, desk);
      if (type === "reasoning") pieces.push({ kind: "reasoning", part });
      else takeText(draft, part, part["text"], desk);
      return;
    case "file":
      if (part["data"] === undefined || typeof part["mediaType"] !== "string") return refuse(draft, part, desk);
      pieces.push({ kind: "file", part });
      return;
    case "custom":
    case "reasoning-file":
      pieces.push({ kind: "state", part });
      return;
    case "tool-call":
      if (part["providerExecuted"] === true) takeProviderCall(draft, part, place, desk);
      else takeCall(draft, part, desk);
      return;
    case "tool-result":
      takeResult(draft, part, desk);
      return;
    case "tool-approval-request":
      if (typeof part["approvalId"] === "string") pieces.push({ kind: "request", part });
      else desk.tell(at, "approval", "an approval request without an id is left out");
      return;
    default:
      refuse(draft, part, desk);
  }
}

function refuse(draft: Draft, part: unknown, { tell }: Desk): void {
  draft.edited = true;
  tell(draft.at, "form", `a part is left out of an assistant message, which cannot hold it: ${shown(part)}`);
}

function takeText(draft: Draft, part: Fields, text: string, { tell }: Desk): void {
  const hasState = part["providerOptions"] !== undefined;
  // Empty with state: a provider's way to hand over the state alone. Its package knows what to do with it.
  if (!isBlank(text) || (text === "" && hasState)) {
    draft.pieces.push({ kind: "text", part });
    return;
  }
  if (hasState) draft.edited = true;
  tell(draft.at, "blank", "a blank text is left out of an assistant message");
}

function takeCall(draft: Draft, part: Fields, desk: Desk): void {
  const { tell } = desk;
  const id = typeof part["toolCallId"] === "string" ? part["toolCallId"] : "";
  const tool = typeof part["toolName"] === "string" ? part["toolName"] : "";
  const toolCallId = desk.ids.next(id, id.replace(/[^A-Za-z0-9_-]/g, "_") || "call");
  const toolName = wireToolName(tool, desk.declared);
  const { input, problem } = calledWith(part["input"]);
  const call: Call = { id, tool: part["toolName"], wireId: toolCallId, name: toolName };
  const label = `call ${shown(id)} (${shown(tool)})`;
  const { at } = draft;
  if (toolCallId !== part["toolCallId"]) {
    tell(
      at,
      "call-id",
      `${label} is named ${shown(toolCallId)}: ids are unique, and at most 40 letters, digits, _ and -`,
    );
  }
  if (toolName !== part["toolName"]) tell(at, "tool-name", `the tool of ${label} is called ${shown(toolName)}`);
  if (problem !== undefined) tell(at, "call-input", `the input of ${label} ${problem}`);
  const same = toolCallId === part["toolCallId"] && toolName === part["toolName"] && problem === undefined;
  if (!same) draft.edited = true;
  draft.pieces.push({ kind: "call", part: same ? part : { ...part, toolCallId, toolName, input }, call });
}

function calledWith(input: unknown): { input: unknown; problem?: string } {
  if (input === undefined || input === null) return { input: {}, problem: "was missing: it is an empty object" };
  let text: string | undefined;
  try {
    text = typeof input === "string" ? input : JSON.stringify(input);
  } catch {
    // It holds itself, or a bigint.
  }
  if (typeof input === "object" && text?.startsWith("{")) return { input };
  const { input: object, same } = inputOf(text ?? shown(input));
  const spelt = typeof input === "string" && same;
  const problem = spelt
    ? "was text: it is the object that it spells"
    : "was no object: it is one that carries the text";
  return { input: object, problem };
}

function takeProviderCall(draft: Draft, part: Fields, place: string, desk: Desk): void {
  const { toolCallId: id, toolName } = part;
  const label = `call ${shown(id)} (${shown(toolName)}), which the provider ran,`;
  if (typeof id !== "string" || typeof toolName !== "string" || desk.unanswered.has(place)) {
    draft.edited = true;
    desk.tell(draft.at, "provider-call", `${label} is left out: it has no result`);
    return;
  }
  if (desk.providerIds.has(id)) draft.edited = true;
  desk.providerIds.add(id);
  draft.pieces.push({ kind: "provider", part, place });
  desk.waiting.set(id, [...(desk.waiting.get(id) ?? []), place]);
}

function takeResult(draft: Draft, part: Fields, desk: Desk): void {
  const id = part["toolCallId"];
  const [place, ...rest] = typeof id === "string" ? (desk.waiting.get(id) ?? []) : [];
  if (place === undefined) {
    draft.edited = true;
    draft.strays.push(part);
    return;
  }
  desk.waiting.set(String(id), rest);
  draft.pieces.push({ kind: "provider", part, place });
}

/** Takes away what an edit has made untrue. Says whether there was anything. */
function strip(draft: Draft, message: Fields, desk: Desk): boolean {
  const { at, pieces } = draft;
  const kept = pieces.filter(({ kind }) => kind === "text" || kind === "file" || kind === "call" || kind === "request");
  for (const { kind, part, place } of pieces) if (kind === "provider" && place) forget(at, part, place, desk);
  draft.pieces = kept
    .map((piece) => (piece.kind === "file" && desk.dropState ? filedAway(piece) : piece))
    .map((piece) => ({ ...piece, part: without(piece.part, "providerOptions") }))
    .filter(({ kind, part }) => kind !== "text" || !isBlank(String(part["text"])));
  const had =
    kept.length < pieces.length ||
    draft.pieces.some(({ part }, index) => part["type"] !== kept[index]?.part["type"]) ||
    message["providerOptions"] !== undefined ||
    kept.some(({ part }) => part["providerOptions"] !== undefined);
  // Of a message that goes as a whole, that is all there is to say.
  if (had && kept.length > 0) tellStripped(desk.tell, at, draft.edited);
  return had;
}

/** Not every model takes what another one drew, and a message of which nothing is sent is a hole in the conversation. */
function filedAway({ part }: Piece): Piece {
  return { kind: "text", part: { type: "text", text: `[file (${String(part["mediaType"])})]` } };
}

/** A call that went can no longer be answered, and one that stays in an earlier message has lost its answer. */
function forget(at: number, part: Fields, place: string, { waiting, doomed }: Desk): void {
  const id = String(part["toolCallId"]);
  if (part["type"] === "tool-call")
    waiting.set(
      id,
      (waiting.get(id) ?? []).filter((other) => other !== place),
    );
  else if (!place.startsWith(`${at}:`)) doomed.add(place);
}

function tellStripped(tell: Tell, at: number, edited: boolean): void {
  const why = edited ? "they prove what the message no longer is" : "as asked";
  tell(at, "provider-state", `reasoning and provider state of an assistant message are left out: ${why}`);
}

function without(fields: Fields, name: string): Fields {
  if (fields[name] === undefined) return fields;
  const { [name]: _, ...rest } = fields;
  return rest;
}

/** A request is for a call of its own message, a call has one, and an answer is for one of them. */
function dropLostRequests(draft: Draft, { tell }: Desk): void {
  const asked = new Set<Piece>();
  const approvals = new Set<unknown>();
  draft.pieces = draft.pieces.filter((piece) => {
    if (piece.kind !== "request") return true;
    const { toolCallId, approvalId } = piece.part;
    const call = draft.pieces.find((other) => !asked.has(other) && idOf(other) === toolCallId);
    if (call && !approvals.has(approvalId)) {
      asked.add(call);
      approvals.add(approvalId);
      if (call.call) piece.call = call.call;
      return true;
    }
    const why = call ? "its id is another's" : "it is not here";
    tell(draft.at, "approval", `an approval request for call ${shown(toolCallId)} is left out: ${why}`);
    return false;
  });
}

function idOf({ kind, part, call }: Piece): unknown {
  if (kind === "call") return call?.id;
  return kind === "provider" && part["type"] === "tool-call" ? part["toolCallId"] : undefined;
}

function finish(draft: Draft, message: Fields, stripped: boolean, { tell }: Desk): Said | undefined {
  const { at, pieces, strays } = draft;
  const says = pieces.some(({ kind, part }) => kind !== "request" && !(kind === "text" && part["text"] === ""));
  const calls = pieces.flatMap(({ kind, call }) => (kind === "call" && call ? call : []));
  if (!says) tell(at, "blank", "an assistant message that says nothing is left out");
  // The results that stood in it count all the same.
  if (!says) return strays.length > 0 ? { at, message: undefined, calls: [], requests: [], strays } : undefined;
  const content = pieces.map(({ kind, part, call }) =>
    kind === "request" && call && call.wireId !== call.id ? { ...part, toolCallId: call.wireId } : part,
  );
  const before = message["content"] as unknown[];
  const same = content.length === before.length && content.every((part, index) => part === before[index]);
  const kept = stripped ? without(message, "providerOptions") : message;
  const requests = pieces.flatMap(({ kind, part, call }) =>
    kind === "request" ? { approval: String(part["approvalId"]), call } : [],
  );
  const healed = (same ? kept : { ...kept, content }) as unknown as ModelMessage;
  return { at, message: healed, calls, requests, strays };
}
