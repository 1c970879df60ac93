/**
 * A session that another process drives, as its driver's own subscribers see it: facts from the log, words from the partial
 * journal.
 *
 * Owns: when to read what. Does not own: which items follow (told). Invariants:
 * 1. It reads when it is asked for the next item: whoever is slow costs nobody anything, and misses no fact and no word.
 * 2. It asks the journal again and again only while a driver has an attempt open; the longer the journal, the more rarely.
 *    Otherwise it sleeps until the store has news.
 * 3. It writes nothing.
 */
import type { Effects } from "../effects.ts";
import { PawlError } from "../error.ts";
import { limit } from "../limit.ts";
import type { LogEntry, LogRecord } from "../log/envelope.ts";
import { seen } from "../log/shape.ts";
import { Bell } from "../store/bell.ts";
import { decodePage, recordPages } from "../store/pages.ts";
import { noSession } from "../store/refusal.ts";
import type { Partial, Store } from "../store/store.ts";
import type { LiveItem } from "../view/live.ts";
import { Told } from "./told.ts";

type Source = Pick<Store, "read" | "readTail" | "readPartial" | "get" | "watch">;

export interface WatchOptions {
  /** The last seq that the watcher has, default 0: none. */
  after?: number;
  /** Ends the iteration, without an error. */
  signal: AbortSignal;
}

/** INVALID_INPUT for an `after` that the session does not have; else fails as `follow` does. */
export async function* watch(
  { store, effects }: { store: Source; effects: Pick<Effects, "timers"> },
  session: string,
  { after = 0, signal }: WatchOptions,
): AsyncGenerator<LiveItem, void, undefined> {
  const bell = new Bell();
  const told = new Told(session);
  told.know(await entriesBefore(store, session, after));
  signal.addEventListener("abort", bell.ring, { once: true });
  const end = store.watch(session, bell.ring);
  const pulse = new Pulse();
  try {
    for (let seq = after; !signal.aborted; ) {
      bell.heard();
      for await (const { items, last } of facts(store, session, seq, told)) {
        seq = last;
        for (const item of items) {
          if (signal.aborted) return;
          yield item;
        }
      }
      const journal = told.listens ? await store.readPartial(session) : undefined;
      const words = told.journal(journal);
      for (const item of [...told.questions(), ...words]) {
        if (signal.aborted) return;
        yield item;
      }
      pulse.beat(words.length > 0, journal);
      const again = told.listens && (words.length > 0 || (await isDriven(store, session)));
      if (!signal.aborted) await next(bell, effects, again ? pulse.ms : undefined);
    }
  } finally {
    end();
    signal.removeEventListener("abort", bell.ring);
  }
}

/** How soon the journal is worth another look. */
class Pulse {
  #quiet = 0;
  #chars = 0;

  beat(spoke: boolean, journal: Partial | undefined): void {
    this.#quiet = spoke ? 0 : this.#quiet + 1;
    this.#chars = (journal?.chunks ?? []).reduce((sum, chunk) => sum + chunk.length, 0);
  }

  get ms(): number {
    const rest = Math.min(limit.watchMs * 2 ** Math.min(this.#quiet, 10), limit.watchQuietMs);
    return Math.max(rest, Math.ceil(this.#chars / limit.watchCharsPerMs));
  }
}

/** News, or a moment to look without any. */
async function next(bell: Bell, { timers }: Pick<Effects, "timers">, ms: number | undefined): Promise<void> {
  const cancel = ms === undefined ? undefined : timers.after(ms, bell.ring);
  try {
    await bell.arrive();
  } finally {
    cancel?.();
  }
}

/** A dead driver's attempt stays open until somebody takes over, which is news. */
async function isDriven(store: Source, session: string): Promise<boolean> {
  return (await store.get(session))?.lease !== undefined;
}

/** The items of all that is recorded after `after`. An entry waits for the one behind it: both may belong together. */
async function* facts(
  store: Source,
  session: string,
  after: number,
  told: Told,
): AsyncGenerator<{ items: LiveItem[]; last: number }> {
  let last = after;
  let held: LogEntry | undefined;
  for await (const records of recordPages(store, session, after)) {
    for (const entry of await decodePage(store, session, records, last)) {
      if (held) yield { items: told.entry(held, entry), last: held.seq };
      held = entry;
    }
    last = records.at(-1)?.seq ?? last;
  }
  // Also past what is passed over.
  yield { items: held ? told.entry(held, undefined) : [], last };
}

/** Records of one look backwards: a step with its calls and questions fits. */
const lookBack = 100;
/** Nothing that a watcher has to know of is open behind one of these. */
const starts = new Set<string>(["session.created", "turn.started", "turn.ended", "step.started"]);

/** From the last point where nothing was open up to `after`. */
async function entriesBefore(store: Source, session: string, after: number): Promise<LogEntry[]> {
  const summary = await store.get(session);
  if (!summary) throw noSession(session);
  if (!Number.isSafeInteger(after) || after < 0 || after > summary.seq) {
    throw new PawlError(
      "INVALID_INPUT",
      `there is nothing after ${seen(after)}: session ${session} has records 1 to ${summary.seq}; 0 is from the start`,
    );
  }
  const pages: LogRecord[][] = [];
  for (let before = after + 1; before > 1; ) {
    const page = await store.readTail(session, { before, limit: lookBack });
    pages.unshift(page);
    before = page[0]?.seq ?? 1;
    if (page.length < lookBack || page.some(({ type }) => starts.has(type))) break;
  }
  const records = pages.flat();
  return decodePage(store, session, records, (records[0]?.seq ?? 1) - 1);
}
