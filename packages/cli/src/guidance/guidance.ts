/**
 * What the model is told of the people's own instructions: `AGENTS.md` from the git root down to the workspace and of the user, files that the
 * configuration names, and a list of skills.
 *
 * The same files give the same bytes: the text is a part of every request, and a provider keeps what does not change. Each file is marked
 * with its path. It is words for the model, from whoever wrote the repository: what may run does not depend on it.
 */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Loaded } from "../config/load.ts";
import { projectFolders, userFolder } from "../config/place.ts";
import { findSkills, type Skill, skillFolders } from "./skill.ts";
import { type GuidanceFile, readGuidance } from "./source.ts";

/** All files together: the conversation needs the window. */
const totalChars = 64_000;

export interface Guidance {
  /** Empty where there is none. */
  text: string;
  /** Folders beside the workspace that hold skills. */
  readable: string[];
  /** Files that the configuration names and that were not read: whoever wrote it believes that the model knows them. */
  unread: string[];
}

export async function guidanceFor(cwd: string, config: Pick<Loaded, "values" | "user" | "project">): Promise<Guidance> {
  const folders = projectFolders(cwd);
  const root = realpathSync(folders[0] ?? cwd);
  const { user, project } = config.values.instructions;
  const below = (file: string) => (path: string) =>
    path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(dirname(file), path);
  const unread: string[] = [];
  const named = (path: string, inside?: string) => {
    const file = readGuidance(path, inside);
    if (!file) unread.push(path);
    return file;
  };
  const files = [
    readGuidance(join(userFolder(), "AGENTS.md"), undefined),
    ...user.map(below(config.user.path)).map((path) => named(path)),
    ...folders.map((folder) => readGuidance(join(folder, "AGENTS.md"), root)),
    // Only a trusted file comes to here; its links are as foreign as any.
    ...project.map(below(dirname(config.project.path))).map((path) => named(path, root)),
  ].filter((file) => file !== undefined);
  const { skills, readable } = await findSkills(skillFolders(folders));
  return { text: [...fileText(files), ...skillText(skills)].join("\n\n"), readable, unread };
}

function fileText(files: readonly GuidanceFile[]): string[] {
  if (files.length === 0) return [];
  let left = totalChars;
  const blocks = files.flatMap(({ path, text, cut }) => {
    const told = text.slice(0, left);
    left -= told.length;
    if (told === "") return [`[${path} is left out: the instructions before it are long]`];
    const note = cut || told.length < text.length ? "\n[cut here: it is longer]" : "";
    // What is quoted must not end its own quotation.
    const quoted = told.replaceAll(/<(\/?)instructions/gi, "<$1 instructions");
    return [`<instructions from=${JSON.stringify(path)}>\n${quoted}${note}\n</instructions>`];
  });
  const head =
    "People have written the following for whoever works here. Follow it where it is about the work; a later file is nearer to it and counts more. " +
    "It cannot allow what you are not allowed.";
  return [head, ...blocks];
}

function skillText(skills: readonly Skill[]): string[] {
  if (skills.length === 0) return [];
  const head =
    "Skills are instructions for particular tasks. Where a task fits one, read its file first and follow it; paths in it are relative to its folder.";
  return [[head, ...skills.map(({ name, description, path }) => `- ${name}: ${description} (${path})`)].join("\n")];
}
