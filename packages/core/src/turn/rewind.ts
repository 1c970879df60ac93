/** Going back to an earlier point: the log is fenced and kept, a fork of it goes on under its name. */
import { PawlError } from "../error.ts";
import type { ForkPoint } from "../store/store.ts";
import { DriverLease } from "./lease.ts";
import { forkSession, type Runtime, type Session, type SessionFacts } from "./session.ts";

export interface RewindOptions {
  /** The new session's id. */
  id?: string;
  /** The name that moves to the new session; it must be the old one's. */
  name?: string;
  facts?: SessionFacts;
}

/**
 * Whoever drove the old session can no longer write to it. Fails with SESSION_BUSY while a live driver does. A crash in
 * between leaves a fork without the name: nothing is lost, and doing it again is right.
 */
export async function rewindSession(
  runtime: Runtime,
  from: ForkPoint,
  { id, name, facts }: RewindOptions = {},
): Promise<Session> {
  const { store, effects, holder } = runtime;
  const lease = await DriverLease.acquire(store, from.session, holder, effects);
  try {
    if (name !== undefined && (await store.resolveName(name)) !== from.session)
      throw new PawlError("INVALID_INPUT", `${JSON.stringify(name)} is not a name of session ${from.session}`);
    const child = await forkSession(runtime, from, id, facts);
    if (name !== undefined && !(await store.setName(name, child.id, from.session)))
      throw new PawlError(
        "CONFLICT",
        `${JSON.stringify(name)} was given to another session meanwhile; the fork is ${child.id}`,
      );
    return child;
  } finally {
    await lease.release().catch(() => {});
  }
}
