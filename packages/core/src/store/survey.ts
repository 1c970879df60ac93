/**
 * Looking over a whole log, however long it is: its holes, and which of them are mended.
 *
 * Owns: holes over the seams of pages. Holds one page at a time.
 */
import type { LogEntry } from "../log/envelope.ts";
import { type Hole, type Repair, repairOf, repairsAmong, salvage } from "../log/salvage.ts";
import { recordPages } from "./pages.ts";
import type { Store } from "./store.ts";

/** `head` is the last seq that should be there. `look` sees each good entry, in order. */
export async function surveyLog(
  store: Pick<Store, "read">,
  session: string,
  head: number,
  look: (entry: LogEntry) => void = () => {},
): Promise<Hole[]> {
  const holes: Hole[] = [];
  const repairs: Repair[] = [];
  let seq = 0;
  const take = (page: Parameters<typeof salvage>[0], upTo: number): void => {
    const read = salvage(page, { after: seq, head: upTo });
    for (const hole of read.holes) joined(holes, hole);
    repairs.push(...repairsAmong(read.entries));
    for (const entry of read.entries) look(entry);
  };
  for await (const records of recordPages(store, session)) {
    const known = records.filter((record) => record.seq <= head);
    take(known, 0);
    seq = known.at(-1)?.seq ?? seq;
  }
  take([], head);
  return holes.map((hole) => ({ ...hole, mended: repairOf(hole, repairs) !== undefined }));
}

/** A hole that the end of a page has cut in two is one. */
function joined(holes: Hole[], hole: Hole): void {
  const last = holes.at(-1);
  if (!last || last.kind !== hole.kind || hole.from !== last.to - 1) {
    holes.push(hole);
    return;
  }
  last.to = hole.to;
  last.reason = `${last.reason}; ${hole.reason}`;
  last.mayHoldTools ||= hole.mayHoldTools;
}
