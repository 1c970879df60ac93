/**
 * Makes a folder again what a snapshot holds.
 *
 * Owns: the order of what is done to the files. Does not own: what has to be done (restore-plan), what was there before (whoever
 * calls has kept it). Invariants:
 * 1. Each file changes by one rename: it is the old one or the new one, whole. Doing all of it again is right.
 * 2. Nothing is written or removed behind a link, and no folder goes that holds anything.
 * 3. What is ignored, now or by the rules that come back, stays.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { contentsOf } from "./contents.ts";
import { below, statOf } from "./found.ts";
import { git, pathsOf } from "./git.ts";
import { changesRules, isRules, parseDifferences, planRestore, type RestorePlan, type Write } from "./restore-plan.ts";
import type { Kept, Shadow } from "./shadow.ts";

/** What could not be done, and why. */
export interface Problem {
  path: string;
  why: string;
}

export async function planFor(shadow: Shadow, now: Kept, then: Kept): Promise<RestorePlan> {
  const fields = await shadow.git(["diff-tree", "-r", "-z", "--raw", "--no-renames", now.tree, then.tree]);
  const plan = planRestore(parseDifferences(pathsOf(fields)), now, then);
  if (!changesRules(plan)) return plan;
  const ignored = await ignoredThen(shadow, plan, then);
  return { ...plan, remove: plan.remove.filter((path) => !ignored.has(path)) };
}

/** Of what would be removed, that which the rules of then ignore. They are tried on names alone, in a folder of their own. */
async function ignoredThen(shadow: Shadow, { remove }: RestorePlan, then: Kept): Promise<ReadonlySet<string>> {
  const root = await mkdtemp(join(shadow.dir, "rules-"));
  try {
    const listed = pathsOf(await shadow.git(["ls-tree", "-r", "-z", then.tree]));
    const rules = listed.flatMap((line) => {
      const [, blob = "", path = ""] = /^100\d+ blob (\w+)\t(.*)$/s.exec(line) ?? [];
      return isRules(path) ? [{ blob, path }] : [];
    });
    for await (const { item, content } of contentsOf(shadow, rules)) place(root, item.path, content);
    for (const path of remove) if (!isRules(path)) place(root, path, "");
    const { excludes } = await shadow.surroundings();
    const there = { cwd: root, dir: shadow.dir, workTree: root, index: join(root, ".none") };
    return new Set(pathsOf(await git(there, ["ls-files", "-z", "-o", "-i", ...excludes])));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

function place(root: string, path: string, content: Buffer | string): void {
  const parent = dirname(path);
  mkdirSync(parent === "." ? root : below(root, parent), { recursive: true });
  // A folder then, a file now: no rule speaks of both.
  if (!statOf(below(root, path))) writeFileSync(below(root, path), content);
}

/** Resolves with what could not be done; everything else is. */
export async function restore(shadow: Shadow, plan: RestorePlan): Promise<Problem[]> {
  const problems: Problem[] = [];
  const attempt = (path: string, work: () => void) => {
    try {
      work();
    } catch (error) {
      problems.push({ path, why: error instanceof Error ? error.message : String(error) });
    }
  };
  const folder = new Folder(shadow.folder);
  for (const path of plan.remove) attempt(path, () => folder.remove(path));
  folder.removeEmptied();
  for (const write of plan.write) if (write.what === "mode") attempt(write.path, () => folder.setMode(write));
  const written = plan.write.filter(({ what }) => what !== "mode");
  for await (const { item, content } of contentsOf(shadow, written))
    attempt(item.path, () => folder.write(item, content));
  return problems;
}

class Folder {
  readonly #root: string;
  /** Folders that are there, and no links. */
  readonly #safe = new Set<string>();
  readonly #emptied = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  remove(path: string): void {
    if (!this.#isReached(dirname(path)) || !statOf(below(this.#root, path))) return;
    unlinkSync(below(this.#root, path));
    this.#emptied.add(dirname(path));
  }

  /** Folders that only held what was removed. */
  removeEmptied(): void {
    for (const start of this.#emptied) {
      for (let path = start; path !== "."; path = dirname(path)) {
        const folder = below(this.#root, path);
        if (statOf(folder) && (!statOf(folder)?.isDirectory() || readdirSync(folder).length > 0)) break;
        if (statOf(folder)) rmdirSync(folder);
        this.#safe.delete(path);
      }
    }
  }

  setMode({ path, mode }: Write): void {
    if (this.#isReached(dirname(path))) chmodSync(below(this.#root, path), mode);
  }

  write({ path, what, mode }: Write, content: Buffer): void {
    const parent = dirname(path);
    this.#make(parent);
    const target = below(this.#root, path);
    if (statOf(target)?.isDirectory()) this.#clear(path);
    const temporary = below(this.#root, temporaryOf(path));
    // Left by one that was cut short.
    if (statOf(temporary)) unlinkSync(temporary);
    try {
      if (what === "link") symlinkSync(content, temporary);
      else {
        writeFileSync(temporary, content, { flag: "wx", mode: 0o600 });
        chmodSync(temporary, mode);
      }
      renameSync(temporary, target);
    } catch (error) {
      if (statOf(temporary)) unlinkSync(temporary);
      throw error;
    }
  }

  /** A folder in the place of a file: only where nothing is in it but empty folders. */
  #clear(path: string): void {
    const folder = below(this.#root, path);
    for (const name of readdirSync(folder, { encoding: "latin1" })) {
      const inside = `${path}/${name}`;
      if (!statOf(below(this.#root, inside))?.isDirectory())
        throw new Error("a folder with ignored or left-out files is in its place: move them away, then do it again");
      this.#clear(inside);
    }
    rmdirSync(folder);
    this.#safe.delete(path);
  }

  #make(path: string): void {
    if (path === "." || this.#safe.has(path)) return;
    this.#make(dirname(path));
    const stats = statOf(below(this.#root, path));
    if (!stats) mkdirSync(below(this.#root, path));
    else if (!stats.isDirectory())
      throw new Error(
        "an ignored or left-out file, or a link, is in the place of its folder: move it away, then do it again",
      );
    this.#safe.add(path);
  }

  #isReached(path: string): boolean {
    if (path === "." || this.#safe.has(path)) return true;
    const reached = this.#isReached(dirname(path)) && statOf(below(this.#root, path))?.isDirectory() === true;
    if (reached) this.#safe.add(path);
    return reached;
  }
}

/** The same name each time, so that nothing is left of a move that was cut short and finished. */
export function temporaryOf(path: string): string {
  const name = `.pawl-undo-${createHash("sha256").update(path).digest("hex").slice(0, 16)}.tmp`;
  return dirname(path) === "." ? name : `${dirname(path)}/${name}`;
}
