/** The session that is meant where none is named: the latest of this folder. */
import { isTaskSession, PawlError, type Runtime } from "@pawl/core";
import { workspaceFolder } from "./place.ts";
import { everySession } from "./session-pages.ts";

/** Fails with SESSION_NOT_FOUND. */
export async function latestHere({ store }: Runtime): Promise<string> {
  const folder = workspaceFolder(undefined);
  for await (const { session, head } of everySession(store))
    if (head.cwd === folder && !isTaskSession(session)) return session;
  throw new PawlError(
    "SESSION_NOT_FOUND",
    `no session has worked in ${folder}; name one, \`pawl sessions\` lists them`,
  );
}
