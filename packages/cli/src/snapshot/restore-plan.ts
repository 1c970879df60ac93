/** What has to be done to a folder so that it is again what a snapshot holds. Pure. */
import { type LeftOut, type Modes, modeOf } from "./listing.ts";
import type { Kept } from "./shadow.ts";

/** One line of `diff-tree --raw`: from what is there to what is to be there. */
export interface Difference {
  path: string;
  from: string;
  to: string;
  /** The object that is to be there. */
  blob: string;
  sameContent: boolean;
}

export interface Write {
  path: string;
  /** `mode`: the content is right, its permission bits are not. */
  what: "file" | "link" | "mode";
  blob: string;
  mode: number;
  isNew: boolean;
}

export interface RestorePlan {
  /** Files and links that were not there. */
  remove: string[];
  write: Write[];
  /** Stays as it is, since one of the two snapshots does not hold it. */
  spared: LeftOut[];
}

export const nothing = "000000";
const link = "120000";
const program = "100755";

export function parseDifferences(fields: readonly string[]): Difference[] {
  const found: Difference[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [from = "", to = "", old = "", blob = ""] = (fields[at] ?? "").replace(/^:/, "").split(" ");
    found.push({ path: fields[at + 1] ?? "", from, to, blob, sameContent: old === blob });
  }
  return found;
}

export function planRestore(differences: readonly Difference[], now: Kept, then: Kept): RestorePlan {
  const leftOut = new Map([...then.leftOut, ...now.leftOut].map((each) => [each.path, each] as const));
  const plan: RestorePlan = { remove: [], write: [], spared: [] };
  for (const { path, from, to, blob, sameContent } of differences) {
    const spared = leftOut.get(path);
    if (spared) plan.spared.push(spared);
    else if (to === nothing) plan.remove.push(path);
    else {
      const isLink = to === link;
      const onlyMode = sameContent && !isLink && from !== link && from !== nothing;
      const mode = modeOf(then.modes, path, to === program);
      plan.write.push({
        path,
        blob,
        mode,
        what: isLink ? "link" : onlyMode ? "mode" : "file",
        isNew: from === nothing,
      });
    }
  }
  const planned = new Set(differences.map(({ path }) => path));
  for (const { path, mode } of onlyModes(now.modes, then.modes)) {
    if (leftOut.has(path) || planned.has(path)) continue;
    plan.write.push({ path, blob: "", mode, what: "mode", isNew: false });
  }
  return plan;
}

/** Files that are the same to git, and may be used by others than then. */
function onlyModes(now: Modes, then: Modes): { path: string; mode: number }[] {
  return [...new Set([...now.odd.keys(), ...then.odd.keys()])].flatMap((path) => {
    const is = now.odd.get(path) ?? modeOf(now, path, ((then.odd.get(path) ?? 0) & 0o100) !== 0);
    const mode = modeOf(then, path, (is & 0o100) !== 0);
    return mode === is ? [] : [{ path, mode }];
  });
}

export function isEmpty({ remove, write }: RestorePlan): boolean {
  return remove.length + write.length === 0;
}

/** Rules that say what is ignored are about to change: what they will ignore is not ours to remove. */
export function changesRules({ remove, write }: RestorePlan): boolean {
  return [...remove, ...write.map(({ path }) => path)].some(isRules);
}

export function isRules(path: string): boolean {
  return /(^|\/)\.gitignore$/.test(path);
}
