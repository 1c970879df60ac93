/** `--json`: one event per line, and a summary as the last line of standard output, whatever happened. */
import type { Failure, LogEntry, TurnResult } from "@pawl/core";
import { exitOfError, exitOfOutcome } from "./exit.ts";
import { outcomeWords } from "./words.ts";

export interface Summary {
  ok: boolean;
  /** The outcome of the turn; null where none came to an end. */
  outcome: string | null;
  /** The committed text of the last step. */
  text: string;
  session: string | null;
  turn: string | null;
  /** Tokens of every request of the turn, lost ones too: what was paid. A request without a figure adds nothing. */
  usage: { input: number; output: number };
  /** Null exactly when `ok`. */
  error: SummaryError | null;
}

export interface SummaryError {
  /** An error code, a kind of failure, or the outcome. */
  code: string;
  message: string;
  exit: number;
  /** Where the provider asked for patience: until when, UTC ms. */
  until?: number;
  /** The classified fault. */
  failure?: Failure;
}

export function printSummary(summary: Summary): void {
  process.stdout.write(`${JSON.stringify(summary)}\n`);
}

export function printEntry({ seq, time, event }: LogEntry): void {
  process.stdout.write(`${JSON.stringify({ seq, time, ...event })}\n`);
}

export function summaryOf({ session, turn, outcome, failure, text, books }: TurnResult): Summary {
  const { committed, discarded } = books;
  const ok = outcome.type === "completed";
  const error: SummaryError = {
    code: failure?.kind ?? outcome.type,
    message: failure?.message ?? outcomeWords(outcome),
    exit: exitOfOutcome(outcome.type),
    ...(outcome.type === "rate-limited" && outcome.until !== undefined ? { until: outcome.until } : {}),
    ...(failure ? { failure } : {}),
  };
  return {
    ok,
    outcome: outcome.type,
    text,
    session,
    turn,
    usage: {
      input: committed.tokens.input + discarded.tokens.input,
      output: committed.tokens.output + discarded.tokens.output,
    },
    error: ok ? null : error,
  };
}

/** Where no turn ended: bad words, a store that refuses. `seen` is what is known all the same. */
export function summaryOfError(error: unknown, seen: Partial<Summary> = {}): Summary {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return {
    ok: false,
    outcome: null,
    text: "",
    session: null,
    turn: null,
    usage: { input: 0, output: 0 },
    ...seen,
    error: {
      code: typeof code === "string" ? code : "UNEXPECTED",
      message: typeof message === "string" ? message : String(error),
      exit: exitOfError(error),
    },
  };
}
