/** The files that `@` completes: those of the folder, without what git ignores. */
import { listFiles } from "../tools/file-list.ts";

/** A tree that takes longer is completed by typing. */
const lookMs = 10_000;

export function filesOf(cwd: string): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(lookMs);
  return listFiles({ folder: { real: cwd, shown: "." }, pattern: "**", signal });
}
