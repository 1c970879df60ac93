/** Whether a session is the same in two stores: its records side by side, by their checksums. */
import { type LogRecord, limit, type Store } from "@pawl/core";

export interface Comparison {
  equal: number;
  /** The first record that is another one there. */
  differing?: number;
  /** Records at the end that are here and not there. */
  lacking: number;
  /** Records of the source that cannot be read and are not carried. */
  damaged: number;
}

/** What the copy has beyond the source is its own: it went on there. */
export async function compared(source: Store, copy: Store, session: string): Promise<Comparison> {
  const there = recordsOf(copy, session);
  let known = await there.next();
  let [equal, damaged, lacking] = [0, 0, 0];
  for await (const record of recordsOf(source, session)) {
    if (known.done) {
      lacking += 1;
    } else if (known.value.seq > record.seq) {
      damaged += 1;
    } else if (known.value.checksum === record.checksum && known.value.session === record.session) {
      equal += 1;
      known = await there.next();
    } else {
      await there.return?.(undefined);
      return { equal, differing: record.seq, lacking: 0, damaged };
    }
  }
  return { equal, lacking, damaged };
}

async function* recordsOf(store: Store, session: string): AsyncGenerator<LogRecord, void> {
  for (let after = 0; ; ) {
    const page = await store.read(session, { after, limit: limit.pageRecords });
    yield* page;
    after = page.at(-1)?.seq ?? after;
    if (page.length < limit.pageRecords) return;
  }
}
