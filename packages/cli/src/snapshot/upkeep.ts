/** Keeping shadow repositories small: what no session names any more goes, the rest is packed, aside of anybody's work. */
import { spawn } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { LogEntry } from "@pawl/core";
import { storePlaces } from "../place.ts";
import { gitArguments, gitEnvironment } from "./git.ts";
import { Shadow } from "./shadow.ts";
import { parseSnapshotId } from "./snapshot-id.ts";

/** One of 256 folders of loose objects: together about 4,000 files. */
const looseInOne = 16;
const packs = 40;
/** Another process may just have written what it is about to name. */
const spared = "1.hour.ago";

/** Where much has gathered, git packs it in the background; nobody waits for it. */
export async function tidy(shadow: Shadow): Promise<void> {
  const count = async (folder: string) => (await readdir(join(shadow.dir, "objects", folder)).catch(() => [])).length;
  if ((await count("17")) > looseInOne || (await count("pack")) > 2 * packs) pack(shadow);
}

/** The snapshots of a deleted session go, once nobody reads its records any more. */
export async function forgetSnapshots(
  store: string | undefined,
  session: string,
  entries: readonly LogEntry[],
): Promise<void> {
  const keys = entries.flatMap(({ session: of, event }) =>
    of === session && event.type === "snapshot.recorded" ? (parseSnapshotId(event.snapshot)?.key ?? []) : [],
  );
  const base = storePlaces(store).snapshots;
  for (const key of new Set(keys)) {
    const shadow = await Shadow.at(base, key);
    // Without git there is nothing that could be packed, and the session is gone all the same.
    if (shadow) await forget(shadow, session).catch(() => {});
  }
}

async function forget(shadow: Shadow, session: string): Promise<void> {
  await rm(join(shadow.dir, "moves", `${session}.json`), { force: true });
  const listed = await shadow.git(["for-each-ref", "--format=delete %(refname)", `refs/snapshots/${session}/`]);
  if (listed.length === 0) return;
  await shadow.git(["update-ref", "--stdin"], listed);
  pack(shadow);
}

function pack({ place, dir }: Shadow): void {
  const child = spawn("git", gitArguments(place, ["gc", "--quiet", `--prune=${spared}`]), {
    cwd: dir,
    env: gitEnvironment(place),
    stdio: "ignore",
    detached: true,
  });
  child.on("error", () => {});
  child.unref();
}
