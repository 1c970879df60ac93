/** `verify(log)`: every law that a log can show, by name. */
import { pairing, stablePrefix } from "../context/laws.ts";
import type { LogEntry } from "../log/envelope.ts";
import { logLaws } from "../log/laws.ts";
import { type Law, type Verdict, verifyWith } from "../log/verify.ts";

export const laws: readonly Law[] = [pairing, ...logLaws, stablePrefix];

/** One verdict a law, in order; `violations` is empty where it holds. */
export function verify(entries: Iterable<LogEntry>): Verdict[] {
  return verifyWith(laws, entries);
}
