/** The store that the user's own configuration names. */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { isStoreUrl } from "../store-url.ts";
import { readConfigFile } from "./file.ts";
import { userFile, userFolder } from "./place.ts";

/** A folder by its whole path: relative to the file, `~` is the home. Fails with INVALID_INPUT for a file that is wrong. */
export function storeOfUser(): string | undefined {
  const store = readConfigFile(userFile())?.config.store;
  if (store === undefined || isStoreUrl(store)) return store;
  return resolve(userFolder(), store.replace(/^~(?=\/|$)/, homedir()));
}
