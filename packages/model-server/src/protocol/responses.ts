import type { FrameBeat, Part } from "../score.ts";
import type { Fault, Finish, Usage } from "../script.ts";
import {
  CREATED_S,
  commentFrame,
  dataFrame,
  type Encoder,
  eventFrame,
  GARBAGE,
  REFUSAL,
  type Reply,
} from "./encoder.ts";

type OutputItem = Record<string, unknown>;

/** Every event carries a sequence number; `response.completed` (or incomplete, failed) is the terminal frame itself. */
export class ResponsesEncoder implements Encoder {
  readonly #reply: Reply;
  readonly #id: string;
  readonly #output: OutputItem[] = [];
  #sequence = 0;
  #status = "in_progress";
  #incomplete: string | null = null;
  #usage: Usage | null = null;
  #error: unknown = null;

  constructor(reply: Reply) {
    this.#reply = reply;
    this.#id = reply.newId("resp");
  }

  frames(beat: FrameBeat): readonly string[] {
    switch (beat.beat) {
      case "start":
        return ["response.created", "response.in_progress"].map((type) => this.#event(type, { response: this.body() }));
      case "open":
        return this.#open(beat.part);
      case "delta":
        return this.#delta(beat.part, beat.text);
      case "close":
        return this.#close(beat.part, beat.sent, beat.whole);
      case "finish":
        return this.#finish(beat.finish, beat.usage);
      case "terminal":
        return [];
      case "error":
        return [beat.failed ? this.#failed(beat.fault) : this.#errorEvent(beat.fault)];
      case "ping":
        return [commentFrame("ping")];
      case "comment":
        return [commentFrame(beat.text)];
      case "garbage":
        return [`event: response.output_text.delta\n${dataFrame(GARBAGE)}`];
    }
  }

  body(): unknown {
    const { request, model } = this.#reply;
    return {
      id: this.#id,
      object: "response",
      created_at: CREATED_S,
      status: this.#status,
      error: this.#error,
      incomplete_details: this.#incomplete === null ? null : { reason: this.#incomplete },
      instructions: request["instructions"] ?? null,
      max_output_tokens: request["max_output_tokens"] ?? null,
      model,
      output: this.#status === "in_progress" ? [] : this.#output,
      parallel_tool_calls: request["parallel_tool_calls"] ?? true,
      previous_response_id: request["previous_response_id"] ?? null,
      reasoning: request["reasoning"] ?? { effort: null, summary: null },
      store: request["store"] ?? true,
      temperature: request["temperature"] ?? 1,
      text: request["text"] ?? { format: { type: "text" } },
      tool_choice: request["tool_choice"] ?? "auto",
      tools: request["tools"] ?? [],
      top_p: request["top_p"] ?? 1,
      truncation: request["truncation"] ?? "disabled",
      usage: this.#usage === null ? null : responsesUsage(this.#usage),
      user: null,
      metadata: request["metadata"] ?? {},
    };
  }

  #open(part: Part): readonly string[] {
    const item = this.#itemOf(part);
    this.#output.push(item);
    const frames = [this.#onOutput("response.output_item.added", { item })];
    if (part.kind === "text") {
      frames.push(this.#onItem("response.content_part.added", { content_index: 0, part: textPart("") }));
    } else if (part.kind === "reason" && !part.redacted) {
      frames.push(this.#onItem("response.reasoning_summary_part.added", { summary_index: 0, part: summaryPart("") }));
    }
    return frames;
  }

  #itemOf(part: Part): OutputItem {
    const { newId } = this.#reply;
    if (part.kind === "text") {
      return { id: newId("msg"), type: "message", status: "in_progress", role: "assistant", content: [] };
    }
    if (part.kind === "reason") return { id: newId("rs"), type: "reasoning", summary: [] };
    const callId = part.id === undefined ? newId("call") : part.id;
    const identity = callId === null ? {} : { call_id: callId };
    const id = newId("fc");
    return { id, type: "function_call", status: "in_progress", ...identity, name: part.tool, arguments: "" };
  }

  #delta(part: Part, delta: string): readonly string[] {
    if (part.kind === "text")
      return [this.#onItem("response.output_text.delta", { content_index: 0, delta, logprobs: [] })];
    if (part.kind === "reason") {
      return [this.#onItem("response.reasoning_summary_text.delta", { summary_index: 0, delta })];
    }
    return [this.#onItem("response.function_call_arguments.delta", { delta })];
  }

  #close(part: Part, sent: string, whole: boolean): readonly string[] {
    const item = this.#output.at(-1);
    if (item === undefined) return [];
    const frames: string[] = [];
    if (part.kind === "text") {
      item["content"] = [textPart(sent)];
      frames.push(
        this.#onItem("response.output_text.done", { content_index: 0, text: sent, logprobs: [] }),
        this.#onItem("response.content_part.done", { content_index: 0, part: textPart(sent) }),
      );
    } else if (part.kind === "call") {
      item["arguments"] = sent;
      frames.push(this.#onItem("response.function_call_arguments.done", { name: part.tool, arguments: sent }));
    } else {
      frames.push(...this.#closeReason(part, item, sent, whole));
    }
    if (part.kind !== "reason") item["status"] = whole ? "completed" : "incomplete";
    return [...frames, this.#onOutput("response.output_item.done", { item })];
  }

  #closeReason(part: Extract<Part, { kind: "reason" }>, item: OutputItem, sent: string, whole: boolean): string[] {
    const id = String(item["id"]);
    if (whole) {
      const content = this.#reply.issued.seal(id, part.text, part.signature);
      if (this.#encryptedAsked()) item["encrypted_content"] = content;
    }
    if (part.redacted) return [];
    item["summary"] = [summaryPart(sent)];
    return [
      this.#onItem("response.reasoning_summary_text.done", { summary_index: 0, text: sent }),
      this.#onItem("response.reasoning_summary_part.done", { summary_index: 0, part: summaryPart(sent) }),
    ];
  }

  #encryptedAsked(): boolean {
    const include = this.#reply.request["include"];
    return Array.isArray(include) && include.includes("reasoning.encrypted_content");
  }

  #finish(finish: Finish, usage: Usage | null): readonly string[] {
    const frames = finish === "refusal" ? this.#refuse() : [];
    this.#incomplete = incompleteReason(finish);
    this.#status = this.#incomplete === null ? "completed" : "incomplete";
    this.#usage = usage;
    const { issued, input, request } = this.#reply;
    if (request["store"] !== false) issued.store(this.#id, input, this.#output);
    return [...frames, this.#event(`response.${this.#status}`, { response: this.body() })];
  }

  #refuse(): string[] {
    const refusal = { type: "refusal", refusal: REFUSAL };
    const id = this.#reply.newId("msg");
    const item = { id, type: "message", status: "in_progress", role: "assistant", content: [] };
    this.#output.push(item);
    const frames = [
      this.#onOutput("response.output_item.added", { item }),
      this.#onItem("response.content_part.added", { content_index: 0, part: { ...refusal, refusal: "" } }),
      this.#onItem("response.refusal.delta", { content_index: 0, delta: REFUSAL }),
      this.#onItem("response.refusal.done", { content_index: 0, refusal: REFUSAL }),
      this.#onItem("response.content_part.done", { content_index: 0, part: refusal }),
    ];
    Object.assign(item, { status: "completed", content: [refusal] });
    return [...frames, this.#onOutput("response.output_item.done", { item })];
  }

  /** The documented error event has its fields at the top. */
  #errorEvent(fault: Fault): string {
    return this.#event("error", { code: fault.code ?? fault.type, message: fault.message, param: null });
  }

  #failed(fault: Fault): string {
    this.#status = "failed";
    this.#error = { code: fault.code ?? fault.type, message: fault.message };
    return this.#event("response.failed", { response: this.body() });
  }

  #onOutput(type: string, data: Readonly<Record<string, unknown>>): string {
    return this.#event(type, { output_index: this.#output.length - 1, ...data });
  }

  #onItem(type: string, data: Readonly<Record<string, unknown>>): string {
    return this.#onOutput(type, { item_id: this.#output.at(-1)?.["id"], ...data });
  }

  #event(type: string, data: Readonly<Record<string, unknown>>): string {
    const sequence = this.#sequence;
    this.#sequence += 1;
    return eventFrame(type, { type, sequence_number: sequence, ...data });
  }
}

function textPart(text: string): unknown {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

function summaryPart(text: string): unknown {
  return { type: "summary_text", text };
}

/** null when the response is complete, which here covers stop, tool calls and refusal alike. */
function incompleteReason(finish: Finish): string | null {
  switch (finish) {
    case "stop":
    case "tool-calls":
    case "refusal":
      return null;
    case "length":
      return "max_output_tokens";
    case "content-filter":
      return "content_filter";
    default:
      return finish.raw;
  }
}

function responsesUsage(usage: Usage): unknown {
  const cacheWrite = usage.cacheWrite === undefined ? {} : { cache_write_tokens: usage.cacheWrite };
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0, ...cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.input + usage.output,
  };
}
