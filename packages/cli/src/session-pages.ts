/** Every session of a store, the latest first, read a page at a time. */
import type { SessionSummary, Store } from "@pawl/core";

/** Behind which session to go on. */
export interface Cursor {
  updatedAt: number;
  session: string;
}

/** Of the store at once. */
const pageSize = 200;

export async function* everySession(store: Store, from?: Cursor): AsyncGenerator<SessionSummary, void> {
  for (let cursor = from; ; ) {
    const page = await store.list({
      limit: pageSize,
      ...(cursor ? { cursor: { updatedAt: cursor.updatedAt, session: cursor.session } } : {}),
    });
    yield* page;
    cursor = page.at(-1);
    if (page.length < pageSize) return;
  }
}
