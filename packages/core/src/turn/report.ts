/** What became of one input: a fold over the entries of its turn. */
import type { LogEntry } from "../log/envelope.ts";
import type { EventOf } from "../log/event.ts";
import type { Failure, Outcome } from "../log/value.ts";
import { type Books, booksFold } from "../view/books.ts";
import { textOf } from "../view/transcript.ts";
import type { Follower } from "./ledger.ts";
import type { QueuedInput } from "./queue.ts";

export interface TurnResult {
  session: string;
  turn: string;
  outcome: Outcome;
  /** The original failure, where the turn did not complete. */
  failure?: Failure;
  /** The committed text of the last step. */
  text: string;
  /** This turn's requests, tools and tokens. */
  books: Books;
  /** Inputs and steers that waited when the turn was stopped, where the agent's `afterAbort` says `return`. */
  returned?: QueuedInput[];
}

export class Report implements Follower {
  #result: Partial<TurnResult> | undefined;
  #books = booksFold.init();
  readonly #session: string;
  /** Whether a starting turn is the one reported on. */
  readonly #isOurs: (turn: EventOf<"turn.started">) => boolean;

  constructor(session: string, isOurs: (turn: EventOf<"turn.started">) => boolean) {
    this.#session = session;
    this.#isOurs = isOurs;
  }

  /** Undefined until the turn has ended. */
  get result(): TurnResult | undefined {
    const { turn, outcome, ...rest } = this.#result ?? {};
    if (turn === undefined || outcome === undefined) return undefined;
    return { session: this.#session, turn, outcome, text: "", ...rest, books: this.#books };
  }

  reset(): void {
    this.#result = undefined;
    this.#books = booksFold.init();
  }

  step(entry: LogEntry): void {
    const { event } = entry;
    if (event.type === "turn.started" && this.#isOurs(event)) {
      this.reset();
      this.#result = { turn: event.turn };
    }
    const open = this.#result;
    if (!open || open.outcome) return;
    this.#books = booksFold.step(this.#books, entry);
    if (event.type === "message.committed") open.text = textOf(event.parts);
    if (event.type === "turn.ended" && event.turn === open.turn) {
      open.outcome = event.outcome;
      if (event.failure) open.failure = event.failure;
    }
  }
}
