/** Programs of this machine that tools use where they are installed. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The executable, or undefined where there is none. */
export function findProgram(name: string, env: NodeJS.ProcessEnv): string | undefined {
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, name);
    try {
      // An empty entry or a relative one is the working folder: the project does not choose our programs.
      if (!folder.startsWith("/")) continue;
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not in this folder
    }
  }
  return undefined;
}
