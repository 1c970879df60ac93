/**
 * A session's log in decoded pages, over mended holes.
 *
 * Owns: reading a log as entries. Does not own: what a hole means to a fold. Invariants:
 * 1. Strict as `decodeAll`, but for holes that a `log.repaired` later in the log covers: those become marks (salvage).
 * 2. A log without damage is read once, page by page; only damage costs a look at the rest of it.
 */
import { isPawlError } from "../error.ts";
import { limit } from "../limit.ts";
import { decode, decodeAll } from "../log/codec.ts";
import type { LogEntry, LogRecord } from "../log/envelope.ts";
import { decodeMended, type Repair, repairsAmong } from "../log/salvage.ts";
import { noSession } from "./refusal.ts";
import type { Store } from "./store.ts";

export interface EntryPage {
  entries: LogEntry[];
  /** Of the last record of the page, also of one that is passed over. */
  seq: number;
}

/** SESSION_NOT_FOUND where there is none, CORRUPT or SESSION_READ_ONLY as `decodeAll`. */
export async function* pages(store: Pick<Store, "read">, session: string, after = 0): AsyncGenerator<EntryPage, void> {
  let before = after;
  for await (const records of recordPages(store, session, after)) {
    const entries = await decodePage(store, session, records, before);
    before = records.at(-1)?.seq ?? before;
    yield { entries, seq: before };
  }
  if (before === 0) throw noSession(session);
}

/** The entries of one page of `session`, read with `after`. */
export async function decodePage(
  store: Pick<Store, "read">,
  session: string,
  records: readonly LogRecord[],
  after: number,
): Promise<LogEntry[]> {
  try {
    return decodeAll(records, after);
  } catch (error) {
    if (!isPawlError(error, "CORRUPT")) throw error;
    return decodeMended(records, after, await repairsOf(store, session, after), error);
  }
}

/** What is recorded of repairs after `after`: the repair of a hole stands behind it. */
async function repairsOf(store: Pick<Store, "read">, session: string, after: number): Promise<Repair[]> {
  const repairs: Repair[] = [];
  for await (const records of recordPages(store, session, after)) {
    const entries = records.filter((record) => record.type === "log.repaired").flatMap((record) => readable(record));
    repairs.push(...repairsAmong(entries));
  }
  return repairs;
}

function readable(record: LogRecord): LogEntry[] {
  try {
    return [decode(record)].filter((entry) => entry !== undefined);
  } catch {
    // A repair that is damaged itself has mended nothing.
    return [];
  }
}

/** A page that is held, decoded and folded at once: some pages of long texts, not a thousand of them. */
const pageBytes = 4 * 1024 * 1024;
/** Nothing is known of the first; the next ones may be so many times as long. */
const firstPage = 8;
const growth = 8;

/**
 * The records as they are, page by page. While one is worked on, the store reads the next. Pages are as long as their
 * records are short: how long those are is known from the page before.
 */
export async function* recordPages(
  store: Pick<Store, "read">,
  session: string,
  after = 0,
): AsyncGenerator<LogRecord[], void> {
  let asked = Math.min(firstPage, limit.pageRecords);
  for (let next: Promise<LogRecord[]> | undefined = store.read(session, { after, limit: asked }); next; ) {
    const records: LogRecord[] = await next;
    const last = records.at(-1);
    const more = records.length === asked;
    asked = pageAfter(records, asked);
    next = last && more ? store.read(session, { after: last.seq, limit: asked }) : undefined;
    // Whoever stops here never hears of it.
    next?.catch(() => {});
    if (last) yield records;
  }
}

function pageAfter(records: readonly LogRecord[], asked: number): number {
  let bytes = 1;
  for (const { payload } of records) bytes += payload instanceof Uint8Array ? payload.byteLength : 0;
  const fitting = Math.floor((pageBytes * records.length) / bytes);
  return Math.min(Math.max(fitting, 1), asked * growth, limit.pageRecords);
}
