import { anthropicError } from "../fault.ts";
import { sealedOf } from "../issued.ts";
import type { FrameBeat, Part } from "../score.ts";
import type { Finish, Usage } from "../script.ts";
import { commentFrame, dataFrame, decodedArguments, type Encoder, eventFrame, GARBAGE, type Reply } from "./encoder.ts";

type Block = Record<string, unknown>;

/** One content block is open at a time; a signature is sent only with a block whose whole text went out. */
export class AnthropicEncoder implements Encoder {
  readonly #reply: Reply;
  readonly #id: string;
  readonly #blocks: Block[] = [];
  #stopReason: string | null = null;
  #usage: Usage | null = null;

  constructor(reply: Reply) {
    this.#reply = reply;
    this.#id = reply.newId("msg");
  }

  frames(beat: FrameBeat): readonly string[] {
    switch (beat.beat) {
      case "start":
        return [
          frame("message_start", {
            message: this.#message([], { ...inputUsage(beat.usage), output_tokens: beat.usage === null ? 0 : 1 }),
          }),
        ];
      case "open":
        return this.#open(beat.part);
      case "delta":
        return [this.#deltaFrame(deltaOf(beat.part, beat.text))];
      case "close":
        return this.#close(beat.part, beat.sent, beat.whole);
      case "finish":
        return this.#finish(beat.finish, beat.usage);
      case "terminal":
        return [frame("message_stop", {})];
      case "error":
        return [eventFrame("error", anthropicError(beat.fault.type, beat.fault.message, this.#reply.newId("req")))];
      case "ping":
        return [frame("ping", {})];
      case "comment":
        return [commentFrame(beat.text)];
      case "garbage":
        return [`event: content_block_delta\n${dataFrame(GARBAGE)}`];
    }
  }

  body(): unknown {
    return this.#message(this.#blocks, finalUsage(this.#usage));
  }

  #message(content: readonly Block[], usage: unknown) {
    return {
      id: this.#id,
      type: "message",
      role: "assistant",
      model: this.#reply.model,
      content,
      stop_reason: this.#stopReason,
      stop_sequence: null,
      usage,
    };
  }

  #open(part: Part): readonly string[] {
    const block = this.#blockOf(part);
    this.#blocks.push(block);
    const frames = [frame("content_block_start", { index: this.#blocks.length - 1, content_block: block })];
    // The endpoint opens the argument stream of a call with an empty delta.
    if (part.kind === "call" && part.text !== "") frames.push(this.#deltaFrame(deltaOf(part, "")));
    return frames;
  }

  #blockOf(part: Part): Block {
    if (part.kind === "text") return { type: "text", text: "" };
    if (part.kind === "call") {
      const id = part.id === undefined ? this.#reply.newId("toolu") : part.id;
      return { type: "tool_use", ...(id === null ? {} : { id }), name: part.tool, input: {} };
    }
    if (!part.redacted) return { type: "thinking", thinking: "", signature: "" };
    const data = part.signature ?? sealedOf("", part.text);
    return { type: "redacted_thinking", data: this.#reply.issued.seal("", part.text, data) };
  }

  #close(part: Part, sent: string, whole: boolean): readonly string[] {
    const index = this.#blocks.length - 1;
    const block = this.#blocks[index];
    const frames: string[] = [];
    if (block !== undefined && part.kind === "text") block["text"] = sent;
    if (block !== undefined && part.kind === "call") block["input"] = decodedArguments(sent);
    if (block !== undefined && part.kind === "reason" && !part.redacted) {
      block["thinking"] = sent;
      if (whole) {
        const signature = this.#reply.issued.sign(part.text, part.signature);
        block["signature"] = signature;
        frames.push(this.#deltaFrame({ type: "signature_delta", signature }));
      }
    }
    return [...frames, frame("content_block_stop", { index })];
  }

  #finish(finish: Finish, usage: Usage | null): readonly string[] {
    this.#stopReason = stopReason(finish);
    this.#usage = usage;
    const delta = { stop_reason: this.#stopReason, stop_sequence: null };
    return [frame("message_delta", { delta, usage: finalUsage(usage) })];
  }

  #deltaFrame(delta: unknown): string {
    return frame("content_block_delta", { index: this.#blocks.length - 1, delta });
  }
}

function frame(type: string, data: Readonly<Record<string, unknown>>): string {
  return eventFrame(type, { type, ...data });
}

function deltaOf(part: Part, text: string): unknown {
  if (part.kind === "text") return { type: "text_delta", text };
  if (part.kind === "reason") return { type: "thinking_delta", thinking: text };
  return { type: "input_json_delta", partial_json: text };
}

function stopReason(finish: Finish): string {
  switch (finish) {
    case "stop":
      return "end_turn";
    case "tool-calls":
      return "tool_use";
    case "length":
      return "max_tokens";
    // This protocol has one word for both.
    case "content-filter":
    case "refusal":
      return "refusal";
    default:
      return finish.raw;
  }
}

/** The protocol demands usage; where the script leaves it out, zeros stand for "not reported". */
function inputUsage(usage: Usage | null) {
  const cacheRead = usage?.cacheRead ?? 0;
  const cacheWrite = usage?.cacheWrite ?? 0;
  return {
    input_tokens: (usage?.input ?? 0) - cacheRead - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
  };
}

function finalUsage(usage: Usage | null) {
  const { reasoning } = usage ?? {};
  const thinking = reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } };
  return { ...inputUsage(usage), output_tokens: usage?.output ?? 0, ...thinking };
}
