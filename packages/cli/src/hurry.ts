/** *Retry now*: while a turn waits before its next attempt, Enter ends the wait. */
import type { LiveItem, Turn } from "@pawl/core";
import { nextLine, Questions } from "./question.ts";

export class Hurry {
  readonly #turn: Turn;
  #wait: AbortController | undefined;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  see(item: LiveItem): void {
    if (item.type !== "entry" || !Questions.possible) return;
    const { event } = item.entry;
    if (event.type === "attempt.started" || event.type === "turn.ended") this.end();
    if (event.type === "attempt.ended" && (event.decision?.delayMs ?? 0) > 0) this.#listen();
  }

  end(): void {
    this.#wait?.abort();
    this.#wait = undefined;
  }

  #listen(): void {
    this.end();
    const wait = new AbortController();
    this.#wait = wait;
    void nextLine(wait.signal).then((line) => {
      if (line !== undefined && !wait.signal.aborted) this.#turn.retryNow();
    });
  }
}
