/** What commands have said, in files beside the log: whoever erases a record or a session means these, too. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import type { LogEntry } from "@pawl/core";
import { storePlaces } from "./place.ts";
import { line } from "./style.ts";
import { CommandFolder } from "./tools/command-folder.ts";
import { jobId } from "./tools/job.ts";

/** The keys of the calls that `session` itself has entered, or of one of them. */
export function keysOf(entries: readonly LogEntry[], session: string, call?: string): string[] {
  return entries.flatMap((entry) => {
    if (entry.session !== session || entry.event.type !== "tool.entered") return [];
    return call === undefined || entry.event.call === call ? [entry.event.key] : [];
  });
}

/** Machines and their folders where commands of this session have left what they said, and where this one cannot remove it. */
export function outputsElsewhere(
  store: string | undefined,
  entries: readonly LogEntry[],
  session: string,
  call?: string,
): string[] {
  const here = storePlaces(store).commands;
  const places = entries.flatMap(({ session: of, event }) => {
    if (of !== session || event.type !== "tool.entered" || (call !== undefined && event.call !== call)) return [];
    const { site, key } = event;
    // Other tools name the file that they change: that is nothing that was said.
    if (site === undefined || basename(site.where) !== key) return [];
    const folder = dirname(site.where);
    // The machine is called differently by now, or the store was moved: it is here.
    if (existsSync(join(here, key))) return [];
    return folder === here && site.host === hostname() ? [] : [`${site.host}, in ${line(dirname(folder), 300)}`];
  });
  return [...new Set(places)];
}

/** For whoever wanted it gone; empty where nothing is left. */
export function elsewhereWords(places: readonly string[]): string[] {
  return places.map((place) => `What commands have said is kept on ${place} (commands, spill) too: it goes only there`);
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
