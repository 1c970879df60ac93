/**
 * What of an attempt its consumer gets, and when: for consumers that cannot take back what they were given.
 *
 * Owns: holding back, order, the proofs of reasoning, closing what a lost attempt left open. Does not own: whether an
 * attempt is good (verdict), what follows from a failure (decide). Invariants:
 * 1. What carries no content leaves with what does: an attempt that only announced itself was never there.
 * 2. A call that the client runs leaves with the good end of its answer, and so does all that comes behind it.
 * 3. What proves reasoning (a signature, an item id) leaves with the answer it belongs to, never with a sealed one.
 * 4. No `error` leaves, and no `finish` but that of a good attempt.
 * 5. Text and reasoning that were let out never share an id with anything that follows (L2).
 */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Exposure } from "../log/value.ts";
import { noExposure } from "./exposure.ts";
import type { AttemptResult } from "./run.ts";
import type { Finish } from "./terminal.ts";

type StreamPart = LanguageModelV4StreamPart;
type FinishPart = Extract<StreamPart, { type: "finish" }>;

/**
 * What waits: `starts`, what carries nothing yet; `reasoning`, that and reasoning until output follows it; `answer`,
 * everything until the answer is good.
 */
export type HoldBack = "starts" | "reasoning" | "answer";

export class Outlet {
  /** What has left of the attempt that is open. */
  exposure: Exposure = noExposure();

  readonly #holdBack: HoldBack;
  readonly #wantsRaw: boolean;
  readonly #out: (part: StreamPart) => void;
  #attempt = "";
  #held: StreamPart[] = [];
  /** Of reasoning that is shown: what may only leave with the answer. */
  #proofs: StreamPart[] = [];
  /** Output has left: nothing that follows need wait. */
  #flowing = false;
  /** A client's call has come: everything waits for the end. */
  #barred = false;
  #finish: FinishPart | undefined;
  #announced = false;
  /** Everything of this call that has an id, as `kind id`: what has left, and what the open attempt has used. */
  readonly #left = new Set<string>();
  #used = new Set<string>();
  /** The id under which a part of the stream goes on, by the one it came with. */
  #ids = new Map<string, string>();
  /** The ends of what has left and is not closed. */
  readonly #open = new Map<string, StreamPart>();

  constructor(holdBack: HoldBack, wantsRaw: boolean, out: (part: StreamPart) => void) {
    this.#holdBack = holdBack;
    this.#wantsRaw = wantsRaw;
    this.#out = out;
  }

  begin(attempt: string): void {
    this.#attempt = attempt;
    this.exposure = noExposure();
    this.#held = [];
    this.#proofs = [];
    this.#flowing = false;
    this.#barred = false;
    this.#finish = undefined;
    this.#used = new Set(this.#left);
    this.#ids = new Map();
  }

  push(given: StreamPart): void {
    if (given.type === "finish") this.#finish ??= given;
    if (given.type === "finish" || given.type === "error" || (given.type === "raw" && !this.#wantsRaw)) return;
    const part = this.#underFreshId(given);
    const weight = weightOf(part);
    if (weight === "call") this.#barred = true;
    if (this.#barred || this.#holdBack === "answer") return this.#hold(part);
    if (weight === "output") {
      this.#release();
      this.#flowing = true;
    }
    if (this.#flowing) this.#emit(part);
    else if (weight === "thought" && this.#holdBack === "starts") this.#show(part);
    else this.#hold(part);
  }

  /** The attempt is lost: reasoning that has left is closed, without a proof. */
  seal(): void {
    for (const end of this.#open.values()) if (end.type === "reasoning-end") this.#emit(end);
  }

  /** The attempt is good: the rest of it leaves, its finish last. */
  complete(result: AttemptResult): void {
    this.#release();
    const given = this.#finish;
    if (given && given.finishReason.unified === result.finish?.reason) return this.#emit(given);
    // The package broke, or ended without a word, behind the protocol's own terminal frame.
    this.#closeOpen(result);
    this.#emit(finishOf(result.finish ?? { reason: "stop" }, given));
  }

  #hold(part: StreamPart): void {
    // They are told while they come; kept, they would only be many.
    if (part.type !== "ping") this.#held.push(part);
  }

  #release(): void {
    const parts = [...this.#proofs, ...this.#held];
    this.#proofs = [];
    this.#held = [];
    for (const part of parts) this.#emit(part);
  }

  /** Lets the words of a thought out, and keeps what would make a message of it: its proof, and its end. */
  #show(thought: StreamPart): void {
    const parts = [...this.#held, thought];
    this.#held = [];
    for (const part of parts) {
      switch (part.type) {
        case "stream-start":
        case "response-metadata":
        case "raw":
          this.#emit(part);
          break;
        case "reasoning-start":
        case "reasoning-delta": {
          const { providerMetadata, ...bare } = part;
          if (bare.type === "reasoning-start" || bare.delta !== "") this.#emit(bare);
          if (providerMetadata)
            this.#proofs.push({ type: "reasoning-delta", id: part.id, delta: "", providerMetadata });
          break;
        }
        default:
          this.#proofs.push(part);
      }
    }
  }

  #emit(part: StreamPart): void {
    // Once is enough: the attempts of one call have the same warnings.
    if (part.type === "stream-start" && this.#announced) return;
    if (part.type === "stream-start") this.#announced = true;
    this.#expose(part);
    this.#track(part);
    this.#out(part);
  }

  #expose(part: StreamPart): void {
    const { exposure } = this;
    if ("providerMetadata" in part && part.providerMetadata) exposure.clientState = true;
    switch (part.type) {
      case "reasoning-delta":
        if (part.delta !== "") exposure.reasoning = true;
        return;
      case "tool-input-delta":
        if (part.delta !== "") exposure.toolInput = true;
        return;
      case "tool-call":
        exposure.calls += 1;
        return;
      default:
        if (weightOf(part) === "output") exposure.text = true;
    }
  }

  #track(part: StreamPart): void {
    switch (part.type) {
      case "text-start":
        this.#left.add(keyOf(part));
        this.#open.set(keyOf(part), { type: "text-end", id: part.id });
        return;
      case "reasoning-start":
        this.#left.add(keyOf(part));
        this.#open.set(keyOf(part), { type: "reasoning-end", id: part.id });
        return;
      case "tool-input-start":
        this.#open.set(keyOf(part), { type: "tool-input-end", id: part.id });
        return;
      case "text-end":
      case "reasoning-end":
      case "tool-input-end":
        this.#open.delete(keyOf(part));
        return;
      case "tool-call":
        this.#left.add(`call ${part.toolCallId}`);
    }
  }

  /** A client's call keeps its id whatever happens: the provider knows it by that. */
  #underFreshId(part: StreamPart): StreamPart {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const given = keyOf(part);
        let { id } = part;
        for (let n = 1; this.#used.has(keyOf({ ...part, id })); n += 1) id = `${this.#attempt}-${n}-${part.id}`;
        this.#used.add(keyOf({ ...part, id }));
        this.#ids.set(given, id);
        return id === part.id ? part : { ...part, id };
      }
      case "text-delta":
      case "text-end":
      case "reasoning-delta":
      case "reasoning-end": {
        const id = this.#ids.get(keyOf(part)) ?? part.id;
        return id === part.id ? part : { ...part, id };
      }
      default:
        return part;
    }
  }

  #closeOpen({ parts }: AttemptResult): void {
    for (const end of this.#open.values()) this.#emit(end);
    for (const part of parts) {
      if (part.type !== "tool-call" || part.cut || this.#left.has(`call ${part.providerId}`)) continue;
      const { providerId, tool, input, providerExecuted } = part;
      const call: StreamPart = { type: "tool-call", toolCallId: providerId, toolName: tool, input };
      this.#emit(providerExecuted ? { ...call, providerExecuted } : call);
    }
  }
}

/** What a part means to whoever cannot give it back. */
type Weight = "quiet" | "thought" | "output" | "call";

function weightOf(part: StreamPart): Weight {
  switch (part.type) {
    case "reasoning-delta":
      return part.delta === "" ? "quiet" : "thought";
    case "text-delta":
    case "tool-input-delta":
      return part.delta === "" ? "quiet" : "output";
    case "tool-call":
      return part.providerExecuted ? "output" : "call";
    case "custom":
      // Packages announce things of their own this way.
      return part.kind.endsWith(".message_start") ? "quiet" : "output";
    case "tool-result":
    case "tool-approval-request":
    case "file":
      return "output";
    default:
      // Starts, ends, sources, metadata, and what a newer package invents: nothing that stands by itself.
      return "quiet";
  }
}

type Named = Extract<StreamPart, { id: string; type: `${"text" | "reasoning" | "tool-input"}-${string}` }>;

function keyOf({ type, id }: Named): string {
  const kind = type.startsWith("text") ? "text" : type.startsWith("reasoning") ? "reasoning" : "input";
  return `${kind} ${id}`;
}

const unknownUsage: FinishPart["usage"] = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/** The frame's word, and the figures of the finish that a package made of the broken end, if it made one. */
function finishOf({ reason, raw }: Finish, given: FinishPart | undefined): FinishPart {
  const unified = reason === "interrupted" ? "other" : reason;
  return { ...given, type: "finish", finishReason: { unified, raw }, usage: given?.usage ?? unknownUsage };
}
