/** The context fold as a driver keeps it: stepped with each staged fact, asked before each request. */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { Target } from "../context/message.ts";
import { type ContextState, contextFold, promptOf } from "../context/projection.ts";
import type { LogEntry } from "../log/envelope.ts";
import type { Fold } from "../log/fold.ts";
import type { Follower } from "./ledger.ts";

export class LiveContext implements Follower {
  readonly #fold: Fold<ContextState>;
  #state: ContextState;

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
    return promptOf(this.#state, instructions);
  }
}
