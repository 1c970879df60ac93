/**
 * Telemetry of a turn under way. It listens like any other subscriber: the driver knows nothing of it and waits for nothing.
 * Begin before the turn does anything: in the same tick as `run`, `resume`, `settle` or `continue`.
 */
import type { LiveItem, LogEntry, Session, Turn } from "@pawl/core";
import { telemetryFold } from "./fold.ts";
import type { TelemetryOptions } from "./record.ts";
import { Sink } from "./sink.ts";

export interface ObserveOptions extends TelemetryOptions {
  /** The turn's session: read once where the turn began before this drive, so that its trace is whole. */
  session: Pick<Session, "id" | "entries">;
  /** Milliseconds that only grow, for pauses; default `performance.now`. */
  monotonic?: () => number;
}

/**
 * Follows a turn to the end of its drive. Metrics are counted as facts come, a trace is told when its turn ends; a drive that
 * ends without that (its process dies, its lease goes) tells none: whoever goes on tells the whole.
 *
 * Resolves with the drive's end, and never rejects.
 */
export function observe(turn: Pick<Turn, typeof Symbol.asyncIterator>, options: ObserveOptions): Promise<void> {
  const sink = new Sink(options);
  // Subscribed now: a fact that passed before would be missing.
  const items = turn[Symbol.asyncIterator]();
  const seen = listen(items, sink, options);
  return seen.catch((cause) => sink.warn("telemetry: a turn could not be followed to its end", cause));
}

async function listen(items: AsyncIterator<LiveItem>, sink: Sink, options: ObserveOptions): Promise<void> {
  const { session, monotonic = () => performance.now() } = options;
  const fold = telemetryFold({ ...options, session: session.id });
  let state = fold.init();
  let begun = false;
  let paused: number | undefined;
  const resumed = () => {
    if (paused === undefined) return;
    sink.measure({ metric: "pawl.pause.duration", value: (monotonic() - paused) / 1000, attributes: {} });
    paused = undefined;
  };
  for (;;) {
    const { done, value: item } = await items.next();
    if (done) break;
    if (item.type === "paused" && paused === undefined) {
      paused = monotonic();
      sink.measure({ metric: "pawl.pauses", value: 1, attributes: {} });
    } else if (item.type === "resumed") resumed();
    if (item.type !== "entry") continue;
    if (!begun) for (const entry of await before(item.entry, sink, options)) state = fold.step(state, entry);
    begun = true;
    state = fold.step(state, item.entry);
    sink.tell(state.said);
  }
  resumed();
}

/** Facts of the open turn that another drive has recorded: known, not told again. */
async function before({ event, seq }: LogEntry, sink: Sink, { session }: ObserveOptions): Promise<LogEntry[]> {
  // Nothing is open where an input is accepted for a new turn, or one starts.
  if (event.type === "turn.started" || (event.type === "input.accepted" && event.kind === "prompt")) return [];
  try {
    return (await session.entries()).filter((entry) => entry.seq < seq);
  } catch (cause) {
    sink.warn(`telemetry: the log of ${session.id} could not be read; the turn that is open in it has no trace`, cause);
    return [];
  }
}
