/**
 * What an operator sees: every physical request, counted once, by fate and by measure (L9). A total is a sum of
 * attempts; absent figures are counted as absent, not as zero.
 */
import type { LogEntry } from "../log/envelope.ts";
import type { AttemptEnd } from "../log/event.ts";
import type { Fold } from "../log/fold.ts";
import type { Usage } from "../log/value.ts";

export interface Tokens {
  input: number;
  output: number;
  reasoning: number;
  cacheRead: number;
  cacheWrite: number;
}

export interface Account {
  attempts: number;
  /** Attempts whose usage nobody reported: the tokens below are without them. */
  unmeasured: number;
  /** Attempts whose tokens are our own estimate: the provider said nothing before it broke off. */
  estimated: number;
  tokens: Tokens;
  cost: number;
}

export interface Books {
  turns: number;
  steps: number;
  tools: number;
  /** Requests whose message was committed. */
  committed: Account;
  /** Requests that were sealed, discarded, failed or interrupted: paid for, and not part of any answer. */
  discarded: Account;
  /** Requests begun and not ended. */
  open: number;
}

export const booksFold: Fold<Books> = {
  init: () => ({ turns: 0, steps: 0, tools: 0, committed: account(), discarded: account(), open: 0 }),
  step(books, { event }: LogEntry) {
    switch (event.type) {
      case "turn.started":
        books.turns += 1;
        break;
      case "step.started":
        books.steps += 1;
        break;
      case "tool.entered":
        books.tools += 1;
        break;
      case "attempt.started":
        books.open += 1;
        break;
      case "attempt.ended":
        books.open -= 1;
        enter(books[fateOf(event.end)], event.usage, event.cost);
        break;
      default:
        break;
    }
    return books;
  },
};

export function fateOf(end: AttemptEnd): "committed" | "discarded" {
  return end === "committed" ? "committed" : "discarded";
}

function account(): Account {
  return {
    attempts: 0,
    unmeasured: 0,
    estimated: 0,
    tokens: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 },
    cost: 0,
  };
}

function enter(into: Account, usage: Usage, cost: number | undefined): void {
  into.attempts += 1;
  if (usage.measure === "unknown") into.unmeasured += 1;
  if (usage.measure === "estimated") into.estimated += 1;
  for (const name of ["input", "output", "reasoning", "cacheRead", "cacheWrite"] as const) {
    into.tokens[name] += usage[name] ?? 0;
  }
  into.cost += cost ?? 0;
}
