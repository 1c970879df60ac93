/** The session that is meant where none is named: the latest of a folder. */
import { isTaskSession, PawlError, type Runtime } from "@pawl/core";
import { workspaceFolder } from "./place.ts";
import { everySession } from "./session-pages.ts";

export async function latestIn({ store }: Runtime, folder: string): Promise<string | undefined> {
  for await (const { session, head } of everySession(store))
    if (head.cwd === folder && !isTaskSession(session)) return session;
  return undefined;
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
