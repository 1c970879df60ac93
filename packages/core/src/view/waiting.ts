/**
 * What a session waits for that has something to do: a worker that has its workspace. Derived from a summary, never stored. Pure.
 *
 * Which workers there are, and what they have, is recorded nowhere: that nobody has taken it up is all that can be said.
 */

/** What a store's summary of a session says of it. */
export interface SessionStanding {
  head: { openTurn?: string; workspace?: string };
  updatedAt: number;
  waitingSince?: number;
  /** Where somebody drives it. */
  lease?: object;
}

export interface WorkspaceWait {
  workspace: string;
  /** UTC ms: since the last record of its open turn, or since its oldest post came. */
  since: number;
}

/** Undefined where it needs none, has nothing to do, or is driven. */
export function workspaceWait(summary: SessionStanding): WorkspaceWait | undefined {
  const { head, lease, updatedAt, waitingSince } = summary;
  if (head.workspace === undefined || lease) return undefined;
  const since = head.openTurn === undefined ? waitingSince : updatedAt;
  return since === undefined ? undefined : { workspace: head.workspace, since };
}
