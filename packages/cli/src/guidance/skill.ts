/** Skills: folders with a `SKILL.md`, whose name and description are told, and whose body is read when it is needed. */
import { readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { userFolder } from "../config/place.ts";
import { printable } from "../style.ts";
import { within } from "../tools/workspace.ts";
import { readGuidance } from "./source.ts";

export interface Skill {
  name: string;
  description: string;
  /** Of its `SKILL.md`. */
  path: string;
}

/** A model chooses among some, not among thousands. */
const mostSkills = 100;
const nameChars = 64;
const descriptionChars = 500;
const matterChars = 10_000;
/** Keys that are no plain names, inside one another: YAML's reader takes minutes for some thousands. */
const complexKey = /(?:^|[\s[{,])\?(?=\s)/g;
const mostComplexKeys = 8;

export interface SkillFolder {
  path: string;
  /** Where links may lead; undefined: the user's own. */
  inside: string | undefined;
}

/** The nearest first: of two skills of one name it is the one that counts. */
export function skillFolders(projectFolders: readonly string[]): SkillFolder[] {
  const [root] = projectFolders;
  const inside = root === undefined ? undefined : realpathSync(root);
  const near = projectFolders
    .toReversed()
    .flatMap((folder) => [join(folder, ".agents", "skills"), join(folder, ".claude", "skills")]);
  const own = [
    join(userFolder(), "skills"),
    join(homedir(), ".agents", "skills"),
    join(homedir(), ".claude", "skills"),
  ];
  // The home folder may be the project, too.
  const project = near.filter((path) => !own.includes(path));
  return [...project.map((path) => ({ path, inside })), ...own.map((path) => ({ path, inside: undefined }))];
}

/** In an order that does not change: it is a part of every request. */
export async function findSkills(folders: readonly SkillFolder[]): Promise<{ skills: Skill[]; readable: string[] }> {
  const skills = new Map<string, Skill>();
  const readable: string[] = [];
  for (const { path, inside } of folders) {
    for (const name of namesIn(path)) {
      const file = readGuidance(join(path, name, "SKILL.md"), inside);
      const skill = file && (await skillOf(file.path, file.text));
      if (!skill || skills.has(skill.name) || skills.size >= mostSkills) continue;
      skills.set(skill.name, skill);
      const folder = dirname(realpathSync(skill.path));
      if (inside === undefined || within(inside, folder)) readable.push(folder);
    }
  }
  return { skills: [...skills.values()], readable };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** Undefined: it says nothing by which it could be chosen. */
async function skillOf(path: string, text: string): Promise<Skill | undefined> {
  const [, matter] = /^---[ \t]*\n([\s\S]*?)\n---[ \t]*(?:\n|$)/.exec(text.slice(0, matterChars)) ?? [];
  if (matter === undefined || (matter.match(complexKey) ?? []).length > mostComplexKeys) return undefined;
  const { parse } = await import("yaml");
  try {
    const said = (parse(matter, { logLevel: "silent" }) ?? {}) as { name?: unknown; description?: unknown };
    const description = plain(said.description, descriptionChars);
    const name = plain(said.name, nameChars) || plain(basename(dirname(path)), nameChars);
    return name === "" || description === "" ? undefined : { name, description, path };
  } catch {
    return undefined;
  }
}

/** One line: it stands in a list. What YAML writes as `\e` is a control character only here. Empty for what is no text. */
function plain(text: unknown, most: number): string {
  if (typeof text !== "string") return "";
  return [...printable(text.replaceAll(/\s+/g, " ")).trim()].slice(0, most).join("").trimEnd();
}
