/** The session that is meant where none is named: the latest of a folder. */
import { isTaskSession, PawlError, type Runtime, type SessionSummary, type Store } from "@pawl/core";
import { workspaceFolder } from "./place.ts";
import { everySession } from "./session-pages.ts";

/** `workspace`: among those that need it. */
export async function latestIn({ store }: Runtime, folder: string, workspace?: string): Promise<string | undefined> {
  for await (const { session, head } of sessionsOf(store, folder))
    if (workspace === undefined || head.workspace === workspace) return session;
  return undefined;
}

/** All of a folder, the latest first; tasks are their parents'. */
export async function sessionsIn({ store }: Runtime, folder: string): Promise<string[]> {
  const sessions: string[] = [];
  for await (const { session } of sessionsOf(store, folder)) sessions.push(session);
  return sessions;
}

async function* sessionsOf(store: Store, folder: string): AsyncGenerator<SessionSummary, void> {
  for await (const summary of everySession(store))
    if (summary.head.cwd === folder && !isTaskSession(summary.session)) yield summary;
}

/** Of this folder. Fails with SESSION_NOT_FOUND. */
export async function latestHere(runtime: Runtime): Promise<string> {
  const folder = workspaceFolder(undefined);
  const latest = await latestIn(runtime, folder);
  if (latest !== undefined) return latest;
  throw new PawlError(
    "SESSION_NOT_FOUND",
    `no session has worked in ${folder}; name one, \`pawl sessions\` lists them`,
  );
}
