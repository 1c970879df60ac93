/**
 * The context fold as a driver keeps it: told of each staged fact, folded while the store writes, asked before each request.
 * What a snapshot has spared the driver from reading is read at the first request, from where the conversation begins.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { boundaries, promptUpTo, prunable, sizeOf } from "../context/compaction.ts";
import { type ContextState, contextFold, promptOf } from "../context/projection.ts";
import type { Target } from "../context/target.ts";
import type { LogEntry } from "../log/envelope.ts";
import type { Fold } from "../log/fold.ts";
import { pages } from "../store/pages.ts";
import type { Store } from "../store/store.ts";
import type { PreparedAgent } from "./agent.ts";
import { withAttachments } from "./attachment.ts";
import type { Measured } from "./compaction.ts";
import { Handover } from "./handover.ts";
import type { Follower } from "./ledger.ts";
import { withMarkers } from "./marker.ts";
import { callOptions } from "./request.ts";
import type { TurnState } from "./state.ts";

/** What is in the log and not read yet: everything behind `from`, up to `to`. */
interface Unread {
  from: number;
  to: number;
  stripped: readonly string[];
  /** What has been stepped since. */
  since: LogEntry[];
}

export class LiveContext implements Follower {
  readonly #fold: Fold<ContextState>;
  readonly #store: Store;
  readonly #session: string;
  readonly #handover = new Handover();
  #state: ContextState;
  #unread: Unread | undefined;
  /** Told, and not folded yet. */
  #untaken: LogEntry[] = [];
  /** What the last reported request measured, and what our own estimate said then. */
  #reported: { tokens: number; size: number } | undefined;
  /** Whether the open attempt is for something else than the step's message. */
  #aside = false;
  /** A request that was made before it was asked for; undefined once a fact has changed what it would be. */
  #ahead: { agent: PreparedAgent; request: Promise<LanguageModelV4CallOptions> } | undefined;

  constructor(store: Store, session: string, target: Target) {
    this.#fold = contextFold(target);
    this.#store = store;
    this.#session = session;
    this.#state = this.#fold.init();
  }

  step(entry: LogEntry): void {
    if (this.#unread) this.#unread.since.push(entry);
    else this.#untaken.push(entry);
  }

  catchUp(): void {
    for (const entry of this.#untaken.splice(0)) this.#take(entry);
  }

  reset({ contextFrom, stripped }: TurnState, seq: number): void {
    this.#state = this.#fold.init();
    this.#reported = undefined;
    this.#ahead = undefined;
    this.#untaken = [];
    this.#unread = seq === 0 ? undefined : { from: contextFrom, to: seq, stripped: [...stripped], since: [] };
  }

  /** Reads what is unread. */
  async load(): Promise<void> {
    this.catchUp();
    const unread = this.#unread;
    if (!unread) return;
    for (const provider of unread.stripped) this.#take(strippedBefore(unread.from, provider, this.#session));
    for await (const { entries } of pages(this.#store, this.#session, unread.from)) {
      for (const entry of entries) if (entry.seq <= unread.to) this.#take(entry);
      if ((entries.at(-1)?.seq ?? 0) >= unread.to) break;
    }
    this.#unread = undefined;
    for (const entry of unread.since) this.#take(entry);
  }

  /** What the next request sends. */
  request(agent: PreparedAgent): Promise<LanguageModelV4CallOptions> {
    this.catchUp();
    const ahead = this.#ahead;
    this.#ahead = undefined;
    return ahead?.agent === agent ? ahead.request : this.#request(agent);
  }

  /** Makes the next request while its announcement is being written. */
  prepare(agent: PreparedAgent): void {
    if (this.#unread) return;
    const request = this.#request(agent);
    // Whoever asks for it hears of a failure.
    request.catch(() => {});
    this.#ahead = { agent, request };
  }

  async #request(agent: PreparedAgent): Promise<LanguageModelV4CallOptions> {
    await this.load();
    return callOptions(agent.header, await this.#given(promptOf(this.#state, agent.header.instructions), agent));
  }

  /** What a request sends, without its pictures' bytes: to be measured. */
  async measurable(agent: PreparedAgent): Promise<LanguageModelV4Prompt> {
    await this.load();
    return promptOf(this.#state, agent.header.instructions);
  }

  /** The messages up to a boundary. */
  async promptUpTo(agent: PreparedAgent, seq: number): Promise<LanguageModelV4Prompt> {
    await this.load();
    return this.#given(promptUpTo(this.#state, agent.header.instructions, seq), agent);
  }

  async #given(prompt: LanguageModelV4Prompt, { header, cache }: PreparedAgent): Promise<LanguageModelV4Prompt> {
    const copies = this.#handover.of(prompt);
    const shown = header.images === "send" ? await withAttachments(this.#store, copies) : copies;
    return cache === "off" ? shown : withMarkers(shown, header.model.provider);
  }

  /** Tokens of the next request: the larger of what was reported and our own estimate, each with what came since. */
  tokens({ overheadTokens }: Pick<PreparedAgent, "overheadTokens">): number {
    const size = sizeOf(this.#state);
    const reported = this.#reported ? this.#reported.tokens + size - this.#reported.size : 0;
    return Math.max(overheadTokens + size, reported);
  }

  measured(agent: Pick<PreparedAgent, "overheadTokens" | "compaction">): Measured {
    this.catchUp();
    const state = this.#state;
    return {
      tokens: this.tokens(agent),
      size: agent.overheadTokens + sizeOf(state),
      boundaries: boundaries(state),
      prunable: (upTo) => prunable(state, upTo, agent.compaction.resultChars),
    };
  }

  #take(entry: LogEntry): void {
    const { event } = entry;
    const count = this.#state.messages.length;
    this.#state = this.#fold.step(this.#state, entry);
    // The one fact that mostly changes nothing: it may add what makes its request a valid one.
    if (event.type !== "attempt.started" || this.#state.messages.length !== count) this.#ahead = undefined;
    if (event.type === "context.compacted") this.#reported = undefined;
    if (event.type === "attempt.started") this.#aside = event.purpose !== "step";
    if (event.type !== "attempt.ended" || event.end !== "committed" || this.#aside) return;
    // The message is not there yet: what was measured is what it answers. Zero for a prompt is no figure.
    const { input } = event.usage;
    if (input) this.#reported = { tokens: input, size: sizeOf(this.#state) };
  }
}

/** Stands for a record that is not read any more. */
function strippedBefore(seq: number, provider: string, session: string): LogEntry {
  return { session, seq, epoch: 0, time: 0, event: { type: "provider-state.stripped", provider, reason: "before" } };
}
