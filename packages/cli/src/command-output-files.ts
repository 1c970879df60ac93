/** What commands have said, in files beside the log: whoever erases a record or a session means these, too. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { LogEntry } from "@pawl/core";
import { storePlaces } from "./place.ts";
import { CommandFolder } from "./tools/command-folder.ts";
import { jobId } from "./tools/job.ts";

/** The keys of the calls that `session` itself has entered, or of one of them. */
export function keysOf(entries: readonly LogEntry[], session: string, call?: string): string[] {
  return entries.flatMap((entry) => {
    if (entry.session !== session || entry.event.type !== "tool.entered") return [];
    return call === undefined || entry.event.call === call ? [entry.event.key] : [];
  });
}

/** Returns how many files went. The small record of each command stays for its week: a recovery may ask whether it ran. */
export async function removeOutputs(store: string | undefined, keys: readonly string[]): Promise<number> {
  const { spill, commands } = storePlaces(store);
  const files = keys
    .filter((key) => /^[A-Za-z0-9_-]+$/.test(key))
    .flatMap((key) => {
      const { path, output } = new CommandFolder(join(commands, key));
      return [join(spill, `bash-${key}.txt`), join(spill, `${jobId({ path })}.txt`), output];
    })
    .filter((file) => existsSync(file));
  for (const file of files) await rm(file, { force: true });
  return files.length;
}
