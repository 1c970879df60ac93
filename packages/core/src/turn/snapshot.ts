/**
 * The turn fold as it stood where no turn was open: opening a session then costs what came since.
 *
 * Owns: what is kept of the state, and when a snapshot is believed. Does not own: the fold, the store. Invariants:
 * 1. A snapshot is a cache: whatever is odd about it (version, checksum, a seq the log does not have), the log is read.
 * 2. It holds no open turn: recovery always sees every fact of the turn that it closes or goes on with.
 */
import { hash } from "node:crypto";
import type { Snapshot, Store } from "../store/store.ts";
import { type TurnState, turnFold } from "./state.ts";

const reducer = "turn";
/** Goes up with every change to the state's meaning. */
const version = 1;

/** So many records since the last one make another worth its write. */
export const snapshotRecords = 1_000;

export function snapshotOf(state: TurnState, seq: number): Snapshot {
  const kept = { ...state, standing: [...state.standing] };
  const bytes = Buffer.from(JSON.stringify(kept));
  return { reducer, version, seq, checksum: hash("sha256", bytes, "hex"), bytes };
}

/**
 * The state that the newest usable snapshot holds, at most that of seq `most`; else the empty one with seq 0. A fork may begin
 * with its parent's.
 */
export async function latestState(
  store: Store,
  session: string,
  most = Number.POSITIVE_INFINITY,
): Promise<{ state: TurnState; seq: number }> {
  let at = session;
  for (;;) {
    const [summary, snapshot] = await Promise.all([
      store.get(at),
      store.loadSnapshot(at, reducer).catch(() => undefined),
    ]);
    if (!summary) break;
    const state = snapshot && snapshot.seq <= Math.min(most, summary.seq) ? stateOf(snapshot) : undefined;
    if (snapshot && state) return { state, seq: snapshot.seq };
    if (!summary.parent) break;
    at = summary.parent.session;
    most = Math.min(most, summary.parent.seq);
  }
  return { state: turnFold.init(), seq: 0 };
}

function stateOf({ version: written, checksum, bytes }: Snapshot): TurnState | undefined {
  if (written !== version || hash("sha256", bytes, "hex") !== checksum) return undefined;
  try {
    const kept = JSON.parse(Buffer.from(bytes).toString("utf8")) as Omit<TurnState, "standing"> & {
      standing: [string, never][];
    };
    return { ...turnFold.init(), ...kept, standing: new Map(kept.standing) };
  } catch {
    return undefined;
  }
}
