/**
 * Builds one assistant message from the parts of one stream.
 *
 * Owns: what came, in order, byte for byte; the exposure; whether the end is good. Does not own: reading, time,
 * recording. Deterministic: the same parts give the same message. Invariants:
 * 1. Part ids are fresh per attempt (`<attempt>-<n>`), so nothing of two attempts can be joined (L2).
 * 2. A call is complete only when the provider says so; a prefix of arguments never becomes a call that runs.
 * 3. An error part voids the attempt, whatever follows it.
 */
import type { LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4ProviderMetadata } from "@ai-sdk/provider";
import { convertUint8ArrayToBase64 } from "@ai-sdk/provider-utils";
import { unreachable } from "../error.ts";
import type { CallPart, Json, MessagePart, ProviderMeta } from "../log/event.ts";
import type { Exposure, Usage } from "../log/value.ts";
import { noExposure } from "./exposure.ts";
import { Growth } from "./growth.ts";
import { type Finish, type Terminal, terminalOf } from "./terminal.ts";

/** Hears of parts as they come. Calls are synchronous and must not throw. */
export interface PartSink {
  started(part: MessagePart): void;
  delta(part: MessagePart, text: string): void;
  ended(part: MessagePart): void;
}

/** For a message that nobody hears as it grows. */
export const silentSink: PartSink = { started: () => {}, delta: () => {}, ended: () => {} };

type TextPart = Extract<MessagePart, { type: "text" | "reasoning" }>;
type StreamPart<T extends LanguageModelV4StreamPart["type"]> = Extract<LanguageModelV4StreamPart, { type: T }>;

export class Assembler {
  readonly parts: MessagePart[] = [];
  readonly exposure: Exposure = noExposure();
  /** Error parts in the order they came. The first one is the attempt's fault. */
  readonly errors: unknown[] = [];
  finish: Finish | undefined;
  usage: Usage = { measure: "unknown" };
  responseId: string | undefined;
  /** The protocol's terminal frame, where raw parts show it. */
  terminal: Terminal | undefined;

  readonly #attempt: string;
  readonly #sink: PartSink;
  /** Open parts by the id the stream gave them; text and reasoning may share ids with calls. */
  readonly #texts = new Map<string, TextPart>();
  readonly #reasonings = new Map<string, TextPart>();
  readonly #calls = new Map<string, CallPart>();
  /** The argument text that was streamed, of calls that ended: a package may have put `{}` where nothing came. */
  readonly #streamed = new Map<CallPart, string>();
  /** Calls whose input is streamed; others come whole. */
  readonly #started = new Set<CallPart>();
  readonly #growth = new Growth();

  constructor(attempt: string, sink: PartSink) {
    this.#attempt = attempt;
    this.#sink = sink;
  }

  /** About how many characters its record would have. */
  chars = 0;

  /** Takes the next part of the stream. Returns whether it was progress: something a model, not a proxy, produced. */
  push(part: LanguageModelV4StreamPart): boolean {
    switch (part.type) {
      case "text-delta":
        return this.#append(this.#texts, "text", part);
      case "reasoning-delta":
        return this.#append(this.#reasonings, "reasoning", part);
      case "tool-input-delta":
        return this.#inputDelta(part);
      case "raw":
        // A whole answer stays one: what comes behind it cannot be another.
        if (this.errors.length === 0) this.terminal ??= terminalOf(part.rawValue);
        return false;
      default:
        this.#growth.join();
        return this.#pushOther(part);
    }
  }

  /** What is no delta: it may read the parts, so they are whole when it comes. */
  #pushOther(part: LanguageModelV4StreamPart): boolean {
    switch (part.type) {
      case "text-start":
        this.#openText(this.#texts, "text", part.id, part.providerMetadata);
        return false;
      case "reasoning-start":
        this.#openText(this.#reasonings, "reasoning", part.id, part.providerMetadata);
        return false;
      case "text-end":
        this.#closeText(this.#texts, part);
        return false;
      case "reasoning-end":
        this.#closeText(this.#reasonings, part);
        return false;
      case "tool-input-start":
        this.#started.add(
          this.#openCall(part.id, String(part.toolName ?? ""), part.providerExecuted === true, part.providerMetadata),
        );
        return true;
      case "tool-call":
        this.#call(part);
        return true;
      case "tool-result":
        this.#providerResult(part);
        return true;
      case "finish":
        this.#finish(part);
        return true;
      case "error":
        // Behind the terminal frame the answer is whole: what is broken there is no part of it. A frame that ends the
        // answer as failed is its own error.
        if (!this.terminal || this.terminal.finish?.reason === "error") this.errors.push(part.error);
        return false;
      case "response-metadata":
        if (typeof part.id === "string") this.responseId = part.id;
        return false;
      case "custom":
        // Packages announce things of their own this way (a message's start, its usage): no output of a model.
        if (part.kind.endsWith(".message_start")) return false;
        this.#whole(part);
        return true;
      case "file":
      case "source":
        this.#whole(part);
        return true;
      default:
        // Providers add part types almost daily (`ping`); one we do not know is neither output nor a fault.
        return false;
    }
  }

  /** Complete calls that the client has to run, in order. */
  calls(): CallPart[] {
    return this.parts.filter((part): part is CallPart => part.type === "tool-call" && !part.providerExecuted);
  }

  /**
   * Ends the message by the terminal frame, where the stream broke behind it: the calls that the protocol closed are whole.
   */
  closeBy({ finish }: Terminal): void {
    this.#growth.join();
    this.finish ??= finish ?? { reason: "stop" };
    for (const [id, call] of this.#calls) {
      if (isObject(call.input) || call.input.trim() === "") this.#complete(id, call, call.input);
    }
    if (this.finish.reason === "stop" && this.calls().length > 0)
      this.finish = { ...this.finish, reason: "tool-calls" };
  }

  /**
   * Marks what the end of the stream left open: a call without its closing is cut and must not run. On `length` packages
   * and protocols close the call that the limit cut, with half its input or with none; its streamed text tells.
   */
  seal(): void {
    this.#growth.join();
    for (const call of this.#calls.values()) call.cut = true;
    if (this.finish?.reason !== "length") return;
    const last = this.parts.at(-1);
    if (last?.type !== "tool-call" || last.providerExecuted) return;
    if (!isObject(this.#streamed.get(last) ?? last.input)) last.cut = true;
  }

  /** Whether there is anything to give to a person or to a tool: text that is not blank, a call, its result, a file. */
  delivers(): boolean {
    this.#growth.join();
    return this.parts.some((part) => {
      switch (part.type) {
        case "text":
          return part.text.trim() !== "";
        case "tool-call":
        case "tool-result":
        case "file":
          return true;
        case "reasoning":
        case "source":
        case "custom":
          return false;
        default:
          return unreachable(part);
      }
    });
  }

  #id(): string {
    // What stands around a part, and every one has an id.
    this.chars += 32;
    return `${this.#attempt}-${this.parts.length + 1}`;
  }

  #openText(
    open: Map<string, TextPart>,
    type: TextPart["type"],
    id: string,
    meta?: SharedV4ProviderMetadata,
  ): TextPart {
    const part: TextPart = { type, id: this.#id(), text: "" };
    this.#meta(part, meta);
    this.parts.push(part);
    open.set(id, part);
    this.#sink.started(part);
    return part;
  }

  #append(
    open: Map<string, TextPart>,
    type: TextPart["type"],
    part: StreamPart<"text-delta" | "reasoning-delta">,
  ): boolean {
    const target = open.get(part.id) ?? this.#openText(open, type, part.id);
    if (part.providerMetadata) this.#meta(target, part.providerMetadata);
    if (part.delta === "") return false;
    this.chars += part.delta.length;
    this.#growth.add(target, part.delta);
    this.exposure[type] = true;
    this.#sink.delta(target, part.delta);
    return true;
  }

  #closeText(open: Map<string, TextPart>, part: StreamPart<"text-end" | "reasoning-end">): void {
    const target = open.get(part.id);
    if (!target) return;
    this.#meta(target, part.providerMetadata);
    open.delete(part.id);
    this.#sink.ended(target);
  }

  #openCall(providerId: string, tool: string, providerExecuted: boolean, meta?: SharedV4ProviderMetadata): CallPart {
    const part: CallPart = { type: "tool-call", id: this.#id(), providerId, tool, input: "" };
    // Whether the provider's tool looks or acts is not ours to know: assume the worse.
    if (providerExecuted) this.#ranElsewhere(part);
    this.#meta(part, meta);
    this.parts.push(part);
    // A second start under the same id takes every later delta and the end: the first can never be whole.
    const lost = this.#calls.get(providerId);
    if (lost) lost.cut = true;
    this.#calls.set(providerId, part);
    this.exposure.toolInput = true;
    this.#sink.started(part);
    return part;
  }

  #inputDelta(part: StreamPart<"tool-input-delta">): boolean {
    const call = this.#calls.get(part.id);
    if (!call || part.delta === "") return false;
    this.chars += part.delta.length;
    this.#growth.add(call, part.delta);
    this.#sink.delta(call, part.delta);
    return true;
  }

  #call(part: StreamPart<"tool-call">): void {
    const call =
      this.#calls.get(part.toolCallId) ??
      this.#openCall(part.toolCallId, String(part.toolName ?? ""), part.providerExecuted === true);
    if (this.#started.has(call)) this.#streamed.set(call, call.input);
    call.tool = String(part.toolName ?? "");
    if (part.providerExecuted) this.#ranElsewhere(call);
    this.#meta(call, part.providerMetadata);
    this.#complete(
      part.toolCallId,
      call,
      typeof part.input === "string" ? part.input : JSON.stringify(part.input ?? {}),
    );
  }

  /** Some packages say so only when the call is whole, or by its result. */
  #ranElsewhere(call: CallPart): void {
    call.providerExecuted = true;
    this.exposure.providerWrite = true;
  }

  #complete(providerId: string, call: CallPart, input: string): void {
    call.input = input;
    this.#calls.delete(providerId);
    this.exposure.calls += 1;
    this.#sink.ended(call);
  }

  #providerResult(part: StreamPart<"tool-result">): void {
    if (part.preliminary) return;
    const call = this.parts.find(
      (one): one is CallPart => one.type === "tool-call" && one.providerId === part.toolCallId,
    );
    if (call) this.#ranElsewhere(call);
    const result: MessagePart = {
      type: "tool-result",
      id: this.#id(),
      call: call?.id ?? part.toolCallId,
      tool: part.toolName,
      result: plainJson(part.result) ?? null,
    };
    if (part.isError) result.isError = true;
    this.#meta(result, part.providerMetadata);
    this.parts.push(result);
    this.#sink.started(result);
    this.#sink.ended(result);
  }

  #whole(part: StreamPart<"file" | "source" | "custom">): void {
    const whole = wholePart(part, this.#id());
    this.#meta(whole, part.providerMetadata);
    this.parts.push(whole);
    if (part.type !== "source") this.exposure.text = true;
    this.#sink.started(whole);
    this.#sink.ended(whole);
  }

  #finish(part: StreamPart<"finish">): void {
    const { unified, raw } = part.finishReason;
    this.finish ??= { reason: unified, ...(typeof raw === "string" ? { raw } : {}) };
    this.usage = usageOf(part.usage);
  }

  #meta(part: MessagePart, meta: SharedV4ProviderMetadata | undefined): void {
    const plain = plainJson(meta);
    if (typeof plain !== "object" || plain === null) return;
    const merged: ProviderMeta = { ...part.meta };
    for (const [provider, values] of Object.entries(plain as ProviderMeta))
      merged[provider] = { ...merged[provider], ...values };
    part.meta = merged;
    this.exposure.clientState = true;
  }
}

function wholePart(part: StreamPart<"file" | "source" | "custom">, id: string): MessagePart {
  switch (part.type) {
    case "file": {
      const { data } = part;
      const place =
        data.type === "url"
          ? { url: String(data.url) }
          : { data: typeof data.data === "string" ? data.data : convertUint8ArrayToBase64(data.data) };
      return { type: "file", id, mediaType: part.mediaType, ...place };
    }
    case "source": {
      const { providerMetadata: _, type: __, ...source } = part;
      return { type: "source", id, source: plainJson(source) ?? null };
    }
    case "custom":
      return { type: "custom", id, kind: part.kind };
  }
}

/** What JSON carries of it: an ornament that it cannot carry must not cost the answer. */
function plainJson(value: unknown): Json | undefined {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : (JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

/** Whether the text is one whole JSON object. A number or a word may be the beginning of a longer one. */
function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

/** Absent is not zero: a provider that reports nothing, or zeros for a prompt that cannot be empty, reported nothing. */
function usageOf(usage: LanguageModelV4Usage): Usage {
  const { inputTokens, outputTokens } = usage;
  const figures = {
    input: inputTokens?.total,
    output: outputTokens?.total,
    reasoning: outputTokens?.reasoning,
    cacheRead: inputTokens?.cacheRead,
    cacheWrite: inputTokens?.cacheWrite,
  };
  const known = Object.entries(figures).filter(
    (entry): entry is [keyof typeof figures, number] => Number.isFinite(entry[1]) && Number(entry[1]) >= 0,
  );
  if (known.length === 0 || known.every(([, value]) => value === 0)) return { measure: "unknown" };
  return { measure: "reported", ...Object.fromEntries(known) };
}
