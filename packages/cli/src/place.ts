/** Where things are: the store's folder (XDG), the workspace. */
import { realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { PawlError } from "@pawl/core";

/** `--store`, else `$PAWL_STORE`, else the data folder that XDG names. */
export function storeFolder(given: string | undefined): string {
  if (given !== undefined) return resolve(given);
  const { PAWL_STORE, XDG_DATA_HOME } = process.env;
  if (PAWL_STORE) return resolve(PAWL_STORE);
  // The specification: a relative path there is to be ignored.
  const data = XDG_DATA_HOME?.startsWith("/") ? XDG_DATA_HOME : join(homedir(), ".local", "share");
  return join(data, "pawl");
}

/** What stands beside the log: outputs too long for a result, what recovery needs of commands, the states of folders. */
export function storePlaces(given: string | undefined): { spill: string; commands: string; snapshots: string } {
  const dir = storeFolder(given);
  return { spill: join(dir, "spill"), commands: join(dir, "commands"), snapshots: join(dir, "snapshots") };
}

/** The folder that the agent works in, by its real path. Throws INVALID_INPUT. */
export function workspaceFolder(given: string | undefined): string {
  const path = resolve(given ?? ".");
  try {
    if (statSync(path).isDirectory()) return realpathSync(path);
  } catch {
    // Said below.
  }
  throw new PawlError("INVALID_INPUT", `--cwd ${path} is not a folder; name one that exists`);
}
