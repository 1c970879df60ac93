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
import type { CallPart, Json, MessagePart, ProviderMeta } from "../log/event.ts";
import type { Exposure, Usage } from "../log/value.ts";
import { noExposure } from "./exposure.ts";

/** Hears of parts as they come. Calls are synchronous and must not throw. */
export interface PartSink {
  started(part: MessagePart): void;
  delta(part: MessagePart, text: string): void;
  ended(part: MessagePart): void;
}

export interface Finish {
  reason: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "interrupted" | "other";
  raw?: string;
}

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

  readonly #attempt: string;
  readonly #sink: PartSink;
  /** Open parts by the id the stream gave them; text and reasoning may share ids with calls. */
  readonly #texts = new Map<string, TextPart>();
  readonly #reasonings = new Map<string, TextPart>();
  readonly #calls = new Map<string, CallPart>();

  constructor(attempt: string, sink: PartSink) {
    this.#attempt = attempt;
    this.#sink = sink;
  }

  /** Takes the next part of the stream. Returns whether it was progress: something a model, not a proxy, produced. */
  push(part: LanguageModelV4StreamPart): boolean {
    switch (part.type) {
      case "text-delta":
        return this.#append(this.#texts, "text", part);
      case "reasoning-delta":
        return this.#append(this.#reasonings, "reasoning", part);
      case "tool-input-delta":
        return this.#inputDelta(part);
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
        this.#openCall(part.id, part.toolName, part.providerExecuted === true, part.providerMetadata);
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
        this.errors.push(part.error);
        return false;
      case "response-metadata":
        if (part.id !== undefined) this.responseId = part.id;
        return false;
      case "file":
      case "source":
      case "custom":
        this.#whole(part);
        return true;
      default:
        // Providers add part types almost daily (`ping`, `raw`); one we do not know is neither output nor a fault.
        return false;
    }
  }

  /** Complete calls that the client has to run, in order. */
  calls(): CallPart[] {
    return this.parts.filter((part): part is CallPart => part.type === "tool-call" && !part.providerExecuted);
  }

  /**
   * Marks what the end of the stream left open: a call without its closing is cut and must not run. On `length` a
   * provider may close the last call for us with half its input; JSON tells.
   */
  seal(): void {
    for (const call of this.#calls.values()) call.cut = true;
    if (this.finish?.reason !== "length") return;
    const last = this.calls().at(-1);
    if (last && last.input.trim() !== "" && !isJson(last.input)) last.cut = true;
  }

  /** Whether there is anything to give to a person or to a tool. Reasoning alone is not. */
  delivers(): boolean {
    return this.parts.some((part) => part.type !== "reasoning" && (part.type !== "text" || part.text.trim() !== ""));
  }

  #id(): string {
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
    target.text += part.delta;
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
    if (providerExecuted) part.providerExecuted = true;
    this.#meta(part, meta);
    this.parts.push(part);
    this.#calls.set(providerId, part);
    this.exposure.toolInput = true;
    // Whether the provider's tool looks or acts is not ours to know: assume the worse.
    if (providerExecuted) this.exposure.providerWrite = true;
    this.#sink.started(part);
    return part;
  }

  #inputDelta(part: StreamPart<"tool-input-delta">): boolean {
    const call = this.#calls.get(part.id);
    if (!call || part.delta === "") return false;
    call.input += part.delta;
    this.#sink.delta(call, part.delta);
    return true;
  }

  #call(part: StreamPart<"tool-call">): void {
    const call =
      this.#calls.get(part.toolCallId) ??
      this.#openCall(part.toolCallId, part.toolName, part.providerExecuted === true);
    call.input = typeof part.input === "string" ? part.input : JSON.stringify(part.input ?? {});
    call.tool = part.toolName;
    this.#meta(call, part.providerMetadata);
    this.#calls.delete(part.toolCallId);
    this.exposure.calls += 1;
    this.exposure.toolInput = this.#calls.size > 0;
    this.#sink.ended(call);
  }

  #providerResult(part: StreamPart<"tool-result">): void {
    if (part.preliminary) return;
    const call = this.parts.find((one) => one.type === "tool-call" && one.providerId === part.toolCallId);
    const result: MessagePart = {
      type: "tool-result",
      id: this.#id(),
      call: call?.id ?? part.toolCallId,
      tool: part.toolName,
      result: part.result as Json,
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
    this.finish ??= { reason: unified, ...(raw === undefined ? {} : { raw }) };
    this.usage = usageOf(part.usage);
  }

  #meta(part: MessagePart, meta: SharedV4ProviderMetadata | undefined): void {
    if (!meta) return;
    const merged: ProviderMeta = { ...part.meta };
    for (const [provider, values] of Object.entries(meta as ProviderMeta))
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
      return { type: "source", id, source: source as Json };
    }
    case "custom":
      return { type: "custom", id, kind: part.kind };
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
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
  const known = Object.entries(figures).filter((entry): entry is [keyof typeof figures, number] =>
    Number.isFinite(entry[1]),
  );
  if (known.length === 0 || known.every(([, value]) => value === 0)) return { measure: "unknown" };
  return { measure: "reported", ...Object.fromEntries(known) };
}
