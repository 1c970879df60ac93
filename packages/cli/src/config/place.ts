/** Where configuration is looked for: the user's folder (XDG), and the project's, from the workspace up to the git root. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const fileName = "config.json";

function xdg(name: string, ...otherwise: string[]): string {
  const value = process.env[name];
  // The specification: a relative path there is to be ignored.
  return join(value?.startsWith("/") ? value : join(homedir(), ...otherwise), "pawl");
}

/** The user's own: configuration, `AGENTS.md`, skills, provider packages. */
export function userFolder(): string {
  return xdg("XDG_CONFIG_HOME", ".config");
}

/** What Pawl remembers of this machine and nobody edits. */
export function stateFolder(): string {
  return xdg("XDG_STATE_HOME", ".local", "state");
}

export function userFile(): string {
  return join(userFolder(), fileName);
}

/** The folders from the git root down to `cwd`; outside of a repository `cwd` alone: who owns what is above is anybody's guess. */
export function projectFolders(cwd: string): string[] {
  const folders: string[] = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (existsSync(join(folder, ".git"))) return folders;
    if (dirname(folder) === folder) return [cwd];
  }
}

/** The nearest one, or where it would be. */
export function projectFile(cwd: string): string {
  const paths = projectFolders(cwd).map((folder) => join(folder, ".pawl", fileName));
  return paths.findLast((path) => existsSync(path)) ?? join(cwd, ".pawl", fileName);
}

/** The folder that a trust in the project is about. */
export function projectFolder(cwd: string): string {
  return dirname(dirname(projectFile(cwd)));
}
