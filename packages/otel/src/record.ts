/** Telemetry of a log that is there already: spans at the times it recorded. */
import type { LogEntry } from "@pawl/core";
import { type FoldOptions, openTrace, telemetryFold } from "./fold.ts";
import { Sink, type SinkOptions } from "./sink.ts";

export interface TelemetryOptions extends SinkOptions, Omit<FoldOptions, "session"> {}

export interface RecordOptions extends TelemetryOptions {
  /** Whose log it is; default: the session of the last entry. What a fork has from its parent is not told again. */
  session?: string;
  /** A turn that has not ended is left out (`omit`, default), or told as far as it has come. */
  open?: "omit" | "show";
}

/**
 * Tells every turn of a log. A meter has no past: figures are counted at the moment of the call, so give one only to a log
 * that nobody has observed.
 *
 * Never throws for a tracer, a meter, or a log of another time: whatever fails is told to `warn`, once.
 */
export function record(entries: Iterable<LogEntry>, options: RecordOptions): void {
  const all = [...entries];
  const { session = all.at(-1)?.session } = options;
  if (session === undefined) return;
  const sink = new Sink(options);
  const fold = { ...options, session };
  sink.guard("log", () => {
    const { init, step } = telemetryFold(fold);
    let state = init();
    for (const entry of all) {
      state = step(state, entry);
      sink.tell(state.said);
    }
    const rest = options.open === "show" ? openTrace(state, fold) : undefined;
    if (rest) sink.trace(rest);
  });
}
