/**
 * The laws, as small named predicates over a log.
 *
 * Owns: the shape of a law, and running laws over entries. Each law is a fold that reports what breaks it; the same
 * predicates run in tests, in the simulation and in `pawl verify`.
 */
import type { LogEntry } from "./envelope.ts";

export type LawName = "L1" | "L2" | "L3" | "L4" | "L5" | "L6" | "L7" | "L8" | "L9" | "L10";

/** What is wrong, and where. */
export interface Violation {
  law: LawName;
  seq: number;
  message: string;
}

export interface Law {
  law: LawName;
  title: string;
  /**
   * A fresh checker: takes entries in order, returns what each one breaks. Checkers of the same `run` are given the same
   * entries, one after another: what they derive from an entry, they derive once.
   */
  start(run?: LawRun): (entry: LogEntry) => string[];
}

/** Laws that go over a log together: what one of them derives, by its name. */
export type LawRun = Map<string, unknown>;

export interface Verdict {
  law: LawName;
  title: string;
  violations: Violation[];
}

/** Runs laws over a whole log, in one pass. */
export function verifyWith(laws: readonly Law[], entries: Iterable<LogEntry>): Verdict[] {
  const run: LawRun = new Map();
  const running = laws.map((law) => ({ law, check: law.start(run), violations: [] as Violation[] }));
  for (const entry of entries) {
    for (const { law, check, violations } of running) {
      for (const message of check(entry)) violations.push({ law: law.law, seq: entry.seq, message });
    }
  }
  return running.map(({ law, violations }) => ({ law: law.law, title: law.title, violations }));
}
