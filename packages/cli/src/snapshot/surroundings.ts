/** What a person's own git says about a folder: what belongs to it, and what is to be ignored. Only read. */
import { existsSync, realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { join, relative, sep } from "node:path";
import { PawlError } from "@pawl/core";
import { within } from "../tools/workspace.ts";
import { bytesOf, git, pathsOf } from "./git.ts";

export interface Surroundings {
  /** The top of the repository that the folder is in; the folder itself where it is in none. */
  root: string;
  /** From there to the folder: empty, or with a `/` at its end. One character a byte. */
  prefix: string;
  /** Options of `ls-files` that say what is ignored. */
  excludes: string[];
  /** Whether that is a repository. */
  isRepository: boolean;
}

/** Fails with INVALID_INPUT for a folder that is too much to keep. */
export function checkFolder(folder: string): void {
  const homes = [homedir(), accountHome()].filter((home) => home !== "").map(realFolder);
  const home = homes.find((each) => within(folder, each));
  if (folder !== "/" && home === undefined) return;
  const what = folder === "/" ? "the whole file system" : `the home folder ${home}`;
  throw new PawlError("INVALID_INPUT", `${folder} holds ${what}: no snapshots are taken of it; work in a folder below`);
}

/** `apart`: a folder of ours, which is never part of a snapshot. */
export async function surroundingsOf(folder: string, apart: string, signal?: AbortSignal): Promise<Surroundings> {
  const [repository, global] = await Promise.all([repositoryOf(folder, signal), globalExcludes(folder, signal)]);
  const root = repository?.root ?? folder;
  const below = relative(root, folder);
  const prefix = below === "" ? "" : `${Buffer.from(below).toString("latin1")}/`;
  const files = [global, repository?.exclude].filter((path) => path !== undefined && existsSync(path));
  const excludes = [
    "--exclude-per-directory=.gitignore",
    ...files.map((path) => `--exclude-from=${path}`),
    ...(within(root, apart) ? [`--exclude=/${escaped(relative(root, apart))}/`] : []),
  ];
  return { root, prefix, excludes, isRepository: repository !== undefined };
}

/** Undefined: none, or one that ignores the folder as a whole, as that of a home folder may. */
async function repositoryOf(
  folder: string,
  signal?: AbortSignal,
): Promise<{ root: string; exclude: string } | undefined> {
  const run = signal ? { signal } : {};
  try {
    const asked = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "info/exclude"];
    const [top = "", exclude = ""] = (await git({ cwd: folder }, asked, run)).toString("utf8").split("\n");
    if (!within(top, folder)) return undefined;
    if (top !== folder && (await isIgnored(top, folder, signal))) return undefined;
    return { root: top, exclude };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PawlError) throw error;
    return undefined;
  }
}

async function isIgnored(top: string, folder: string, signal?: AbortSignal): Promise<boolean> {
  const asked = ["check-ignore", "--no-index", `.${sep}${relative(top, folder)}${sep}`];
  return (await git({ cwd: top }, asked, { allowed: [1], ...(signal ? { signal } : {}) })).length > 0;
}

/** `core.excludesFile` of the person, or where git looks without it. */
async function globalExcludes(folder: string, signal?: AbortSignal): Promise<string> {
  const asked = ["config", "--type=path", "--get", "core.excludesFile"];
  const said = await git({ cwd: folder }, asked, { allowed: [1, 128], ...(signal ? { signal } : {}) });
  const named = said.toString("utf8").trim();
  if (named !== "") return named;
  const base = process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
  return join(base, "git", "ignore");
}

/** A file that somebody has added in spite of an ignore rule is tracked: undo has to know it. Relative to the root. */
export async function keptThoughIgnored(
  { root, prefix, excludes, isRepository }: Surroundings,
  signal?: AbortSignal,
): Promise<string[]> {
  if (!isRepository) return [];
  const asked = [
    "--literal-pathspecs",
    "ls-files",
    "-z",
    "-c",
    "-i",
    ...excludes,
    ...(prefix === "" ? [] : ["--", shownBytes(prefix)]),
  ];
  const listed = await git({ cwd: root }, asked, signal ? { signal } : {}).catch((error: unknown) => {
    signal?.throwIfAborted();
    if (error instanceof PawlError) throw error;
    // A repository that git cannot read is the person's to mend; what it would ignore stays ignored.
    return Buffer.alloc(0);
  });
  return pathsOf(listed);
}

function shownBytes(path: string): string {
  return bytesOf(path).toString("utf8");
}

function escaped(path: string): string {
  return path.replace(/[\\*?[\]!# ]/g, "\\$&");
}

/** Whatever HOME says. Empty: the system knows no such user, as in many containers. */
function accountHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    return "";
  }
}

function realFolder(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
