/**
 * Erasing the content of one record, for an operator.
 *
 * Owns: when it is allowed. Does not own: what is left of an event (log/redaction), the file (stores). Invariants:
 * 1. Nobody drives the session meanwhile: the eraser holds the lease. Whoever drives a fork of it goes on with what it has
 *    read, until it reads its log again or ends.
 * 2. Nothing of an open turn is erased: what recovery decides from must be what happened.
 */
import { PawlError } from "../error.ts";
import { erasePayload } from "../log/redaction.ts";
import { pages } from "./pages.ts";
import { noSession, notOwn } from "./refusal.ts";
import type { Holder, Store } from "./store.ts";

/** One page read and one record written; a disk that needs longer than this is found out by the fence. */
const leaseMs = 60_000;

/**
 * Erases the content of the record `seq` that `session` itself holds; ids, order, hash and checksum stay. Fails with
 * SESSION_BUSY while somebody drives, INVALID_INPUT for a record without content or of a turn that is open.
 */
export async function erasePayloadOf(store: Store, holder: Holder, session: string, seq: number): Promise<void> {
  const lease = await store.acquireLease(session, holder, leaseMs);
  if (!lease.granted) {
    throw new PawlError("SESSION_BUSY", `session ${session} is being driven (process ${lease.held.holder.pid}); wait`);
  }
  try {
    const [record] = await store.read(session, { after: seq - 1, limit: 1 });
    if (record?.seq !== seq) throw notOwn(session, seq, 0);
    const payload = erasePayload(record);
    await refuseOpenTurn(store, session, seq);
    await store.erase({ session, epoch: lease.epoch, seq, payload });
  } finally {
    await store.releaseLease(session, lease.epoch);
  }
}

async function refuseOpenTurn(store: Store, session: string, seq: number): Promise<void> {
  const summary = await store.get(session);
  if (!summary) throw noSession(session);
  if (summary.head.openTurn === undefined) return;
  // What no end of a turn follows may be part of the one that is open.
  for await (const { entries } of pages(store, session, seq - 1)) {
    if (entries.some(({ event }) => event.type === "turn.ended")) return;
  }
  throw new PawlError(
    "INVALID_INPUT",
    `record ${seq} of session ${session} may belong to turn ${summary.head.openTurn}, which is open; end it, then erase`,
  );
}
