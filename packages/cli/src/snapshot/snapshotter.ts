/** The runtime's snapshotter: a folder's files before each step that changes them, in the folder's shadow repository. */
import type { Snapshotter } from "@pawl/core";
import { readablePath } from "./git.ts";
import { fileBytes, type LeftOut } from "./listing.ts";
import { Shadow } from "./shadow.ts";
import { snapshotId } from "./snapshot-id.ts";
import { tidy } from "./upkeep.ts";

/** `folder` by its real path; `base`: where shadows are kept. */
export function folderSnapshotter(folder: string, base: string): Snapshotter {
  let tidied = false;
  return {
    async take({ session, step, signal, warn }) {
      const shadow = await Shadow.of(base, folder);
      const kept = await shadow.keep(signal);
      const commit = await shadow.commit(kept, `${session}/${step}`, signal);
      if (kept.leftOut.length > 0) warn(`snapshots of the folder leave out ${leftOutWords(kept.leftOut)}`);
      if (!tidied) void tidy(shadow).catch(() => {});
      tidied = true;
      return snapshotId(shadow.key, commit);
    },
  };
}

const reasons: Record<LeftOut["why"], string> = {
  large: `larger than ${fileBytes / 1024 / 1024} MB`,
  unreadable: "unreadable",
  name: "a name that git refuses",
};
const shown = 3;

/** `movie.mkv (larger than 64 MB), and 2 more`. */
export function leftOutWords(leftOut: readonly LeftOut[]): string {
  const named = leftOut.slice(0, shown).map(({ path, why }) => `${readablePath(path)} (${reasons[why]})`);
  return named.join(", ") + (leftOut.length > shown ? `, and ${leftOut.length - shown} more` : "");
}
