/** What can be read of a session, and where it is broken. A damaged record hides what follows it, not what led to it. */
import { isPawlError, type LogEntry, openSession, type PawlError, type Runtime, type Store } from "@pawl/core";

export interface Readable {
  entries: LogEntry[];
  /** CORRUPT, or SESSION_READ_ONLY for what a newer version wrote. */
  damage?: PawlError;
}

/** Fails only where nothing can be read: no such session, no store. */
export async function readable(runtime: Runtime, id: string): Promise<Readable> {
  const session = await openSession(runtime, id);
  try {
    return { entries: await session.entries() };
  } catch (error) {
    if (!isPawlError(error, "CORRUPT") && !isPawlError(error, "SESSION_READ_ONLY")) throw error;
    return { entries: await upToDamage(runtime, id), damage: error };
  }
}

/** The longest start of the log that reads well: what a session says of itself when it is told to end there. */
async function upToDamage(runtime: Runtime, id: string): Promise<LogEntry[]> {
  const { store } = runtime;
  let entries: LogEntry[] = [];
  let good = 0;
  let bad = (await store.get(id))?.seq ?? 0;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    try {
      const session = await openSession({ ...runtime, store: endingAt(store, middle) }, id);
      entries = await session.entries();
      good = middle;
    } catch {
      // The damage, or a further one: known already, and told with what was read.
      bad = middle;
    }
  }
  return entries;
}

/** The store as if nothing had been written after `seq`. */
function endingAt(store: Store, seq: number): Store {
  const read: Store["read"] = async (session, options) =>
    (await store.read(session, options)).filter((record) => record.seq <= seq);
  return new Proxy(store, {
    get(target, name) {
      if (name === "read") return read;
      const member: unknown = Reflect.get(target, name);
      // Stores keep private fields: their methods must see the store, not its proxy.
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
