import type { FrameBeat, Part } from "../score.ts";
import type { Finish, Usage } from "../script.ts";
import {
  CREATED_S,
  commentFrame,
  dataFrame,
  decodedArguments,
  type Encoder,
  GARBAGE,
  REFUSAL,
  type Reply,
} from "./encoder.ts";

type CallPart = Extract<Part, { kind: "call" }>;

interface SentCall {
  readonly id?: string;
  readonly type: "function";
  readonly function: { name: string; arguments: unknown };
}

/** Reasoning travels as `reasoning_content`, as compatible servers send it; signatures do not exist here. */
export class ChatEncoder implements Encoder {
  readonly #reply: Reply;
  readonly #id: string;
  readonly #usageAsked: boolean;
  readonly #calls: SentCall[] = [];
  #index = 0;
  #text = "";
  #reasoning = "";
  #refusal: string | null = null;
  #finish: string | null = null;
  #usage: Usage | null = null;

  constructor(reply: Reply) {
    this.#reply = reply;
    this.#id = reply.newId("chatcmpl").replace("_", "-");
    const options = reply.request["stream_options"];
    this.#usageAsked =
      typeof options === "object" && options !== null && "include_usage" in options && options.include_usage === true;
  }

  frames(beat: FrameBeat): readonly string[] {
    switch (beat.beat) {
      case "start":
        return [this.#chunk({ role: "assistant", content: "", refusal: null })];
      case "open":
        return beat.part.kind === "call" ? this.#openCall(beat.part) : [];
      case "delta":
        return this.#delta(beat.part, beat.text);
      case "close":
        return this.#close(beat.part, beat.sent);
      case "finish":
        return this.#finishFrames(beat.finish, beat.usage, beat.explicit);
      case "terminal":
        return [dataFrame("[DONE]")];
      case "error": {
        const { message, type, code } = beat.fault;
        return [dataFrame({ error: { message, type, param: null, code: code ?? null } })];
      }
      case "ping":
        return [commentFrame("ping")];
      case "comment":
        return [commentFrame(beat.text)];
      case "garbage":
        return [dataFrame(GARBAGE)];
    }
  }

  body(): unknown {
    const message = {
      role: "assistant",
      content: this.#text === "" && (this.#calls.length > 0 || this.#refusal !== null) ? null : this.#text,
      refusal: this.#refusal,
      ...(this.#reasoning === "" ? {} : { reasoning_content: this.#reasoning }),
      ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }),
    };
    return {
      id: this.#id,
      object: "chat.completion",
      created: CREATED_S,
      model: this.#reply.model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: this.#finish }],
      ...(this.#usage === null ? {} : { usage: chatUsage(this.#usage) }),
    };
  }

  #openCall(part: CallPart): readonly string[] {
    this.#index = part.index ?? this.#calls.length;
    const id = part.id === undefined ? this.#reply.newId("call") : part.id;
    const identity = id === null ? {} : { id };
    const sent: SentCall = { ...identity, type: "function", function: { name: part.tool, arguments: "" } };
    this.#calls.push(sent);
    if (part.asObject) sent.function.arguments = decodedArguments(part.text);
    return [this.#chunk({ tool_calls: [{ index: this.#index, ...sent }] })];
  }

  #delta(part: Part, text: string): readonly string[] {
    if (part.kind === "text") return [this.#chunk({ content: text })];
    if (part.kind === "reason") return [this.#chunk({ reasoning_content: text })];
    return part.asObject ? [] : [this.#chunk({ tool_calls: [{ index: this.#index, function: { arguments: text } }] })];
  }

  #close(part: Part, sent: string): readonly string[] {
    if (part.kind === "text") this.#text += sent;
    else if (part.kind === "reason") this.#reasoning += sent;
    else {
      const call = this.#calls.at(-1);
      if (call !== undefined && !part.asObject) call.function.arguments = sent;
    }
    return [];
  }

  #finishFrames(finish: Finish, usage: Usage | null, explicit: boolean): readonly string[] {
    this.#finish = finishReason(finish);
    this.#usage = usage;
    const frames: string[] = [];
    if (finish === "refusal") {
      this.#refusal = REFUSAL;
      frames.push(this.#chunk({ refusal: REFUSAL }));
    }
    frames.push(this.#chunk({}, this.#finish));
    if (usage !== null && (explicit || this.#usageAsked)) {
      frames.push(dataFrame({ ...this.#base(), choices: [], usage: chatUsage(usage) }));
    }
    return frames;
  }

  #chunk(delta: unknown, finish: string | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    return dataFrame({ ...this.#base(), choices, ...(this.#usageAsked ? { usage: null } : {}) });
  }

  #base() {
    return { id: this.#id, object: "chat.completion.chunk", created: CREATED_S, model: this.#reply.model };
  }
}

function finishReason(finish: Finish): string {
  switch (finish) {
    case "stop":
    // A refusal is told by the `refusal` field; its finish reason is an ordinary stop.
    case "refusal":
      return "stop";
    case "tool-calls":
      return "tool_calls";
    case "length":
      return "length";
    case "content-filter":
      return "content_filter";
    default:
      return finish.raw;
  }
}

function chatUsage(usage: Usage): unknown {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  };
}
