/** The configuration that holds in a folder: both files read, the project's judged by trust. */
import { realpathSync } from "node:fs";
import { type ConfigFile, readConfigFile } from "./file.ts";
import { type Resolved, resolveConfig } from "./layer.ts";
import { projectFile, projectFolder, userFile } from "./place.ts";
import type { Config } from "./schema.ts";
import { noFile, type Trust, trustIn } from "./trust.ts";

export interface Loaded extends Resolved {
  user: { path: string; file: ConfigFile | undefined };
  project: { path: string; folder: string; file: ConfigFile | undefined; trust: Trust };
}

/** Fails with INVALID_INPUT for a file that is wrong, also one of a project that is not trusted: its deny rules are meant. */
export function loadConfig(cwd: string, flags: Config = {}): Loaded {
  const user = { path: userFile(), file: readConfigFile(userFile()) };
  const path = projectFile(cwd);
  const folder = realpathSync(projectFolder(cwd));
  // A home that is the project: its file would be read twice, and is the user's own.
  const file = path === user.path ? undefined : readConfigFile(path);
  const trust = trustIn(folder, file?.hash ?? noFile);
  const project = { config: file?.config ?? {}, trusted: trust === "trusted" };
  return {
    ...resolveConfig({ flags, project, user: user.file?.config ?? {} }),
    user,
    project: { path, folder, file, trust },
  };
}

/** What a person should be told once: which words of a foreign file do not count, and how they would. */
export function passedOverWords({ passedOver, project }: Loaded): string[] {
  if (passedOver.length === 0) return [];
  if (project.trust === "trusted")
    return passedOver.map((key) => `${project.path}: ${key} does not count: ${ownWord(key)}`);
  const why =
    project.trust === "changed" ? "has changed since you trusted it" : "is of a folder that you have not trusted";
  return [
    `${project.path} ${why}; passed over: ${passedOver.join(", ")}. Read it, then: pawl config trust ${project.folder}`,
  ];
}

/** What no project says, trusted or not. */
function ownWord(key: string): string {
  return key === "store"
    ? "only your own file, PAWL_STORE or --store names the store"
    : "only your own file or --sandbox switches the sandbox off";
}
