/** A session that nobody drives, nor begins to, while something is done to it or to its folder. */
import { PawlError, type Runtime } from "@pawl/core";
import { everySession } from "./session-pages.ts";
import { within } from "./tools/workspace.ts";

/** What is done under it is short, and it is renewed; whoever is stopped for longer finds out by the fence. */
const leaseMs = 60_000;

/** Resolves with what gives it back. Fails with SESSION_BUSY. */
export async function holdIdle({ store, holder }: Runtime, session: string): Promise<() => Promise<void>> {
  const lease = await store.acquireLease(session, holder, leaseMs);
  if (!lease.granted) throw busy(session, lease.held.holder);
  const renewal = setInterval(() => void store.renewLease(session, lease.epoch, leaseMs).catch(() => {}), leaseMs / 3);
  return async () => {
    clearInterval(renewal);
    // Of one that was deleted there is none any more.
    await store.releaseLease(session, lease.epoch).catch(() => {});
  };
}

/** Whoever works in the folder now would be robbed of the files under their hands. Fails with SESSION_BUSY. */
export async function demandIdle({ store }: Runtime, session: string, folder: string): Promise<void> {
  for await (const { session: id, lease, head } of everySession(store))
    if (lease && (id === session || overlap(head.cwd, folder))) throw busy(id, lease.holder);
}

/** The same folder, or one of them inside of the other. */
function overlap(cwd: string | undefined, folder: string): boolean {
  return cwd !== undefined && (within(folder, cwd) || within(cwd, folder));
}

function busy(session: string, { pid, host }: { pid: number; host: string }): PawlError {
  const what = `session ${session} is being driven by process ${pid} on ${host}; stop it first, then do it again`;
  return new PawlError("SESSION_BUSY", what);
}
