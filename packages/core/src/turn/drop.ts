/**
 * The way out of a conversation that no longer fits and that no model can sum up: its older part goes, without a request.
 * Nothing is deleted: the transcript keeps all, and a fork from before the drop has all of it in its context again.
 */
import { boundaries, chooseCut, sizeOf } from "../context/compaction.ts";
import { contextFold } from "../context/projection.ts";
import { targetOf } from "../context/target.ts";
import { PawlError } from "../error.ts";
import type { EventOf } from "../log/event.ts";
import { pages } from "../store/pages.ts";
import { Feed } from "../view/feed.ts";
import { DriverLease } from "./lease.ts";
import { Ledger } from "./ledger.ts";
import { Patience } from "./patience.ts";
import type { Runtime } from "./session.ts";

export type Dropped = Pick<EventOf<"context.compacted">, "upTo" | "tokensBefore" | "tokensAfter">;

const droppedText =
  "The earlier part of this conversation was left out because it did not fit. Ask, or look again, where something is missing.";

/**
 * `keep`: the share of the conversation that stays, its newest part. Undefined where nothing can go, or nothing would be
 * saved. Fails with SESSION_BUSY, and with INVALID_INPUT while a turn is open.
 */
export async function dropContext(
  { store, effects, holder }: Runtime,
  session: string,
  keep: number,
): Promise<Dropped | undefined> {
  if (!(keep >= 0 && keep < 1)) throw new PawlError("INVALID_INPUT", `keep is ${keep}; use a share from 0 to below 1`);
  const lease = await DriverLease.acquire(store, session, holder, effects);
  try {
    const feed = new Feed();
    const patience = new Patience(effects, feed, 0, lease.lost);
    const ledger = new Ledger({ store, session, lease, effects, feed, patience, followers: [] });
    await ledger.load();
    const { turn, header } = ledger.state;
    if (turn) {
      const what = `session ${session} has an open turn; end it first: resume it, or give the session an input`;
      throw new PawlError("INVALID_INPUT", what);
    }
    if (!header) return undefined;
    const fold = contextFold(targetOf(header));
    let context = fold.init();
    for await (const { entries } of pages(store, session)) context = entries.reduce(fold.step, context);
    const found = boundaries(context);
    const upTo = chooseCut(found, (found.at(-1)?.tokens ?? 0) * keep);
    if (upTo === undefined) return undefined;
    const tokensBefore = sizeOf(context);
    const summary = [{ type: "text" as const, text: droppedText }];
    const event = { type: "context.compacted" as const, upTo, by: "drop" as const, summary };
    const after = sizeOf(
      fold.step(context, { session, seq: ledger.state.seq + 1, epoch: lease.epoch, time: 0, event }),
    );
    // A short conversation is shorter than the words that would stand for it.
    if (after >= tokensBefore) return undefined;
    const dropped = { upTo, tokensBefore, tokensAfter: after };
    ledger.stage({ ...event, ...dropped });
    await ledger.commit();
    return dropped;
  } finally {
    await lease.release().catch(() => {});
  }
}
