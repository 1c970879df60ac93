/** Where things are: the store, what stands beside it on this machine, the workspace. */
import { realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { PawlError } from "@pawl/core";
import { configuredStore } from "./configured-store.ts";
import { maskedUrls } from "./masked-url.ts";
import { isStoreUrl, type ServerStore, serverStore } from "./store-url.ts";

export type StoreLocation = { kind: "folder"; dir: string } | ({ kind: "postgres" } & ServerStore);

/** Whose word it is that names the store. */
export function storeOrigin(given: string | undefined): "command line" | "environment" | "user" | "default" {
  if (given !== undefined) return "command line";
  if (process.env["PAWL_STORE"]) return "environment";
  return configuredStore() === undefined ? "default" : "user";
}

/** `--store`, else `$PAWL_STORE`, else the user's configuration, else the data folder that XDG names. Throws INVALID_INPUT. */
export function storeLocation(given: string | undefined): StoreLocation {
  const word = given ?? (process.env["PAWL_STORE"] || configuredStore());
  if (word === undefined) return { kind: "folder", dir: dataFolder() };
  return isStoreUrl(word) ? { kind: "postgres", ...serverStore(word) } : { kind: "folder", dir: resolve(word) };
}

/** The store's folder; of one on a server, the folder of this machine that stands beside it. */
export function storeFolder(given: string | undefined): string {
  const location = storeLocation(given);
  return location.kind === "folder" ? location.dir : join(dataFolder(), "beside", location.key);
}

/** As a person may read it: without a password. */
export function storeWords(given: string | undefined): string {
  const location = storeLocation(given);
  return location.kind === "folder" ? location.dir : maskedUrls(location.word);
}

/** What must not be told of it: the address with its password, and that alone. */
export function storeSecrets(given: string | undefined): { name: string; value: string }[] {
  const location = storeLocation(given);
  if (location.kind === "folder") return [];
  const { password } = new URL(location.url);
  if (password === "") return [];
  return [location.word, password, decodeURIComponent(password)].map((value) => ({ name: "PAWL_STORE", value }));
}

function dataFolder(): string {
  const { XDG_DATA_HOME } = process.env;
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
