/**
 * A session's records from a point on, for as long as somebody wants them.
 *
 * Owns: order without gap or duplicate. Does not own: how a store hears of news (`watch`). Invariants:
 * 1. Each record after `after` comes once, in order.
 * 2. Nothing is polled here: between news it sleeps.
 */
import { limit } from "../limit.ts";
import type { LogRecord } from "../log/envelope.ts";
import { Bell } from "./bell.ts";
import type { Store } from "./store.ts";

export interface FollowOptions {
  /** Begin after this seq; default 0, from the start. */
  after?: number;
  /** Ends the iteration, without an error. */
  signal?: AbortSignal;
}

/** Pages of records, then live. Fails as `read` does, also when the session is deleted or the store closed meanwhile. */
export async function* follow(
  store: Pick<Store, "read" | "watch">,
  session: string,
  { after = 0, signal }: FollowOptions = {},
): AsyncGenerator<LogRecord[], void, undefined> {
  const news = new Bell();
  signal?.addEventListener("abort", news.ring, { once: true });
  const end = store.watch(session, news.ring);
  try {
    for (let seq = after; !signal?.aborted; ) {
      news.heard();
      const page = await store.read(session, { after: seq });
      const last = page.at(-1);
      if (signal?.aborted) return;
      if (last) {
        seq = last.seq;
        yield page;
      }
      // A full page has more behind it; after a short one only news can bring more, also news that came meanwhile.
      if (page.length < limit.pageRecords) await news.arrive();
    }
  } finally {
    end();
    signal?.removeEventListener("abort", news.ring);
  }
}
