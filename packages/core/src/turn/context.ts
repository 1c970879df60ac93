/** The context fold as a driver keeps it: stepped with each staged fact, asked before each request. */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { Target } from "../context/message.ts";
import { type ContextState, contextFold, promptOf } from "../context/projection.ts";
import type { LogEntry } from "../log/envelope.ts";
import type { Fold } from "../log/fold.ts";
import { Handover } from "./handover.ts";
import type { Follower } from "./ledger.ts";

export class LiveContext implements Follower {
  readonly #fold: Fold<ContextState>;
  #state: ContextState;
  readonly #handover = new Handover();

  constructor(target: Target) {
    this.#fold = contextFold(target);
    this.#state = this.#fold.init();
  }

  step(entry: LogEntry): void {
    this.#state = this.#fold.step(this.#state, entry);
  }

  reset(): void {
    this.#state = this.#fold.init();
  }

  prompt(instructions: string | undefined): LanguageModelV4Prompt {
    return this.#handover.of(promptOf(this.#state, instructions));
  }
}
