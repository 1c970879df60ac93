/**
 * What ends a turn from outside: Ctrl-C, SIGTERM, a terminal or a reader that has gone. The first ends it cleanly; a second Ctrl-C
 * ends the process, and the session reads as interrupted.
 */
import { exitOfOutcome } from "./exit.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export class Interruption {
  readonly #controller = new AbortController();

  constructor() {
    for (const signal of signals) process.on(signal, this.#onSignal);
    process.stdout.on("error", this.#onPipe);
    process.stderr.on("error", this.#onPipe);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether `error` is this interruption coming back: the turn had not begun. */
  is(error: unknown): boolean {
    return this.signal.aborted && error === this.signal.reason;
  }

  release(): void {
    for (const signal of signals) process.off(signal, this.#onSignal);
  }

  #onSignal = (): void => {
    if (this.signal.aborted) {
      process.stderr.write("\nLeft at once. The session is kept: `pawl resume` goes on inside the turn.\n");
      process.exit(exitOfOutcome("aborted"));
    }
    this.#controller.abort(new DOMException("stopped by a signal", "AbortError"));
  };

  /** Nobody reads any more; an agent that goes on unwatched is worse than one that stops. */
  #onPipe = (): void => {
    this.#controller.abort(new DOMException("the reader of the output has gone", "AbortError"));
  };
}
