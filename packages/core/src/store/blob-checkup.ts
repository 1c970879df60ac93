/**
 * Looking over the blob folder: what nobody names, what does not hold what its name says, what is missing.
 *
 * Owns: findings about blob files. Does not own: which blobs are named (the caller reads the logs). Invariants:
 * 1. A file is removed only if nobody names it and it is a day old: a blob is written before the record that names it.
 */
import { hash } from "node:crypto";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Finding, good, note, wrong } from "./finding.ts";

const restMs = 24 * 3_600_000;

export interface BlobCheckup {
  now: number;
  /** Everything in a log or a post that could name a blob. Undefined: not all could be read, so nothing is removed. */
  named: ReadonlySet<string> | undefined;
  /** The blobs that content surely names. */
  needed: ReadonlySet<string>;
  repair: boolean;
}

export async function checkBlobs(root: string, { now, named, needed, repair }: BlobCheckup): Promise<Finding[]> {
  const there = new Set<string>();
  const findings: Finding[] = [];
  const unnamed: string[] = [];
  for (const path of await files(root)) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const isDraft = !/^[0-9a-f]{64}$/.test(name);
    if (!isDraft) there.add(name);
    if (!isDraft && hash("sha256", await readFile(path), "hex") !== name)
      findings.push(wrong(`blob ${name} does not hold what its name says; restore it from a backup`));
    const { mtimeMs } = await stat(path);
    if (now - mtimeMs > restMs && (isDraft || (named && !named.has(name)))) unnamed.push(path);
  }
  for (const name of needed) if (!there.has(name)) findings.push(note(`blob ${name} is named and is not there`));
  if (unnamed.length > 0) {
    if (repair) for (const path of unnamed) await rm(path, { force: true });
    const what = `${unnamed.length} of ${there.size} blobs are named by no session`;
    findings.push({ ...note(what), remedy: "remove them", ...(repair && { done: true }) });
  }
  return findings.length > 0 ? findings : [good(`${there.size} blobs, all as their names say`)];
}

async function files(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    },
  );
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
