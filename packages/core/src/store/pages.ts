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
  let seq = after;
  for (;;) {
    const records = await store.read(session, { after: seq, limit: limit.pageRecords });
    if (records.length === 0) {
      if (seq === 0) throw noSession(session);
      return;
    }
    const entries = await decodePage(store, session, records, seq);
    seq = records.at(-1)?.seq ?? seq;
    yield { entries, seq };
    if (records.length < limit.pageRecords) return;
  }
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

/** The records as they are, page by page. */
export async function* recordPages(
  store: Pick<Store, "read">,
  session: string,
  after = 0,
): AsyncGenerator<LogRecord[], void> {
  for (let seq = after; ; ) {
    const records = await store.read(session, { after: seq, limit: limit.pageRecords });
    if (records.length > 0) yield records;
    if (records.length < limit.pageRecords) return;
    seq = records.at(-1)?.seq ?? seq;
  }
}
