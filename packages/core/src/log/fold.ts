/** The one shape of every view of a log: state is a pure fold of entries (L10). */
import type { LogEntry } from "./envelope.ts";

export interface Fold<S> {
  init(): S;
  /** Returns the next state. It may reuse and change `state`; the caller must not keep the old one. */
  step(state: S, entry: LogEntry): S;
}

/** Runs a fold over entries from the empty state. */
export function runFold<S>(fold: Fold<S>, entries: Iterable<LogEntry>): S {
  let state = fold.init();
  for (const entry of entries) state = fold.step(state, entry);
  return state;
}
